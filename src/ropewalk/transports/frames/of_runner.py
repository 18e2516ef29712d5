"""What a runner says to a hub, one struct a frame. Fields are sent by position: new ones go to the end, with a default."""

from __future__ import annotations

from .named import Account, FileStat, Frame, ProcessReport


class Welcome(Frame, frozen=True):
    """The answer to ``Hello``."""

    protocol: int
    version: str
    runner: str
    """The id of this spool: it stays over restarts."""
    life: str
    """Another one after each start or re-exec."""
    pid: int
    boot_id: str
    epoch: int
    processes: tuple[ProcessReport, ...]
    trouble: str = ""
    """What a start after a death found broken, in words."""


class Fenced(Frame, frozen=True):
    """A hub with a higher epoch has been here: this one is not heard any more."""

    epoch: int
    words: str


class Refused(Frame, frozen=True):
    """``kind``: usage, folder, cli, gone, broken. ``words`` is the sentence, or the subject for folder and cli."""

    ask: int
    kind: str
    words: str


class Started(Frame, frozen=True):
    ask: int
    pid: int
    start_time: int
    boot_id: str


class Attached(Frame, frozen=True):
    process: str
    serial: int


class Said(Frame, frozen=True):
    """The payload is what the CLI said: from byte ``offset`` of line ``line`` on, cut anywhere, with its line ends."""

    process: str
    line: int
    offset: int


class Dropped(Frame, frozen=True):
    """These lines can't be given; the payload is how the first of them began."""

    process: str
    first: int
    count: int
    size: int
    why: str


class Written(Frame, frozen=True):
    process: str
    key: str


class Unwritten(Frame, frozen=True):
    """This write was refused; nothing of it reached the CLI."""

    process: str
    key: str
    why: str


class Withdrawn(Frame, frozen=True):
    """``yes``: it never reached the CLI, and never will under this key's present write."""

    ask: int
    yes: bool


class Rung(Frame, frozen=True):
    process: str
    name: str


class Held(Frame, frozen=True):
    """The CLI's output is not read, and why; read again when ``why`` is empty."""

    process: str
    why: str


class Ended(Frame, frozen=True):
    """After all its lines; told again to whoever attaches, until it is forgotten."""

    process: str
    code: int | None
    why: str
    stderr: tuple[str, ...]
    last: int


class Stopped(Frame, frozen=True):
    ask: int
    code: int | None
    why: str
    stderr: tuple[str, ...]


class KeysAre(Frame, frozen=True):
    """The payload has one key a line."""

    ask: int


class Accounts(Frame, frozen=True):
    """``ask`` is 0 when nobody asked."""

    ask: int
    accounts: tuple[Account, ...]


class Done(Frame, frozen=True):
    ask: int


class StatIs(Frame, frozen=True):
    ask: int
    stat: FileStat | None


class PathsAre(Frame, frozen=True):
    ask: int
    paths: tuple[str, ...]


class FileIs(Frame, frozen=True):
    """The payload is the part that was asked for."""

    ask: int
    path: str
    size: int
    binary: bool


class FolderIs(Frame, frozen=True):
    ask: int
    path: str
    entries: tuple[FileStat, ...]
    more: bool


FromRunner = (
    Welcome | Fenced | Refused | Started | Attached | Said | Dropped | Written | Unwritten | Withdrawn | Rung | Held | Ended
    | Stopped | KeysAre | Accounts | Done | StatIs | PathsAre | FileIs | FolderIs
)  # fmt: skip
