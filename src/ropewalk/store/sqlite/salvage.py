"""Copies what can be read of a damaged database into a new file, and counts. Refuses to touch the damaged one.

Tables are read from both sides of each hole. Events and lines whose checksum does not hold are left out; search is built anew
from what is left. Numbers that were given are not given again, those of events that are gone with a damaged log neither.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ropewalk.errors import StoreRefused
from ropewalk.store.rows import TABLES
from ropewalk.store.sqlite.check import sound_event
from ropewalk.store.sqlite.connections import first_writer
from ropewalk.store.sqlite.keys import sound
from ropewalk.store.sqlite.place import Lock, prepare
from ropewalk.store.sqlite.sickness import Damaged
from ropewalk.store.sqlite.statements import names
from ropewalk.store.sqlite.witness import TakenBack, Told, read_told, taken_back

COPIED = (*TABLES, "counter", "line", "event")
BATCH = 500


class Salvaged(Struct):
    """``kept``: rows by table. ``unsound``: rows that were there and not whole. ``holes``: places that could not be read.

    ``taken_back``: what had been told and is gone with a damaged log.
    """

    kept: dict[str, int]
    unsound: int
    holes: int
    taken_back: TakenBack | None = None

    @property
    def words(self) -> str:
        kept = ", ".join(f"{count} of {table}" for table, count in self.kept.items() if count) or "nothing"
        gone = f"; {self.taken_back.words}" if self.taken_back is not None else ""
        return f"kept: {kept}; {self.unsound} rows were not whole, {self.holes} places could not be read{gone}"


def salvage(path: Path, into: Path) -> Salvaged:
    """Raises ``StoreRefused``: a hub is running on it, ``into`` is there already, or nothing could be read."""
    if into.exists():
        raise StoreRefused(f"{into} is there already; name a new file")
    prepare(into)
    lock = Lock(path)
    try:
        with tempfile.TemporaryDirectory(dir=into.parent, prefix="salvage-") as folder:
            return _salvage(_copied(path, Path(folder)), into, read_told(path))
    finally:
        lock.release()


def _copied(path: Path, folder: Path) -> Path:
    """With its log: opening it moves that into the file."""
    copy = folder / "copy.db"
    for suffix in ("", "-wal"):
        if (file := Path(f"{path}{suffix}")).exists():
            shutil.copyfile(file, Path(f"{copy}{suffix}"))
    return copy


def _salvage(copy: Path, into: Path, told: Told | None) -> Salvaged:
    old = sqlite3.connect(copy, isolation_level=None)
    old.text_factory = lambda raw: raw.decode("utf-8", "replace")
    old.execute("PRAGMA writable_schema = ON")  # else a file that was cut off is refused whole: its header names more pages
    new = first_writer(into)
    found = Salvaged({}, 0, 0)
    try:
        new.execute("PRAGMA wal_autocheckpoint = 1000")
        for table in COPIED:
            _copy_table(old, new, table, found)
        if not any(found.kept.values()):
            raise StoreRefused(f"nothing could be read of it; what is left of the file is in {copy.parent.parent}")
        found.taken_back = taken_back(new, told)
        _mend(new, told)
    finally:
        old.close()
        new.close()
    return found


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str, found: Salvaged) -> None:
    found.kept[table] = 0
    columns = _columns(old, new, table)
    if not columns:
        found.holes += 1
        return
    marks = ", ".join("?" * len(columns))
    sql = f'INSERT OR IGNORE INTO "{table}" ({names(columns)}) VALUES ({marks})'
    if table == "counter":
        sql = f'INSERT OR REPLACE INTO "{table}" ({names(columns)}) VALUES ({marks})'
    new.execute("BEGIN IMMEDIATE")
    for row in _rows(old, table, columns, found):
        if not _sound(table, dict(zip(columns, row, strict=True))):
            found.unsound += 1
            continue
        try:
            found.kept[table] += new.execute(sql, row).rowcount
        except (sqlite3.Error, ValueError, OverflowError):
            found.unsound += 1
    new.execute("COMMIT")


def _columns(old: sqlite3.Connection, new: sqlite3.Connection, table: str) -> list[str]:
    """Those that both have; none where the damaged file does not know the table any more."""
    try:
        there = {row[1] for row in old.execute(f'PRAGMA table_info("{table}")')}
    except sqlite3.Error:
        return []
    return [row[1] for row in new.execute(f'PRAGMA table_info("{table}")') if row[1] in there]


def _rows(old: sqlite3.Connection, table: str, columns: list[str], found: Salvaged) -> Iterator[tuple[Any, ...]]:
    """Upwards as far as it goes; over a hole with growing steps; back down to the hole from behind it.

    In a damaged tree the way up may lead back to where it came from: a row that is not above the last one is a hole, too.
    """
    at, step, landed = -(2**63), 0, True
    while True:
        first = None
        try:
            for row in old.execute(_walk(table, columns, "> ?", "ASC"), (min(at + step, 2**63 - 1),)):
                if row[0] <= at + step:
                    raise Damaged("rows are not in order")
                if not landed:
                    first = row[0]
                    break
                yield row[1:]
                at = row[0]
            else:
                return
        except (sqlite3.Error, OverflowError):
            found.holes += landed
            landed, step = False, max(1, step * 2)
            if at + step >= 2**63 - 1:
                return
            if at < 0:
                at = 0
            continue
        if first is not None:
            yield from _backwards(old, table, columns, at, first)
            at, step, landed = first - 1, 0, True


def _backwards(old: sqlite3.Connection, table: str, columns: list[str], above: int, below: int) -> Iterator[tuple[Any, ...]]:
    try:
        for row in old.execute(_walk(table, columns, "< ?", "DESC"), (below,)):
            if not above < row[0] < below:
                return
            yield row[1:]
            below = row[0]
    except (sqlite3.Error, OverflowError):
        return


def _walk(table: str, columns: list[str], which: str, way: str) -> str:
    return f'SELECT rowid, {names(columns)} FROM "{table}" NOT INDEXED WHERE rowid {which} ORDER BY rowid {way}'


def _sound(table: str, row: dict[str, Any]) -> bool:
    if table == "event":
        return sound_event(row["id"], row["kind"], row["at"], row["crc"], row["body"])
    if table == "line":
        return sound(row["id"], row["crc"], row["raw"])
    return True


def _mend(new: sqlite3.Connection, told: Told | None) -> None:
    """Every event has a session, every counter is at least its last event's, and search begins again."""
    new.execute("BEGIN IMMEDIATE")
    sql = "SELECT id >> 32, max(id), body FROM event WHERE id >> 32 NOT IN (SELECT no FROM session) GROUP BY 1"
    for no, _, body in new.execute(sql).fetchall():
        session = msgspec.json.decode(body).get("session") or f"salvaged-{no}"
        new.execute("INSERT OR IGNORE INTO session (no, id, title) VALUES (?, ?, ?)", (no, session, "salvaged"))
    new.execute("DELETE FROM event WHERE id >> 32 NOT IN (SELECT no FROM session)")
    new.execute("UPDATE counter SET indexed = 0")
    new.execute("""
        INSERT INTO counter (no, seq) SELECT id >> 32, max(id) & 4294967295 FROM event GROUP BY 1
        ON CONFLICT (no) DO UPDATE SET seq = max(seq, excluded.seq)
    """)
    new.execute("INSERT OR IGNORE INTO counter (no) VALUES (0)")
    if told is not None:
        known = {no for (no,) in new.execute("SELECT no FROM session")}
        seqs = [(0, told.commits), *((no, seq) for no, seq in told.seqs.items() if no in known)]
        sql = "INSERT INTO counter (no, seq) VALUES (?, ?) ON CONFLICT (no) DO UPDATE SET seq = max(seq, excluded.seq)"
        new.executemany(sql, seqs)
    new.execute("COMMIT")
