"""What was told of a database, in a small file beside it: whether commits were taken back shows at the next start.

SQLite reads its log up to the first frame that is damaged and says nothing of those behind it. The witness is written after
each commit and before anybody is told, into mapped memory, which outlives our death and is never waited for. It can be older
than the database (a power cut), and then says less; it can't be newer, since the commit was on the disk before it was noted.
Refuses to be believed where its numbers don't check themselves.
"""

from __future__ import annotations

import mmap
import os
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from ropewalk.store.sqlite.keys import SEQ_MOST
from ropewalk.store.sqlite.place import TOLD

MAGIC = int.from_bytes(b"ropetold", "little")
SLOTS = (2, 4)
"""Where the number of commits stands, and its complement behind it; in turn, so that one is whole whenever we are killed."""
FIRST = 8
"""From here on the last seq of each session, by the session's number; the upper half is the complement of the lower."""
GROWN_BY = 64 * 1024
ALL = (1 << 64) - 1


class Told(Struct):
    """``commits``: so many were made. ``seqs``: session number → last seq given."""

    commits: int
    seqs: dict[int, int]


class TakenBack(Struct):
    """What was told and is not in the file."""

    commits: int
    events: int
    sessions: int

    @property
    def words(self) -> str:
        what = f"{self.commits} commits" if self.commits != 1 else "a commit"
        of = f"; with {'it' if self.commits == 1 else 'them'} {self.events} events of {self.sessions} sessions"
        return f"{what} that had been stored and told {'are' if self.commits != 1 else 'is'} gone{of if self.events else ''}"

    def refusal(self, path: Path) -> str:
        return (
            f"{path} is damaged: {self.words}. Its log ({path.name}-wal) was cut or changed, or an older copy is in its place: "
            "put the right files back, or keep a copy of these and go on with what is left: `ropewalk doctor --salvage`"
        )


def place_of(path: Path) -> Path:
    return Path(f"{path}{TOLD}")


def read_told(path: Path) -> Told | None:
    """What the witness of this database says; None: there is none, or it is not whole."""
    try:
        raw = place_of(path).read_bytes()
    except OSError:
        return None
    words = memoryview(raw[: len(raw) // 8 * 8]).cast("Q")
    if len(words) < FIRST or words[0] != MAGIC:
        return None
    commits = [words[at] for at in SLOTS if words[at] ^ words[at + 1] == ALL]
    if not commits:
        return None
    seqs = {no: word & SEQ_MOST for no, word in enumerate(words[FIRST:]) if word and (word ^ word >> 32) & SEQ_MOST == SEQ_MOST}
    return Told(max(commits), seqs)


def taken_back(connection: sqlite3.Connection, told: Told | None) -> TakenBack | None:
    """None: all that was told is there. Raises ``sqlite3.Error``."""
    if told is None:
        return None
    has = dict(connection.execute("SELECT no, seq FROM counter")) if _begun(connection) else {}
    if told.commits <= has.get(0, 0):
        return None
    gone = {no: seq - has.get(no, 0) for no, seq in told.seqs.items() if seq > has.get(no, 0)}
    return TakenBack(told.commits - has.get(0, 0), sum(gone.values()), len(gone))


def _begun(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'counter'").fetchone()[0])


class Witness:
    """Written by whoever holds the lock. Where the disk has no room for it there is none, and nothing else changes."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Note all that the database holds now. It must have been compared before."""
        self._path = path
        self._map: mmap.mmap | None = None
        self._words: memoryview | None = None
        self._room = 0
        self.renew(connection)

    def renew(self, connection: sqlite3.Connection) -> None:
        """Raises ``sqlite3.Error``."""
        if self._words is None:
            self._grow(0)
        seqs = dict(connection.execute("SELECT no, seq FROM counter"))
        self.note(seqs.pop(0, 0), seqs)

    def note(self, commits: int, seqs: Mapping[int, int]) -> None:
        """So far is it stored now. No call to the system, no wait, but for a session number that has no room yet."""
        if seqs and max(seqs) >= self._room:
            self._grow(max(seqs))
        words = self._words
        if words is None:
            return
        for no, seq in seqs.items():
            if no < self._room:
                words[FIRST + no] = (seq ^ SEQ_MOST) << 32 | seq
        slot = SLOTS[commits & 1]
        words[slot] = commits
        words[slot + 1] = commits ^ ALL

    def close(self) -> None:
        """It goes when the log is in the file: then nothing can be taken back."""
        self._unmap()
        log = Path(f"{self._path}-wal")
        with suppress(OSError):
            if not log.exists() or not log.stat().st_size:
                place_of(self._path).unlink()

    def _grow(self, no: int) -> None:
        """Room is written, not left as a hole: a page that finds no room on a full disk would be our end."""
        with suppress(OSError):
            fd = os.open(place_of(self._path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                size = (8 * (FIRST + no + 1) + GROWN_BY - 1) // GROWN_BY * GROWN_BY
                if (has := os.fstat(fd).st_size) < size:
                    os.pwrite(fd, bytes(size - has), has)
                    size = os.fstat(fd).st_size // 8 * 8
                self._take(fd, max(has, size) // 8 * 8)
            finally:
                os.close(fd)

    def _take(self, fd: int, size: int) -> None:
        if size < 8 * FIRST:
            return
        self._unmap()
        self._map = mmap.mmap(fd, size)
        self._words = memoryview(self._map).cast("Q")
        self._words[0] = MAGIC
        self._room = len(self._words) - FIRST

    def _unmap(self) -> None:
        if self._words is not None and self._map is not None:
            self._words.release()
            self._map.close()
        self._words = self._map = None
        self._room = 0


def forget(path: Path) -> None:
    """There is no such database any more, so nothing is told of it."""
    with suppress(OSError):
        place_of(path).unlink()
