"""Which writes a CLI was handed, on disk before the CLI sees them. A key that is in here is never written again.

Room is taken from the disk in advance: on a full one an interrupt or a denial can still be written.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ropewalk.errors import UsageError

ROOM = 64 * 1024
LOW = 16 * 1024
LONGEST = 300


class Keys:
    """``add`` before the write; ``in`` to ask. One key a line; the rest of the file is NULs."""

    __slots__ = ("_at", "_fd", "_known", "_on_add", "_room", "_unsynced")

    def __init__(self, path: str, on_add: Callable[[], None] = lambda: None) -> None:
        self._known: set[str] = set()
        self._on_add = on_add
        self._unsynced = False
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        self._room = os.fstat(self._fd).st_size
        written = os.pread(self._fd, self._room, 0).partition(b"\0")[0]
        whole, _, _ = written.rpartition(b"\n")
        self._at = len(whole) + 1 if whole else 0
        if whole:
            self._known = set(whole.decode("utf-8", "replace").split("\n"))

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def all(self) -> tuple[str, ...]:
        return tuple(self._known)

    def add(self, key: str) -> None:
        """Raises ``OSError`` when the disk does not take it: then it must not be written."""
        line = key.encode() + b"\n"
        if self._at + len(line) > self._room - LOW:  # at the first key, too
            self._make_room()
        if os.pwrite(self._fd, line, self._at) < len(line):
            raise OSError("the disk of the spool is full")
        self._at += len(line)
        self._known.add(key)
        self._unsynced = True
        self._on_add()

    def reserve(self) -> None:
        """Take the first room while there is some."""
        self._make_room()

    def to_sync(self) -> list[int]:
        """A descriptor, the caller's to close, when there is something new."""
        if not self._unsynced or self._fd < 0:
            return []
        self._unsynced = False
        return [os.dup(self._fd)]

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _make_room(self) -> None:
        try:
            os.posix_fallocate(self._fd, self._at, ROOM)
            self._room = self._at + ROOM
        except (AttributeError, OSError):
            return  # what room there is must do; a write past it says that the disk is full


def check_key(key: str) -> None:
    """Raise ``UsageError`` for what can't be kept as one line."""
    if not key or len(key) > LONGEST or "\n" in key or "\0" in key:
        raise UsageError(f"the key of a write has 1 to {LONGEST} characters, without line feed and NUL; got {key[:40]!r}")
