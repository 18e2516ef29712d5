"""What an error of SQLite means for people: a state and a sentence. Refuses to hide: what it does not know is ``failing``."""

from __future__ import annotations

import sqlite3

from ropewalk.store.base import HealthState


class Misplaced(Exception):
    """The database file, or its log, is not the one that we have open."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Damaged(sqlite3.DatabaseError):
    """A row is not what was stored, and SQLite itself has not noticed."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    sqlite_errorname = "SQLITE_CORRUPT"


STATES: dict[int, tuple[HealthState, str]] = {
    sqlite3.SQLITE_FULL: ("full", "the disk that holds {path} is full; free some space and the hub goes on by itself"),
    sqlite3.SQLITE_READONLY: ("read_only", "{path} can't be written (read-only); make it writable and the hub goes on by itself"),
    sqlite3.SQLITE_BUSY: ("locked", "{path} is locked by another program; end what has it open and the hub goes on by itself"),
    sqlite3.SQLITE_LOCKED: ("locked", "{path} is locked by another program; end what has it open and the hub goes on by itself"),
    sqlite3.SQLITE_CORRUPT: ("corrupt", "{path} is damaged; stop the hub, keep a copy, and run `ropewalk doctor --salvage`"),
    sqlite3.SQLITE_NOTADB: ("corrupt", "{path} is damaged; stop the hub, keep a copy, and run `ropewalk doctor --salvage`"),
    sqlite3.SQLITE_CANTOPEN: ("failing", "{path} can't be opened ({name}); the hub keeps trying"),
    sqlite3.SQLITE_PERM: ("read_only", "{path} may not be accessed; restore its permissions and the hub goes on by itself"),
    sqlite3.SQLITE_IOERR: ("failing", "the disk that holds {path} fails ({name}); the hub keeps trying"),
}


def diagnose(error: Exception, path: str) -> tuple[HealthState, str]:
    """The state and its sentence."""
    if isinstance(error, Misplaced):
        return "replaced", error.why
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and "Could not decode" in str(error):
        code = sqlite3.SQLITE_CORRUPT  # a text column that is no text: sqlite3's own finding, without a code
    name = getattr(error, "sqlite_errorname", None) or type(error).__name__
    state, words = STATES.get((code or 0) & 0xFF, ("failing", "writing to {path} fails ({name}); the hub keeps trying"))
    return state, words.format(path=path, name=name)


def refusal(error: Exception, path: str) -> str:
    """Why a file is not opened at all."""
    if "no such module" in str(error):
        return "this Python's SQLite has no full-text search (FTS5); use another Python"
    state, _ = diagnose(error, path)
    if state == "corrupt":
        return f"{path} is damaged ({error}); keep a copy of it, then run `ropewalk doctor --salvage`"
    told = {
        "full": f"the disk that holds {path} is full; free some space, then start again",
        "read_only": f"{path} can't be written; make it and its folder writable, then start again",
        "locked": f"{path} is locked by another program; end what has it open, then start again",
    }
    return told.get(state, f"{path} can't be opened: {error}")
