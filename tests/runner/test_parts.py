"""The runner's smaller parts, each alone: keys, the rhythm of syncing, the census, the fair pump."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from ropewalk.errors import UsageError
from ropewalk.runner.keys import ROOM, Keys, check_key
from ropewalk.runner.rhythm import ENOUGH, Rhythm
from ropewalk.runner.spool import Spool
from tests.runner.world import QUICK, LineEar, World, until
from tests.transports.families import life_of

# Keys


def test_keys_are_there_again_and_a_torn_one_is_not(tmp_path: Path) -> None:
    """ours: on disk before the write; half a key was never written."""
    keys = Keys(str(tmp_path / "keys"))
    for key in ("one", "zwei \u00e9", "three"):
        keys.add(key)
    keys.close()
    with open(tmp_path / "keys", "r+b") as file:
        content = file.read()
        file.seek(content.index(b"\0") - 1)
        file.write(b"\0")
    again = Keys(str(tmp_path / "keys"))
    assert set(again.all()) == {"one", "zwei \u00e9"}
    again.add("four")
    again.close()
    assert set(Keys(str(tmp_path / "keys")).all()) == {"one", "zwei \u00e9", "four"}


def test_room_for_keys_is_taken_in_advance(tmp_path: Path) -> None:
    """ours (G19): on a full disk an interrupt and a denial can still be written."""
    keys = Keys(str(tmp_path / "keys"))
    keys.reserve()
    assert os.stat(tmp_path / "keys").st_blocks * 512 >= ROOM
    for number in range(5000):
        keys.add(f"key number {number}")
    keys.close()
    assert len(Keys(str(tmp_path / "keys"))) == 5000


@pytest.mark.parametrize("key", ["", "a\nb", "a\0b", "x" * 301])
def test_a_key_that_is_no_line_is_refused(key: str) -> None:
    """ours."""
    with pytest.raises(UsageError):
        check_key(key)


# The rhythm


async def test_what_is_dirty_is_synced_soon_and_at_once_when_it_is_much(tmp_path: Path) -> None:
    """ours: 100 ms or 64 KiB; in a thread, so that a slow disk stops nobody."""
    synced: list[str] = []
    with open(tmp_path / "f", "wb") as file:
        rhythm = Rhythm(
            lambda: [os.dup(file.fileno())], lambda why: None, lambda fd: synced.append(threading.current_thread().name)
        )
        rhythm.dirty(1)
        assert synced == []
        await until(lambda: len(synced) == 1, "a sync")
        rhythm.dirty(ENOUGH)
        await rhythm.finish()
    assert len(synced) >= 2
    assert threading.main_thread().name not in synced


async def test_what_a_hub_has_stored_is_not_synced(tmp_path: Path) -> None:
    """ours: it is safe elsewhere."""
    spool = Spool(str(tmp_path), segment=50_000)
    synced: list[int] = []
    rhythm = Rhythm(spool.to_sync, lambda why: None, synced.append)
    for _ in range(3):
        spool.append(b"x" * 40_000 + b"\n")
        rhythm.dirty(40_000)
    await rhythm.finish()
    assert len(synced) >= 3  # each segment, and the folder
    synced.clear()
    spool.append(b"y\n")
    spool.forget(4)
    rhythm.dirty(2)
    await rhythm.finish()
    assert synced == []
    spool.close()


@pytest.mark.slow
async def test_a_failing_disk_is_told_and_tried_again(tmp_path: Path) -> None:
    """ours: nobody goes on as if it had worked."""
    told: list[str] = []
    tries: list[int] = []

    def sync(descriptor: int) -> None:
        tries.append(descriptor)
        if len(tries) < 3:
            raise OSError(5, "Input/output error")

    with open(tmp_path / "f", "wb") as file:
        rhythm = Rhythm(lambda: [os.dup(file.fileno())], told.append, sync)
        rhythm.dirty(1)
        await until(lambda: told and told[-1] == "", "the disk to work again")
        await rhythm.finish()
    assert len(tries) == 3
    assert all("Input/output error" in why for why in told[:-1])


# Fairness and latency, with real processes


@pytest.mark.slow
async def test_a_quiet_cli_is_heard_beside_many_that_flood(world: World) -> None:
    """ours (G13): writes and answers pass by the flood."""
    link = await world.hub()
    flood = "chunk = b'flood\\n' * 10000\nnote(sys.argv[0] + str(os.getpid()))\nwhile True: os.write(1, chunk)"
    ears = [LineEar() for _ in range(3)]
    for number, ear in enumerate(ears):
        await link.start_process(f"flood{number}", world.cli(flood), ear, graces=QUICK)
    echo = "while line := sys.stdin.buffer.readline(): os.write(1, line)"
    await link.start_process("quiet", world.cli(echo), quiet := LineEar())
    await asyncio.gather(*(ear.hears(10_000) for ear in ears))
    clock = asyncio.get_running_loop()
    for number in range(20):
        began = clock.time()
        link.write("quiet", f"k{number}", b"hello\n")
        await quiet.hears(number + 1)
        assert clock.time() - began < 5.0
        for name, ear in zip(("flood0", "flood1", "flood2"), ears, strict=True):
            link.stored(name, ear.next - 1)
            ear.heard.clear()
    rows = [ear.next for ear in ears]
    assert min(rows) * 20 > max(rows), rows
    await asyncio.gather(*(link.stop(f"flood{number}", patience=0) for number in range(3)))


async def test_the_descendants_of_each_cli_are_counted_apart(world: World) -> None:
    """ours: number and memory; own session and double fork too."""
    link = await world.hub()
    program = "child('a', session=True); child('b', session=True, twice=True, pipes=False); note('cli'); live()"
    (world.folder / "other").mkdir()
    await link.start_process("with", world.cli(program), LineEar(), graces=QUICK)
    await link.start_process("without", world.cli("note('alone'); live()"), LineEar(), graces=QUICK)
    for name in ("a", "b", "cli", "alone"):
        await life_of(world.folder, name)
    accounts = {account.process: account for account in await link.accounts()}
    assert {name: account.descendants for name, account in accounts.items()} == {"with": 2, "without": 0}
    assert accounts["with"].memory > accounts["without"].memory > 1_000_000
    await asyncio.gather(link.stop("with", patience=0), link.stop("without", patience=0))
