"""What both sides name: sizes that both keep to, one process, its account, a file. Structs only; refuses behaviour."""

from __future__ import annotations

import msgspec

PROTOCOL = 1
"""Raised when an older runner would misunderstand a newer hub. Told in ``Hello`` and ``Welcome``."""

LARGEST_LINE = 64 * 1024 * 1024
"""Longer lines of a CLI are dropped, longer writes refused."""
PIECE = 256 * 1024
"""The most that one record of the spool holds."""
TURN = 32 * 1024
"""The most that one process says in its turn: some hundred lines, so that the hub is not held up by one frame for longer than
a few milliseconds, and no other process waits longer than for this, times the processes."""


class Frame(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """The root of all frames. ``ask`` numbers a question; its answer carries the same number."""


class ProcessReport(msgspec.Struct, array_like=True, frozen=True):
    """One process as the runner knows it, alive or ended and not yet forgotten."""

    process: str
    pid: int
    start_time: int
    """In clock ticks since the machine's start: with pid and boot_id it names one process for ever."""
    boot_id: str
    alive: bool
    first: int
    """The oldest line that is still spooled; ``last + 1`` when there is none."""
    last: int
    """The newest whole line."""
    stored: int
    """What a hub has acknowledged."""
    keys: int
    """How many keys were written."""
    waiting: int
    """How many writes the CLI has not taken yet."""
    claim: str = ""
    held: str = ""
    """Why its output is not being read at the moment; empty when it is."""
    code: int | None = None
    why: str = ""
    stderr: tuple[str, ...] = ()
    cwd: str = ""


class Account(msgspec.Struct, array_like=True, frozen=True):
    """What one CLI and its descendants take of the machine."""

    process: str
    descendants: int
    """Besides the CLI itself."""
    memory: int
    """Resident bytes, the CLI's own among them."""
    spooled: int = 0
    """Bytes on disk that no hub has acknowledged."""


class FileStat(msgspec.Struct, array_like=True, frozen=True):
    """``kind``: file, folder, link (only in listings), other."""

    path: str
    kind: str
    size: int
    mtime: float
    mode: int
