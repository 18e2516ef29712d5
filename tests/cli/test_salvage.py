"""``doctor`` and a database that nobody holds: sound, open to others, damaged; and what ``--salvage`` makes of it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from ropewalk.store.sqlite import open_store
from tests.cli.conftest import Desk
from tests.store.test_damage import fill
from tests.store.words import begin

PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sessions with 333 events and lines each."""
    path = tmp_path_factory.mktemp("sound") / "ropewalk.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def database(desk: Desk, sound: Path) -> Path:
    state = desk.home / ".local" / "state" / "ropewalk"
    state.mkdir(parents=True, mode=0o700)
    desk.env["PATH"] = "/nowhere"  # no claude: the doctor says so and goes on to the database
    return Path(shutil.copy2(sound, state / "ropewalk.db"))


def overwrite(path: Path, words: bytes = b"text 200 of s1") -> None:
    """One page of events becomes noise."""
    whole = bytearray(path.read_bytes())
    page = whole.index(words) // PAGE * PAGE
    whole[page : page + PAGE] = random.Random(7).randbytes(PAGE)
    path.write_bytes(whole)


def seen(desk: Desk) -> dict[str, Any]:
    """The doctor's check of the database."""
    (found,) = [one for one in desk.ropewalk("doctor", "--json").object["checks"] if one["name"] == "database"]
    return dict(found)


def beside(database: Path, word: str) -> list[Path]:
    return sorted(database.parent.glob(f"ropewalk.db.{word}-*"))


@pytest.mark.slow
def test_a_database_that_rests_is_read_whole_and_its_modes_are_looked_at(desk: Desk, database: Path) -> None:
    """ours"""
    well = seen(desk)
    assert well["state"] == "ok" and well["words"].startswith("database 0600, ") and well["words"].endswith(", sound")
    database.chmod(0o640)
    database.parent.chmod(0o755)
    told = seen(desk)
    assert told["state"] == "warning" and "folder 0755" in told["words"]
    assert f"chmod 600 {database} && chmod 700 {database.parent}" in told["fix"]


@pytest.mark.slow
def test_where_no_hub_ever_ran_there_is_no_line(desk: Desk) -> None:
    """ours"""
    desk.env["PATH"] = "/nowhere"
    assert "database" not in desk.ropewalk("doctor").out
    done = desk.ropewalk("doctor", "--salvage")
    assert done.code == 4 and "nothing to salvage" in done.err and done.out == ""


@pytest.mark.slow
def test_a_damaged_database_is_a_failure_that_names_the_remedy(desk: Desk, database: Path) -> None:
    """PROOF F12: the remedy that every refusal names is there"""
    overwrite(database)
    told = seen(desk)
    assert told["state"] == "failure" and "damaged" in told["words"] and "ropewalk doctor --salvage" in told["fix"]


def test_what_is_sound_takes_the_place_and_the_damaged_one_is_kept(desk: Desk, database: Path) -> None:
    """PROOF F12"""
    overwrite(database)
    before = database.read_bytes()
    told = desk.ropewalk("doctor", "--salvage", "--yes", "--json").object
    assert told["replaced"] is True and told["problems"] and told["holes"] + told["unsound"] >= 1
    assert 900 < told["kept"]["event"] < 999 and told["kept"]["session"] == 3
    assert Path(told["damaged"]).read_bytes() == before and [Path(told["damaged"])] == beside(database, "damaged")
    assert beside(database, "salvaged") == [] and database.stat().st_mode & 0o777 == 0o600
    asyncio.run(opens(database))
    after = seen(desk)
    assert after["state"] == "warning" and "missing" in after["words"] and "--salvage" not in after["fix"]


async def opens(path: Path) -> None:
    async with open_store(path) as store:
        assert store.health.state == "well"


@pytest.mark.slow
def test_a_torn_file_is_salvaged_or_left_as_it_is(desk: Desk, database: Path) -> None:
    """PROOF F12: whichever it is, it is said, and the bytes that are left are kept"""
    whole = database.read_bytes()
    left = whole[: len(whole) // 2 // PAGE * PAGE]
    database.write_bytes(left)
    assert seen(desk)["state"] == "failure"
    done = desk.ropewalk("doctor", "--salvage", "--yes")
    if done.code == 0:
        assert "saved: 0 lines" in done.out and "3 sessions" in done.out and beside(database, "damaged")[0].read_bytes() == left
        asyncio.run(opens(database))
    else:
        assert done.code == 1 and "nothing could be read" in done.err and database.read_bytes() == left


@pytest.mark.slow
def test_a_log_that_was_not_moved_into_the_file_yet_is_saved_too(desk: Desk, database: Path) -> None:
    """ours: a hub that was killed leaves one"""
    asyncio.run(killed_after_more(database))
    assert database.with_name("ropewalk.db-wal").stat().st_size
    told = desk.ropewalk("doctor", "--salvage", "--yes", "--json").object
    assert told["kept"]["session"] == 4 and Path(told["damaged"] + "-wal").exists()
    assert not database.with_name("ropewalk.db-wal").exists()


@pytest.mark.slow
def test_commits_that_a_cut_log_took_back_are_said_and_the_loss_is_accepted_knowingly(desk: Desk, database: Path) -> None:
    """PROOF F12"""
    asyncio.run(killed_after_more(database))
    os.truncate(f"{database}-wal", 0)
    refused = desk.ropewalk("serve", "--port", "0")
    assert refused.code and "told" in refused.err and "doctor --salvage" in refused.err
    found = seen(desk)
    assert found["state"] == "failure" and "told" in found["words"]
    done = desk.ropewalk("doctor", "--salvage", "--yes")
    assert done.code == 0 and "lost:" in done.out and "told" in done.out and "not given again" in done.out
    assert seen(desk)["state"] == "ok"
    asyncio.run(opens(database))


async def killed_after_more(path: Path) -> None:
    """One more session, in the log alone."""
    aside = path.with_name("aside")
    async with open_store(path) as store:
        await begin(store, "s3", "p-s3")
        shutil.copytree(path.parent, aside)
    for suffix in ("", "-wal", ".told"):
        shutil.copy2(aside / f"ropewalk.db{suffix}", f"{path}{suffix}")
    shutil.rmtree(aside)


@pytest.mark.slow
def test_where_nobody_can_be_asked_nothing_is_replaced(desk: Desk, database: Path) -> None:
    """ours: exit 6; what was saved lies beside it"""
    overwrite(database)
    before = database.read_bytes()
    for words in (("doctor", "--salvage"), ("doctor", "--salvage", "--json")):
        done = desk.ropewalk(*words)
        assert done.code == 6 and database.read_bytes() == before and beside(database, "damaged") == []
    assert json.loads(done.out)["replaced"] is False and beside(database, "salvaged")


@pytest.mark.slow
@pytest.mark.parametrize(("key", "code"), [("y", 0), ("n", 6)])
def test_a_person_is_asked_before_it_is_replaced(desk: Desk, database: Path, key: str, code: int) -> None:
    """ours"""
    overwrite(database)
    with desk.terminal("doctor", "--salvage") as terminal:
        terminal.until("saved: ")
        terminal.until("y/n › ")
        terminal.press_alone(key)
        assert terminal.end() == code
    assert len(beside(database, "damaged")) == (key == "y") and len(beside(database, "salvaged")) == (key == "n")


@pytest.mark.slow
def test_a_file_that_holds_nothing_any_more_is_left_alone(desk: Desk, database: Path) -> None:
    """ours: what to do is said, and no half of a file stays"""
    database.write_bytes(random.Random(7).randbytes(100_000))
    done = desk.ropewalk("doctor", "--salvage", "--yes")
    assert done.code == 1 and "nothing could be read" in done.err and "mv " in done.err
    assert [path.name for path in database.parent.iterdir() if "lock" not in path.name] == ["ropewalk.db"]


def test_yes_alone_is_wrong_usage(desk: Desk) -> None:
    """ours"""
    done = desk.ropewalk("doctor", "--yes")
    assert done.code == 2 and "--salvage" in done.err
