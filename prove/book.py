"""The hub's log, straight from its file: read-only, by a connection of our own. Refuses to write."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .listeners import checksum


@dataclass
class Book:
    """One look: everything in it is of one moment."""

    events: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    lines: dict[str, dict[int, bytes]] = field(default_factory=dict)
    """By process: number of the CLI's line → its bytes."""
    said: dict[str, list[bytes]] = field(default_factory=dict)
    """By process: what we wrote, in order."""
    doubles: list[str] = field(default_factory=list)
    sessions: dict[str, dict[str, Any]] = field(default_factory=dict)
    processes: dict[str, dict[str, Any]] = field(default_factory=dict)
    prompts: dict[str, dict[str, Any]] = field(default_factory=dict)
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    commands: dict[str, dict[str, Any]] = field(default_factory=dict)
    verdicts: dict[str, dict[str, Any]] = field(default_factory=dict)
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of_kind(self, session: str, *kinds: str) -> list[dict[str, Any]]:
        return [event for event in self.events.get(session, {}).values() if event["kind"] in kinds]

    def checksum(self, session: str, seq: int) -> int | None:
        event = self.events.get(session, {}).get(seq)
        return None if event is None else checksum(event)


OPENING = 5.0
PASSING = ("unable to open", "disk I/O error")
"""Seconds, and errors of our own look in them: the log is removed, or put anew, between two steps of SQLite's opening."""


def connected(path: Path) -> sqlite3.Connection:
    """Raises ``sqlite3.OperationalError``, with the path, when it can't be opened for all that time."""
    until = time.monotonic() + OPENING
    while True:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20.0)
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if not any(words in str(error) for words in PASSING) or time.monotonic() > until:
                raise sqlite3.OperationalError(f"{error}: {path}, beside it {_beside(path)}") from error
            time.sleep(0.02)
            continue
        connection.row_factory = sqlite3.Row
        return connection


def _beside(path: Path) -> list[str]:
    return sorted(os.listdir(path.parent)) if path.parent.exists() else ["no folder"]


def rows(path: Path, sql: str, *values: Any) -> list[dict[str, Any]]:
    with closing(connected(path)) as connection:
        return [dict(row) for row in connection.execute(sql, values)]


def integrity(path: Path) -> str:
    with closing(connected(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def read(path: Path) -> Book:
    book = Book()
    with closing(connected(path)) as connection:
        connection.execute("BEGIN")
        for table, into in (("session_now", book.sessions), ("process", book.processes), ("prompt", book.prompts),
                            ("question", book.questions), ("verdict", book.verdicts), ("rule", book.rules)):  # fmt: skip
            into.update({row["id"]: dict(row) for row in connection.execute(f"SELECT * FROM {table}")})
        book.commands = {row["client_id"]: dict(row) for row in connection.execute("SELECT * FROM command")}
        for session, seq, body in connection.execute("SELECT session, seq, body FROM event_log ORDER BY session, seq"):
            found = book.events.setdefault(session, {})
            if seq in found:
                book.doubles.append(f"seq {seq} of {session} is there twice")
            found[seq] = json.loads(body)
        for process, way, n, raw in connection.execute("SELECT process, dir, n, raw FROM line_log ORDER BY cursor"):
            if way == "in":
                book.said.setdefault(process, []).append(bytes(raw))
                continue
            lines = book.lines.setdefault(process, {})
            if n in lines:
                book.doubles.append(f"line {n} of {process} is stored twice")
            lines[n] = bytes(raw)
    return book
