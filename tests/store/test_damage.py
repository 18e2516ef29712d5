"""Flipped bits and torn files: noticed, refused in words, and what is left can be carried into a new file, with a count."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ropewalk.errors import StoreRefused, StoreUnavailable
from ropewalk.store.base import Entry, Search, put
from ropewalk.store.rows import PromptRow, SessionRow
from ropewalk.store.sqlite import open_store
from ropewalk.store.sqlite.check import check
from ropewalk.store.sqlite.salvage import salvage
from tests.store.words import SEARCHED, begin, facts, heard, texts

pytestmark = pytest.mark.slow

SEED = 12
SESSIONS = ("s0", "s1", "s2")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions, a thousand lines and events, closed cleanly."""
    path = tmp_path_factory.mktemp("sound") / "db"
    asyncio.run(fill(path))
    return path


async def fill(path: Path) -> None:
    async with open_store(path, searched=SEARCHED) as store:
        for session in SESSIONS:
            await begin(store, session, f"p-{session}")
            await store.append(Entry(rows=[put(PromptRow(id=f"prompt-{session}", session=session, position=1.0))]))
        for n in range(1, 334):
            for session in SESSIONS:
                store.post(heard(n, f"text {n} of {session} " + "word " * (n % 40), process=f"p-{session}", session=session))
        await store.settled()


Contents = tuple[dict[str, list[tuple[int, str]]], dict[str, list[tuple[int, bytes]]]]


async def contents(path: Path) -> Contents:
    """All events and lines. Raises what opening and reading raise."""
    async with open_store(path, searched=SEARCHED) as store:
        events = {session: await texts(store, session) for session in SESSIONS}
        lines = {session: [(line.n, line.raw) for line in await store.lines(session, limit=10_000)] for session in SESSIONS}
        return events, lines


def flipped(path: Path, number: int) -> None:
    chance = random.Random(SEED * 1000 + number)
    whole = bytearray(path.read_bytes())
    # The first pages hold the schema and the small tables: they get more than their share.
    reach = len(whole) if number % 3 else 64 * 1024
    for _ in range(chance.choice((1, 1, 8))):
        whole[chance.randrange(reach)] ^= 1 << chance.randrange(8)
    path.write_bytes(whole)


def torn(path: Path, number: int) -> None:
    chance = random.Random(SEED * 1000 + number)
    whole = path.read_bytes()
    path.write_bytes(whole[: chance.randrange(len(whole))])


@pytest.mark.parametrize("number", range(24))
async def test_a_flipped_bit_is_noticed_and_what_is_sound_is_salvaged(sound: Path, tmp_path: Path, number: int) -> None:
    """PROOF F12: refused, or found by the check, or it touched nothing; and never is a changed event taken over."""
    await damage_is_contained(sound, tmp_path, lambda path: flipped(path, number))


@pytest.mark.parametrize("number", range(8))
async def test_a_torn_file_is_noticed_and_what_is_sound_is_salvaged(sound: Path, tmp_path: Path, number: int) -> None:
    """PROOF F12."""
    await damage_is_contained(sound, tmp_path, lambda path: torn(path, number))


async def damage_is_contained(sound: Path, folder: Path, damage: object) -> None:
    path = folder / "db"
    shutil.copy(sound, path)
    assert callable(damage)
    damage(path)
    shutil.copy(path, folder / "damaged")
    before = await contents(sound)
    try:
        noticed = await contents(path) == before
        noticed = noticed or check(path) != []
    except (StoreRefused, StoreUnavailable) as error:
        assert "damaged" in str(error), error
        noticed = True
    assert noticed, "an event or line is not what it was, and nobody said so"
    try:
        saved = salvage(folder / "damaged", folder / "saved")
    except StoreRefused as error:
        assert "nothing could be read" in str(error)
        return
    events, lines = await contents(folder / "saved")
    for session in SESSIONS:
        assert set(events[session]) <= set(before[0][session])
        assert set(lines[session]) <= set(before[1][session])
    assert saved.kept["event"] >= sum(map(len, events.values()))
    assert str(saved.kept["event"]) in saved.words or not saved.kept["event"]


async def test_one_bad_page_costs_its_own_rows_only(sound: Path, tmp_path: Path) -> None:
    """Ours: a page of events is overwritten; both sides of the hole are saved, and the numbers go on after it."""
    path = tmp_path / "db"
    shutil.copy(sound, path)
    whole = bytearray(path.read_bytes())
    page = whole.index(b"text 200 of s1") // 4096 * 4096
    whole[page : page + 4096] = random.Random(SEED).randbytes(4096)
    path.write_bytes(whole)
    assert check(path) != []
    saved = salvage(path, tmp_path / "saved")
    assert saved.holes >= 1 and 900 < saved.kept["event"] < 999
    async with open_store(tmp_path / "saved", searched=SEARCHED) as store:
        assert (await texts(store, "s0"))[-1][0] == 333
        kept = [seq for seq, _ in await texts(store, "s1")]
        assert kept[0] == 1 and kept[-1] == 333 and 200 not in kept
        stored = await store.append(facts("on", session="s1"))
        assert stored.entry.events[0].seq == 334
        session = await store.get(SessionRow, "s1")
        assert session is not None and session.last_seq == 334
        assert await store.get(PromptRow, "prompt-s2") is not None
    async with open_store(tmp_path / "saved", searched=SEARCHED) as store:
        for _ in range(2000):
            if not (await store.size()).unindexed:
                break
            await store.settled()
        assert (await store.search(Search(text='"of s2"', limit=1000))).hits


async def test_a_sound_file_is_salvaged_whole(sound: Path, tmp_path: Path) -> None:
    """Ours: the check says nothing, the count says all."""
    assert check(sound) == []
    saved = salvage(sound, tmp_path / "saved")
    assert (saved.kept["event"], saved.kept["line"], saved.kept["session"], saved.unsound, saved.holes) == (999, 999, 3, 0, 0)
    assert await contents(tmp_path / "saved") == await contents(sound)
    assert check(tmp_path / "saved") == []
    with pytest.raises(StoreRefused, match="there already"):
        salvage(sound, tmp_path / "saved")


async def test_a_file_in_use_is_not_salvaged(tmp_path: Path) -> None:
    """Ours."""
    async with open_store(tmp_path / "db"):
        with pytest.raises(StoreRefused, match="in use"):
            salvage(tmp_path / "db", tmp_path / "saved")


async def test_a_reader_that_finds_damage_says_so_on_every_face(sound: Path, tmp_path: Path) -> None:
    """Ours: the health is what all faces show."""
    path = tmp_path / "db"
    shutil.copy(sound, path)
    whole = bytearray(path.read_bytes())
    page = whole.index(b"text 200 of s1") // 4096 * 4096
    whole[page : page + 4096] = bytes(4096)
    path.write_bytes(whole)
    async with open_store(path) as store:
        felt: list[str] = []
        store.watch(lambda health: felt.append(health.state))
        with pytest.raises(StoreUnavailable, match="damaged"):
            await texts(store, "s1")
        assert store.health.state == "corrupt" and "salvage" in store.health.why
        await store.settled()
        assert felt == ["corrupt"]
        assert len(await store.events("s0", limit=100)) == 100  # what lies on other pages can be read


async def test_a_damaged_index_stops_search_and_not_the_store(sound: Path, tmp_path: Path) -> None:
    """Ours: said once, and everything is stored as before."""
    path = tmp_path / "db"
    shutil.copy(sound, path)
    felt: list[str] = []
    async with open_store(path, searched=SEARCHED) as store:
        store.watch(lambda health: felt.append(health.state))
        connection = sqlite3.connect(path)
        connection.execute("UPDATE event_text_data SET block = x'ffffffffffffffff' WHERE id > 0")
        connection.commit()
        connection.close()
        await store.append(facts(*["text word of"] * 3000, session="s0"))
        with pytest.raises(StoreUnavailable, match="damaged"):
            await store.search(Search(text="word"))
        await store.append(facts("on", session="s0"))
        assert (await texts(store, "s0"))[-1] == (3334, "on")
        assert store.health.state == "corrupt"
    assert felt == ["corrupt"]


# --- the log: SQLite reads it up to the first frame that is damaged, and says nothing


TOLD = 1500


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many commits told and in the log, and the process killed."""
    folder = tmp_path_factory.mktemp("killed")
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.store.drills", "flood", str(folder)], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    assert child.stdout is not None
    told = [child.stdout.readline() for _ in range(TOLD)]
    child.kill()
    child.wait()
    child.stdout.close()
    assert all(told)
    return folder / "ropewalk.db"


def copied(killed: Path, folder: Path) -> Path:
    for suffix in ("", "-wal", ".told"):
        shutil.copy(f"{killed}{suffix}", folder / f"ropewalk.db{suffix}")
    return folder / "ropewalk.db"


def cut_log(path: Path, part: float) -> None:
    log = Path(f"{path}-wal")
    os.truncate(log, int(log.stat().st_size * part))


def flip_log(path: Path, part: float) -> None:
    log = Path(f"{path}-wal")
    body = bytearray(log.read_bytes())
    body[int(len(body) * part)] ^= 4
    log.write_bytes(body)


async def last_seq(path: Path) -> int:
    async with open_store(path) as store:
        session = await store.get(SessionRow, "s")
        assert session is not None
        return session.last_seq


@pytest.mark.parametrize("harm", [cut_log, flip_log])
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.9])
async def test_commits_that_a_damaged_log_took_back_are_noticed_at_the_start(
    killed: Path, tmp_path: Path, harm: Callable[[Path, float], None], part: float
) -> None:
    """PROOF F12: refused in words that say what to do, found by the check, and the log is left as it was found."""
    path = copied(killed, tmp_path)
    assert check(path) == []
    harm(path, part)
    size = Path(f"{path}-wal").stat().st_size
    for _ in range(2):
        with pytest.raises(StoreRefused, match=r"told .*doctor --salvage"):
            await last_seq(path)
        assert any("told" in problem for problem in check(path))
    assert Path(f"{path}-wal").stat().st_size == size


async def test_numbers_that_went_with_a_damaged_log_are_not_given_again(killed: Path, tmp_path: Path) -> None:
    """PROOF G10, F12: the salvaged file goes on behind them, and opens beside the old witness."""
    whole = await last_seq(copied(killed, tmp_path))
    (tmp_path / "other").mkdir()
    path = copied(killed, tmp_path / "other")
    cut_log(path, 0.7)
    saved = salvage(path, tmp_path / "saved")
    assert saved.taken_back is not None and saved.taken_back.events > 0 and "told" in saved.words
    known = saved.kept["event"] + saved.taken_back.events
    assert TOLD <= known <= whole  # the kill may have come between a commit and its telling
    os.replace(tmp_path / "saved", path)
    Path(f"{path}-wal").unlink()
    async with open_store(path) as store:
        stored = await store.append(facts("on"))
        assert stored.entry.events[0].seq == known + 1


async def test_a_witness_that_knows_less_or_is_no_witness_keeps_nobody_out(killed: Path, tmp_path: Path) -> None:
    """Ours: after a power cut it may be old, torn or empty; the database counts."""
    whole = (await last_seq(copied(killed, tmp_path)),)
    body = Path(f"{killed}.told").read_bytes()
    for number, other in enumerate((b"", body[:40], bytes(len(body)), body[:16] + bytes(len(body) - 16), b"\xff" * len(body))):
        (tmp_path / str(number)).mkdir()
        path = copied(killed, tmp_path / str(number))
        Path(f"{path}.told").write_bytes(other)
        assert check(path) == []
        assert (await last_seq(path),) == whole


async def test_the_witness_goes_with_a_clean_end_and_a_removed_database_leaves_none(killed: Path, tmp_path: Path) -> None:
    """Ours: then nothing can be taken back; and a new database under the old name begins at nothing."""
    path = copied(killed, tmp_path)
    await last_seq(path)
    assert not Path(f"{path}.told").exists() and Path(f"{killed}.told").exists()
    path = copied(killed, tmp_path)
    for suffix in ("", "-wal"):
        Path(f"{path}{suffix}").unlink()
    async with open_store(path) as store:
        assert await store.get(SessionRow, "s") is None


async def test_the_check_calls_no_file_sound_that_the_store_refuses(sound: Path, tmp_path: Path) -> None:
    """Ours: a title that is no text, a counter that is gone, a schema of tomorrow, another program's file."""
    harms = (
        "UPDATE session SET title = CAST(x'ff41' AS TEXT) WHERE no = 3", "DELETE FROM counter WHERE no = 0",
        "PRAGMA user_version = 999", "PRAGMA application_id = 7",
    )  # fmt: skip
    for number, harm in enumerate(harms):
        path = tmp_path / f"db{number}"
        shutil.copy(sound, path)
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute(harm)
        connection.close()
        with pytest.raises(StoreRefused):
            async with open_store(path):
                pass
        assert check(path) != [], harm
