"""Flipped bits and torn files: noticed, refused in words, and what is left can be carried into a new file, with a count."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
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
        assert len(await texts(store, "s0")) == 333


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
