"""What hub and runner say to each other: one struct a frame, and the codec around them. Does no I/O; never looks into a line.

On the wire: two lengths (4 bytes each, big-endian), a msgpack header, then raw bytes. Lines, writes and files travel in the raw
part and are never encoded again. Fields are sent by position: new ones go to the end, with a default.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from ropewalk.errors import LinkBroken, UsageError

PROTOCOL = 1
"""Raised when an older runner would misunderstand a newer hub. Told in ``Hello`` and ``Welcome``."""

LENGTHS = struct.Struct(">II")
LARGEST_HEADER = 4 * 1024 * 1024
"""An environment and arguments may take 2 MiB together (the kernel's own bound); the rest is room."""
LARGEST_LINE = 64 * 1024 * 1024
"""Longer lines of a CLI are dropped, longer writes refused."""
LARGEST_PAYLOAD = LARGEST_LINE + 1024 * 1024
PIECE = 256 * 1024
"""The most that one record of the spool holds."""
TURN = 32 * 1024
"""The most that one process says in its turn: some hundred lines, so that the hub is not held up by one frame for longer than
a few milliseconds, and no other process waits longer than for this, times the processes."""


class Frame(msgspec.Struct, array_like=True, tag=True, frozen=True):
    """The root of all frames. ``ask`` numbers a question; its answer carries the same number."""


# What both sides name


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


# The hub's


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
    graces: tuple[float, float, float, float, float] | None = None


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


# The runner's


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


FromHub = (
    Hello | Start | Attach | Write | Unwrite | Stored | CloseInput | Stop | Forget | Keys | Census | Ping | Reexec
    | StatFile | ResolvePaths | ReadFile | ListFolder | PutFile
)  # fmt: skip
FromRunner = (
    Welcome | Fenced | Refused | Started | Attached | Said | Dropped | Written | Unwritten | Withdrawn | Rung | Held | Ended
    | Stopped | KeysAre | Accounts | Done | StatIs | PathsAre | FileIs | FolderIs
)  # fmt: skip

from_hub: msgspec.msgpack.Decoder[FromHub] = msgspec.msgpack.Decoder(FromHub)
from_runner: msgspec.msgpack.Decoder[FromRunner] = msgspec.msgpack.Decoder(FromRunner)
_encoder = msgspec.msgpack.Encoder()


def encode(frame: Frame, payload: bytes = b"") -> bytes:
    """One frame as it goes over the wire. Raises ``LinkBroken`` for what the other side would refuse, ``UsageError`` for text
    that is none (half an emoji in a name)."""
    try:
        header = _encoder.encode(frame)
    except UnicodeEncodeError as error:
        raise UsageError(f"a {type(frame).__name__} frame holds what is no text: {error.object[:100]!r}") from error
    if len(header) > LARGEST_HEADER or len(payload) > LARGEST_PAYLOAD:
        raise LinkBroken(f"a {type(frame).__name__} frame of {len(header)} + {len(payload)} bytes is too large to be sent")
    return LENGTHS.pack(len(header), len(payload)) + header + payload


F = TypeVar("F", bound=Frame)


class FrameReader(Generic[F]):
    """Fed with bytes in any chunking; gives whole frames. Garbage is a ``LinkBroken``: nothing after it can be trusted."""

    __slots__ = ("_broken", "_decoder", "_need", "_rest")

    def __init__(self, decoder: msgspec.msgpack.Decoder[F]) -> None:
        self._decoder = decoder
        self._rest = bytearray()
        self._need = LENGTHS.size
        self._broken: str | None = None

    def feed(self, chunk: bytes) -> Iterator[tuple[F, bytes]]:
        """The frames that are whole now, each with its payload."""
        if self._broken is not None:
            raise LinkBroken(self._broken)
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._need:  # a large frame comes in many pieces: look only when it can be whole
                return
            chunk = bytes(self._rest)
            self._rest.clear()
        at, end = 0, len(chunk)
        while (found := self._lengths(chunk, at, end)) is not None:
            middle, after = found
            header, payload = chunk[at + LENGTHS.size : middle], chunk[middle:after]
            at = after
            yield self._decode(header), payload
        self._rest += memoryview(chunk)[at:]

    def _lengths(self, chunk: bytes, at: int, end: int) -> tuple[int, int] | None:
        """Where this frame's header and payload end; None when it is not whole yet."""
        if end - at < LENGTHS.size:
            self._need = LENGTHS.size
            return None
        header, payload = LENGTHS.unpack_from(chunk, at)
        if header > LARGEST_HEADER or payload > LARGEST_PAYLOAD:
            raise self._garbage(f"a frame of {header} + {payload} bytes was announced")
        middle = at + LENGTHS.size + header
        after = middle + payload
        if after > end:
            self._need = after - at
            return None
        return middle, after

    def _decode(self, header: bytes) -> F:
        try:
            return self._decoder.decode(header)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._garbage(f"a frame that can't be read: {error}") from error

    def _garbage(self, what: str) -> LinkBroken:
        self._broken = f"the other side of the runner's socket does not speak our frames ({what})"
        return LinkBroken(self._broken)
