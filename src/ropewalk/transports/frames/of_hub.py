"""What a hub says to a runner, one struct a frame. Fields are sent by position: new ones go to the end, with a default."""

from __future__ import annotations

from .named import Frame


class Hello(Frame, frozen=True):
    """The first frame. A runner that has seen a higher epoch answers ``Fenced``; an older hub's connection is ended."""

    protocol: int
    version: str
    epoch: int


class Start(Frame, frozen=True):
    """Start a CLI; attached from its first line on. Answered by ``Started`` or ``Refused``.

    Words, folder and environment are the system's bytes: a folder's name need not be UTF-8.
    """

    ask: int
    process: str
    program: tuple[bytes, ...]
    args: tuple[bytes, ...]
    cwd: bytes
    env: dict[bytes, bytes]
    claim: str = ""
    """The CLI's own session id, where it is known: nobody else may run it at the same time."""
    graces: tuple[float, ...] | None = None


class Attach(Frame, frozen=True):
    """Say all lines after ``after``, then what comes. ``Attached`` with the same serial stands in front of them."""

    process: str
    after: int
    serial: int


class Write(Frame, frozen=True):
    """The payload goes to the CLI's input, once per key. Answered by ``Written`` or ``Unwritten``."""

    process: str
    key: str


class Unwrite(Frame, frozen=True):
    """Take a write back if it waits. Answered by ``Withdrawn``."""

    ask: int
    process: str
    key: str


class Stored(Frame, frozen=True):
    """The hub has these lines: the spool may forget them."""

    process: str
    n: int


class CloseInput(Frame, frozen=True):
    process: str


class Stop(Frame, frozen=True):
    """Climb the ladder. ``Rung`` for each, ``Stopped`` or ``Refused`` at its end."""

    ask: int
    process: str
    patience: float


class Forget(Frame, frozen=True):
    """The hub knows this process's end and all its lines. Nothing happens while it lives."""

    process: str


class Keys(Frame, frozen=True):
    ask: int
    process: str


class Census(Frame, frozen=True):
    """Count the descendants now. Answered by ``Accounts`` with the same ask."""

    ask: int


class Ping(Frame, frozen=True):
    ask: int


class Reexec(Frame, frozen=True):
    """Become the program that is installed now: same pid, pipes, socket, spool. ``Done``, then the connection ends."""

    ask: int


class StatFile(Frame, frozen=True):
    ask: int
    path: str


class ResolvePaths(Frame, frozen=True):
    """Where these names lead, also when their ends do not exist yet. Relative ones count from ``base``."""

    ask: int
    base: str
    paths: tuple[str, ...]


class ReadFile(Frame, frozen=True):
    ask: int
    path: str
    offset: int
    cap: int


class ListFolder(Frame, frozen=True):
    ask: int
    path: str
    cap: int


class PutFile(Frame, frozen=True):
    """The payload becomes this file, whole or not at all. ``exclusive``: only where nothing stands."""

    ask: int
    path: str
    exclusive: bool
    mode: int
    folders: bool


FromHub = (
    Hello | Start | Attach | Write | Unwrite | Stored | CloseInput | Stop | Forget | Keys | Census | Ping | Reexec
    | StatFile | ResolvePaths | ReadFile | ListFolder | PutFile
)  # fmt: skip
