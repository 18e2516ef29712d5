"""Bytes in, whole lines out, whatever the chunks. Refuses to decode: a chunk is not a line and a line is not yet text."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE = 64 * 1024 * 1024
"""Lines of 5 MB were measured; past 64 MiB a line is dropped, and told: a flood without a newline can't eat the memory."""

HEAD = 200
"""Bytes of a dropped line that are kept, to tell what it was."""


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line past the cap: how long it was in all, and how it began."""

    size: int
    head: bytes


class LineSplitter:
    """Feed it chunks; it gives back the lines that they finish, without ``\\n`` or ``\\r\\n``, empty ones left out."""

    __slots__ = ("_lost", "_max", "_parts", "_size")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._parts: list[bytes] = []
        self._size = 0
        self._lost: bytes | None = None  # the head of a line that is being dropped

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that ``chunk`` completes. Lines of blanks alone may be among them: they cost a test that only they need."""
        pieces = chunk.split(b"\n")
        if len(pieces) == 1:
            self._keep(chunk)
            return []
        rest = pieces.pop()
        if not self._size and b"\r" not in chunk and len(chunk) <= self._max:  # the plain case, without a loop of ours
            if rest:
                self._keep(rest)
            return pieces if all(pieces) else [piece for piece in pieces if piece]  # type: ignore[return-value]
        if self._size:
            self._keep(pieces[0])
            first = self._take()
            lines: list[bytes | TooLong] = [] if first is None else [first]
            lines += self._whole(pieces, 1)
        else:
            lines = self._whole(pieces, 0)
        if rest:
            self._keep(rest)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """At the end of the stream: a last line without a newline counts too."""
        last = self._take() if self._size else None
        return [] if last is None else [last]

    def reset(self) -> None:
        """Forget half a line: the link broke, its end will not come."""
        self._parts, self._size, self._lost = [], 0, None

    def _whole(self, pieces: list[bytes], start: int) -> list[bytes | TooLong]:
        lines: list[bytes | TooLong] = []
        for index in range(start, len(pieces)):
            piece = pieces[index]
            if piece.endswith(b"\r"):
                piece = piece[:-1]
            if len(piece) > self._max:
                lines.append(TooLong(len(piece), piece[:HEAD]))
            elif piece and not piece.isspace():
                lines.append(piece)
        return lines

    def _keep(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._lost is None:
            self._parts.append(piece)
            if self._size > self._max:
                self._lost = b"".join(self._parts)[:HEAD]
                self._parts = []

    def _take(self) -> bytes | TooLong | None:
        size, lost, line = self._size, self._lost, b"".join(self._parts)
        self.reset()
        if lost is not None:
            return TooLong(size, lost)
        line = line.removesuffix(b"\r")
        return line if line and not line.isspace() else None
