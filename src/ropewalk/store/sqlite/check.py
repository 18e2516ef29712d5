"""The full check of a database, for ``doctor``: all of it is read. Refuses to repair; ``salvage`` does that, into a new file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ropewalk.errors import StoreRefused
from ropewalk.store.rows import TABLES
from ropewalk.store.sqlite.connections import look, reader
from ropewalk.store.sqlite.keys import SEQ_MOST, sound
from ropewalk.store.sqlite.migrations import scripts, version_of
from ropewalk.store.sqlite.witness import Told, read_told, taken_back

PROBLEMS_MOST = 100


class _Head(msgspec.Struct):
    """What an event's row and its body both say."""

    kind: str
    seq: int = 0
    at: float = 0.0


_head = msgspec.json.Decoder(_Head).decode


def check(path: Path) -> list[str]:
    """What is wrong with it, a sentence each, at most a hundred; none: it is sound. A hub may be running on it."""
    problems: list[str] = []
    told = read_told(path)  # before the file is read: a hub may be adding to both
    try:
        connection = reader(path)
        try:
            for problem in _problems(connection, told):
                problems.append(problem)
                if len(problems) >= PROBLEMS_MOST:
                    break
        finally:
            connection.close()
    except (sqlite3.Error, StoreRefused) as error:
        problems.append(f"{path} can't be read to its end: {error}")
    return problems


def _problems(connection: sqlite3.Connection, told: Told | None) -> Iterator[str]:
    """First what keeps a hub from opening it; then all the rest."""
    if (lost := taken_back(connection, told)) is not None:
        yield lost.words
    version = version_of(connection)
    if not version:
        return  # empty: a hub begins it anew
    if version > len(scripts()):
        yield f"it was written by a newer ropewalk (schema {version})"
    look(connection)
    yield from _unreadable(connection)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for (said,) in connection.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield str(said)
    for row in connection.execute("SELECT id, kind, at, crc, body FROM event ORDER BY id"):
        if not sound_event(*row):
            yield f"event {row[0] & SEQ_MOST} of session number {row[0] >> 32} is not what was stored"
    for id, crc, raw in connection.execute("SELECT id, crc, raw FROM line ORDER BY id"):
        if not sound(id, crc, raw):
            yield f"line {id} is not what was stored"
    yield from _gaps(connection)


def _unreadable(connection: sqlite3.Connection) -> Iterator[str]:
    """Text that is no text: whoever asks for such a row gets an error."""
    for table in TABLES:
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")') if row[2] == "TEXT"]
        for column in columns:
            try:
                for _ in connection.execute(f'SELECT "{column}" FROM "{table}"'):
                    pass
            except sqlite3.OperationalError as error:
                if "Could not decode" not in str(error):
                    raise
                yield f"{column} of a {table} is not what was stored"


def _gaps(connection: sqlite3.Connection) -> Iterator[str]:
    sql = "SELECT id >> 32 AS no, count(*), max(id) & 4294967295 FROM event GROUP BY 1"
    for no, count, last in connection.execute(sql):
        if count != last:
            yield f"session number {no} has {count} events and its last is number {last}"
    sql = "SELECT DISTINCT id >> 32 FROM event WHERE id >> 32 NOT IN (SELECT no FROM session)"
    for (no,) in connection.execute(sql):
        yield f"session number {no} has events and is not in the list"


def sound_event(id: int, kind: str, at: float, crc: int, body: bytes) -> bool:
    if not sound(id, crc, body):
        return False
    try:
        head = _head(body)
    except msgspec.MsgspecError:
        return False
    return head.kind == kind and head.seq == id & SEQ_MOST and head.at == at
