"""Opens the connections of a database: one that writes, some that only read. Refuses what is damaged at the first look."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from ropewalk.errors import StoreRefused
from ropewalk.store.sqlite.migrations import migrate
from ropewalk.store.sqlite.sickness import Damaged, refusal

OLDEST = (3, 37, 0)
"""STRICT tables came with it."""
BUSY_SECONDS = 1.0
"""How long a commit waits for another program's lock before the store says that it is locked."""
WAL_KEPT = 64 * 1024 * 1024
"""A log that grew beyond this while somebody read for long is cut back afterwards."""


def first_writer(path: Path) -> sqlite3.Connection:
    """Open, bring the schema up to date, look at what must be readable. Raises ``StoreRefused``.

    No full check: that reads all of the file, and is for ``doctor``.
    """
    if sqlite3.sqlite_version_info < OLDEST:
        raise StoreRefused(f"this Python has SQLite {sqlite3.sqlite_version}; ropewalk needs 3.37 or newer")
    try:
        connection = writer(path)
    except sqlite3.Error as error:
        raise StoreRefused(refusal(error, str(path))) from error
    try:
        migrate(connection)
        look(connection)
    except sqlite3.Error as error:
        connection.close()
        raise StoreRefused(refusal(error, str(path))) from error
    except BaseException:
        connection.close()
        raise
    return connection


def look(connection: sqlite3.Connection) -> None:
    """What must be readable before anything is done with it. Raises ``sqlite3.Error``."""
    for table in ("session", "process", "event", "line", "counter"):
        connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid DESC LIMIT 1').fetchone()
    connection.execute("SELECT rowid FROM event_text WHERE event_text MATCH 'a' LIMIT 1").fetchone()
    if connection.execute("SELECT seq FROM counter WHERE no = 0").fetchone() is None:
        raise Damaged("the number of its commits is missing")


def writer(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False,
        cached_statements=512,
    )  # fmt: skip
    try:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("PRAGMA synchronous = full")
        # The writer does it itself, after it has told what a commit stored.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_KEPT}")
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA secure_delete = off")
    except BaseException:
        connection.close()
        raise
    return connection


def reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = on")
    connection.execute("PRAGMA cache_size = -8000")
    return connection
