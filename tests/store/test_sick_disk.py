"""A disk that is full, locked, taken away: said in words, nothing told that is not stored, and on again without a restart."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import StoreUnavailable
from ropewalk.store.base import Health
from ropewalk.store.memory import open_memory
from ropewalk.store.sqlite import SqliteStore, open_store
from ropewalk.store.sqlite.check import check
from tests.store.words import BOUND, begin, facts, texts

pytestmark = pytest.mark.slow


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not true():
            await asyncio.sleep(0.005)


# --- no room


def drilled(drill: str, folder: Path, *before: str) -> dict[str, Any]:
    command = [*before, sys.executable, "-m", "tests.store.drills", drill, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def holds(result: dict[str, Any]) -> None:
    """PROOF G19: said, wishes refused, nothing told that was not stored, nothing kept that is lost, on again by itself."""
    assert result["why"] and result["refused"] == result["why"]
    assert result["felt"][0] == result["state"] and result["felt"][-1] == "well"
    assert result["told_before"] == result["stored_when_sick"] - 1
    seqs = [seq for seq, _ in result["kept"]]
    assert seqs == list(range(1, result["sent"] + 3))
    numbers = [text.split()[0] for _, text in result["kept"]]
    assert numbers == ["before", *map(str, range(1, result["sent"] + 1)), "after"]
    assert result["told"] == list(range(2, result["sent"] + 2))
    assert result["integrity"] == "ok"


def test_files_that_may_not_grow_stop_nothing_for_ever(tmp_path: Path) -> None:
    """PROOF F8, G19 as far as an ordinary user can have it: writes fail beyond a size (RLIMIT_FSIZE), then they don't."""
    result = drilled("limited", tmp_path)
    holds(result)
    assert result["state"] == "failing"


def namespace() -> list[str]:
    """What gives a process a mount table of its own; empty where this machine does not allow it."""
    for command in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            return command
    return []


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    """PROOF F8, G19: a real one of 4 MiB, filled to the last page."""
    if not (before := namespace()):
        pytest.skip("NOT SHOWN HERE: this machine lets nobody mount a small disk (unshare -m)")
    result = drilled("full", tmp_path, *before)
    holds(result)
    assert result["state"] == "full" and "is full; free some space" in result["why"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "call", ["fdatasync:error=EIO:when=9+7", "pwrite64:error=EIO:when=60+37", "pwrite64:error=ENOSPC:when=50+41"]
)
async def test_a_disk_that_fails_now_and_then_loses_and_doubles_nothing(tmp_path: Path, call: str) -> None:
    """PROOF F9: after a failed fsync nothing is told, and what a failed commit left in the log is not found again."""
    strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}"]
    if not shutil.which("strace") or subprocess.run([*strace, "true"], capture_output=True).returncode:
        pytest.skip("NOT SHOWN HERE: this machine has no strace to let single calls fail")
    async with open_store(tmp_path / "ropewalk.db") as store:
        await begin(store)
    result = drilled("unlucky", tmp_path, *strace)
    assert len(result["felt"]) >= 4 and set(result["felt"][1::2]) == {"well"}
    numbers = [int(text) for _, text in result["kept"]]
    assert [seq for seq, _ in result["kept"]] == list(range(1, len(numbers) + 1)) == result["told"]
    assert sorted(numbers + result["refused"]) == list(range(1, 121))
    assert all(n % 2 for n in result["refused"]), "a fact was refused"
    assert check(tmp_path / "ropewalk.db") == []


# --- others have it


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[tuple[SqliteStore, list[Health]]]:
    async with open_store(path) as store:
        felt: list[Health] = []
        store.watch(felt.append)
        await begin(store)
        await store.append(facts("before"))
        yield store, felt


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE counter SET indexed = 0")
print("locked", flush=True)
sys.stdin.read()
connection.execute("ROLLBACK")
"""


async def test_a_lock_of_another_program_is_said_and_waited_out(tmp_path: Path) -> None:
    """PROOF F11."""
    path = tmp_path / "db"
    async with opened(path) as (store, felt):
        holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        fact, wish = store.append(facts("fact")), store.append(facts("wish", keep=False))
        with pytest.raises(StoreUnavailable, match="locked by another program"):
            await asyncio.wait_for(wish, BOUND)
        assert store.health.state == "locked" and not fact.done()
        assert await texts(store) == [(1, "before")]
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await store.append(facts("another wish", keep=False))
        assert time.monotonic() - began < 1.0
        holder.stdin.close()
        holder.wait()
        holder.stdout.close()
        await asyncio.wait_for(fact, BOUND)
        await until(lambda: store.health.well)
        assert await texts(store) == [(1, "before"), (2, "fact")]
        assert [health.state for health in felt] == ["locked", "well"]
    assert check(path) == []


# --- taken away


async def test_a_log_that_is_deleted_is_rescued(tmp_path: Path) -> None:
    """PROOF F11: the WAL has no name any more, but we still have it open; nothing is lost, also not after a kill."""
    path = tmp_path / "db"
    async with opened(path) as (store, _):
        assert await texts(store) == [(1, "before")]
        os.unlink(f"{path}-wal")
        await asyncio.wait_for(store.append(facts("after", keep=False)), BOUND)
        await until(lambda: store.health.well)
        assert await texts(store) == [(1, "before"), (2, "after")]
        await store.append(facts("later"))
        # What a restart would find now, without a clean end of this one.
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", tmp_path / f"copy{suffix}")
    async with open_store(tmp_path / "copy") as copy:
        assert await texts(copy) == [(1, "before"), (2, "after"), (3, "later")]
    assert check(path) == []


async def test_log_and_index_of_it_deleted_while_idle_are_noticed(tmp_path: Path) -> None:
    """PROOF F11: without a write, within seconds."""
    path = tmp_path / "db"
    async with opened(path) as (store, felt):
        os.unlink(f"{path}-wal")
        os.unlink(f"{path}-shm")
        await until(lambda: bool(felt) and felt[-1].well)
        assert felt[0].state == "replaced"
        await store.append(facts("after"))
        assert await texts(store) == [(1, "before"), (2, "after")]
    async with open_store(path) as store:
        assert await texts(store) == [(1, "before"), (2, "after")]


async def test_a_file_that_was_moved_away_is_missed_until_it_is_back(tmp_path: Path) -> None:
    """PROOF F11: nothing is told that a restart would not find."""
    path = tmp_path / "db"
    async with opened(path) as (store, _):
        for suffix in ("", "-wal", "-shm"):
            os.rename(f"{path}{suffix}", f"{tmp_path / 'away'}{suffix}")
        fact = store.append(facts("fact"))
        await until(lambda: not store.health.well)
        assert store.health.state == "replaced" and "put it back" in store.health.why
        with pytest.raises(StoreUnavailable, match="put it back"):
            await store.append(facts("wish", keep=False))
        assert not fact.done() and not path.exists()
        for suffix in ("", "-wal", "-shm"):
            os.rename(f"{tmp_path / 'away'}{suffix}", f"{path}{suffix}")
        stored = await asyncio.wait_for(fact, BOUND)
        assert stored.entry.events[0].seq == 2
        assert await texts(store) == [(1, "before"), (2, "fact")]
        await until(lambda: store.health.well)
    assert check(path) == []


async def test_another_file_in_its_place_is_not_written_to(tmp_path: Path) -> None:
    """PROOF F11: file replaced."""
    path, other = tmp_path / "db", tmp_path / "other"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE recipe (name)")
    connection.close()
    before = other.read_bytes()
    async with opened(path) as (store, _):
        os.rename(path, tmp_path / "ours")
        os.rename(other, path)
        fact = store.append(facts("fact"))
        await until(lambda: store.health.state == "replaced")
        assert not fact.done()
    assert path.read_bytes() == before
    with pytest.raises(StoreUnavailable):
        await fact


# --- our own faults


async def test_a_fault_of_our_own_lets_nobody_wait_for_ever(tmp_path: Path) -> None:
    """Ours: the writer's thread is a boundary; what it can't do it says."""
    points: list[str] = []

    def at_point(name: str) -> None:
        points.append(name)
        if len(points) > 4:
            raise ZeroDivisionError("seven by zero")

    async with open_store(tmp_path / "db", at_point=at_point) as store:
        felt: list[Health] = []
        store.watch(felt.append)
        await begin(store)
        await store.append(facts("a"))
        assert points == ["store: before commit", "store: after commit"] * 2
        for keep in (True, False):
            with pytest.raises(StoreUnavailable, match="restart the hub"):
                await asyncio.wait_for(store.append(facts("b", keep=keep)), BOUND)
        assert [health.state for health in felt] == ["failing"]
        assert await texts(store) == [(1, "a")]
        with pytest.raises(StoreUnavailable):
            await asyncio.wait_for(store.raise_epochs(), BOUND)


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """ours: every later call fails at once with the reason."""
    async with open_store(tmp_path / "db") as store:
        await begin(store)
    for keep in (True, False):
        with pytest.raises(StoreUnavailable, match="closed"):
            await asyncio.wait_for(store.append(facts("late", keep=keep)), BOUND)


# --- in memory


async def test_the_memory_store_can_play_a_sick_disk() -> None:
    """Ours: so that a hub's faces can be tested without one."""
    async with open_memory() as store:
        await begin(store)
        felt: list[str] = []
        store.watch(lambda health: felt.append(health.state))
        wish = store.append(facts("wish", keep=False))
        store.fall_ill("full", "the disk is full")
        fact = store.append(facts("fact"))
        with pytest.raises(StoreUnavailable, match="the disk is full"):
            await wish
        with pytest.raises(StoreUnavailable):
            await store.append(facts("wish", keep=False))
        assert not fact.done()
        store.get_well()
        await fact
        assert await texts(store) == [(1, "fact")] and felt == ["full", "well"]
