"""Brings a file's schema up to ours, one numbered script after the other. Refuses files of a newer or of no ropewalk."""

from __future__ import annotations

import sqlite3
from importlib import resources

from ropewalk.errors import StoreRefused

APPLICATION_ID = 0x526F7065
"""Says in the file's header whose it is (SQLite's application_id)."""


def scripts() -> list[str]:
    """The migrations in order: the first makes version 1. Scripts are only ever added, never changed."""
    folder = resources.files("ropewalk.store") / "schema"
    found = sorted((file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda file: file.name)
    return [file.read_text("utf-8") for file in found]


def migrate(connection: sqlite3.Connection, steps: list[str] | None = None) -> int:
    """Bring it to the newest version, each step a transaction of its own; returns the version. Raises ``StoreRefused``."""
    steps = scripts() if steps is None else steps
    version = version_of(connection)
    if version > len(steps):
        raise StoreRefused(
            f"this database was written by a newer ropewalk (schema {version}, this one knows up to {len(steps)}); "
            "use that version or a newer one, or another file"
        )
    for number, script in enumerate(steps[version:], start=version + 1):
        _step(connection, number, script)
    return len(steps)


def version_of(connection: sqlite3.Connection) -> int:
    """0 for an empty file. Raises ``StoreRefused`` for a database of something else."""
    whose, version = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version"))
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if whose != APPLICATION_ID and (whose or version or tables):
        raise StoreRefused("this file is a database of another program; name another file")
    return version


def _step(connection: sqlite3.Connection, number: int, script: str) -> None:
    # executescript would commit what is open: statement by statement, then.
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in statements(script):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.rollback()
        raise


def statements(script: str) -> list[str]:
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun)
            begun = ""
    return found
