"""The file of a store is ours alone: modes, links, one hub at a time, versions of the schema."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from ropewalk.errors import StoreRefused
from ropewalk.store.rows import ROWS, SessionRow
from ropewalk.store.sqlite import open_store
from ropewalk.store.sqlite.check import check
from ropewalk.store.sqlite.keys import checksum, line_id
from ropewalk.store.sqlite.migrations import migrate, scripts, statements
from ropewalk.store.sqlite.place import start_time
from tests.store.words import begin, facts, heard, texts


def drill(name: str, folder: Path) -> str:
    command = [sys.executable, "-m", "tests.store.drills", name, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


async def test_folder_and_files_are_private(tmp_path: Path) -> None:
    """PROOF S7: 0600 in 0700, also what SQLite lays beside it."""
    path = tmp_path / "state" / "ropewalk" / "ropewalk.db"
    before = os.umask(0)
    try:
        async with open_store(path) as store:
            await begin(store)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {"ropewalk.db", "ropewalk.db-wal", "ropewalk.db-shm", "ropewalk.db.lock", "ropewalk.db.told"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_file_that_others_can_read_is_closed_to_them(tmp_path: Path) -> None:
    """Ours: it may have been copied back from somewhere."""
    async with open_store(tmp_path / "db"):
        pass
    os.chmod(tmp_path / "db", 0o644)
    async with open_store(tmp_path / "db"):
        assert stat.S_IMODE((tmp_path / "db").stat().st_mode) == 0o600


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock"])
async def test_a_link_in_our_place_is_refused(tmp_path: Path, suffix: str) -> None:
    """PROOF S41: planted there, it would have us write elsewhere."""
    target = tmp_path / "elsewhere"
    target.write_bytes(b"precious")
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / f"db{suffix}").symlink_to(target)
    with pytest.raises(StoreRefused, match="link"):
        async with open_store(tmp_path / "home" / "db"):
            pass
    assert target.read_bytes() == b"precious"


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
async def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    """PROOF S7."""
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(StoreRefused, match="can be written by others; run `chmod go-w"):
        async with open_store(folder / "db"):
            pass
    assert list(folder.iterdir()) == []


def test_a_file_that_may_not_be_written_is_refused_in_words() -> None:
    """PROOF F11."""
    with tempfile.TemporaryDirectory() as folder:
        assert "can't be written; make it and its folder writable" in drill("read_only", Path(folder))


async def test_something_else_in_our_place_is_refused(tmp_path: Path) -> None:
    """Ours: a folder, a database of another program, a text."""
    (tmp_path / "folder").mkdir()
    connection = sqlite3.connect(tmp_path / "other")
    connection.execute("CREATE TABLE recipe (name)")
    connection.close()
    (tmp_path / "text").write_text("Dear diary, today nothing happened. " * 100)
    for name, words in (("folder", "no plain file"), ("other", "another program"), ("text", "damaged")):
        with pytest.raises(StoreRefused, match=words):
            async with open_store(tmp_path / name):
                pass
    assert (tmp_path / "text").read_text().startswith("Dear diary")


# --- one at a time


async def test_a_second_hub_on_the_same_file_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    """PROOF F26: lock with pid and start time."""
    async with open_store(tmp_path / "ropewalk.db") as store:
        await begin(store)
        words = drill("second", tmp_path)
        assert f"is in use by process {os.getpid()}" in words
        assert (tmp_path / "ropewalk.db.lock").read_text().split() == [str(os.getpid()), start_time(os.getpid())]
        await store.append(facts("undisturbed"))
    assert drill("second", tmp_path) == "opened"


async def test_what_a_dead_hub_left_is_no_lock(tmp_path: Path) -> None:
    """Ours: the kernel holds it, the file only says who."""
    (tmp_path / "ropewalk.db.lock").write_text("1 1\n")
    async with open_store(tmp_path / "ropewalk.db") as store:
        assert store.health.well


# --- versions


async def test_a_newer_schema_is_refused_in_words(tmp_path: Path) -> None:
    """PROOF G20: an old hub never writes into what it does not understand."""
    async with open_store(tmp_path / "db"):
        pass
    connection = sqlite3.connect(tmp_path / "db")
    connection.execute(f"PRAGMA user_version = {len(scripts()) + 1}")
    connection.close()
    with pytest.raises(StoreRefused, match="written by a newer ropewalk"):
        async with open_store(tmp_path / "db"):
            pass


@pytest.mark.parametrize("version", range(len(scripts()) + 1))
async def test_every_earlier_schema_is_brought_up_to_ours(tmp_path: Path, version: int) -> None:
    """ours: from each version that ever was, 0 being an empty file; then it works, and is as if made new."""
    old = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(old, scripts()[:version])
    old.close()
    async with open_store(tmp_path / "db") as store:
        await begin(store)
        await store.append(facts("a"))
        assert await texts(store) == [(1, "a")]
    made_new = sqlite3.connect(":memory:", isolation_level=None)
    migrate(made_new)
    brought_up = sqlite3.connect(tmp_path / "db")
    shape = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name"
    assert brought_up.execute(shape).fetchall() == made_new.execute(shape).fetchall()
    brought_up.close()


async def test_what_the_first_schema_held_is_there_and_known_after_the_second(tmp_path: Path) -> None:
    """Ours: events and lines moved into tables in the order of their coming; a line heard again is still no news."""
    old = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(old, scripts()[:1])
    old.execute("INSERT INTO session (no, id) VALUES (1, 's')")
    old.execute("INSERT INTO process (no, id, session) VALUES (1, 'p', 's')")
    old.execute("INSERT INTO counter (no, seq) VALUES (1, 3)")
    for seq, line_no, text in ((1, None, "one"), (2, 4, "two"), (3, 6, "three")):
        body = f'{{"kind":"said","text":"{text}","session":"s","seq":{seq},"at":1.0}}'.encode()
        row = (1 << 32 | seq, "said", line_no, checksum(1 << 32 | seq, body), body)
        sql = "INSERT INTO event (id, epoch, kind, at, process, line_no, part, crc, body) VALUES (?, 1, ?, 1.0, 1, ?, 0, ?, ?)"
        old.execute(sql, row)
    id = line_id(1, 4, 0)  # of line 6 only the event was kept
    old.execute("INSERT INTO line (id, n, at, crc, raw) VALUES (?, 4, 4.0, ?, ?)", (id, checksum(id, b"line 4"), b"line 4"))
    old.close()
    async with open_store(tmp_path / "db") as store:
        replays = [await store.append(heard(n, "again")) for n in (4, 6)]
        assert [stored.replayed for stored in replays] == [True, True]
        assert not (await store.append(heard(5, "four"))).replayed
        assert await texts(store) == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]
        assert [line.n for line in await store.lines("s")] == [4, 5]
    assert check(tmp_path / "db") == []


def test_a_migration_that_fails_leaves_the_version_before_it() -> None:
    """Ours: each step is a transaction."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    shape = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    with pytest.raises(sqlite3.Error):
        migrate(connection, [*scripts(), "CREATE TABLE extra (x);\nCREATE TABLE session (x);\n"])
    assert connection.execute("PRAGMA user_version").fetchone() == (len(scripts()),)
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == shape


def test_the_columns_are_those_of_the_structs() -> None:
    """ours: one row model. ``last_seq`` is counted beside its table, ``no`` is the store's own."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    for row in ROWS:
        columns = [column[1] for column in connection.execute(f"PRAGMA table_info({row.table})") if column[1] != "no"]
        wanted = [name for name in row.__struct_fields__ if not (row is SessionRow and name == "last_seq")]
        assert columns == wanted, row.table


def test_scripts_are_taken_apart_into_whole_statements() -> None:
    """Ours."""
    script = "-- a; comment\nCREATE TABLE a (x);\nCREATE TRIGGER t AFTER INSERT ON a BEGIN\n SELECT 1;\n SELECT 2;\nEND;\n"
    assert len(statements(script)) == 2
