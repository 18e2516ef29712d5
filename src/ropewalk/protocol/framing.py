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

    __slots__ = ("_begun", "_last", "_lost", "_max")

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self._max = max_line
        self._begun = bytearray()  # a line whose end has not come; of one that is being dropped only the head
        self._lost, self._last = 0, b""  # of a line that is being dropped: its bytes so far, and the last of them

    def feed(self, chunk: bytes) -> list[bytes | TooLong]:
        """The lines that ``chunk`` completes. Lines of blanks alone may be among them: they cost a test that only they need."""
        pieces = chunk.split(b"\n")
        if len(pieces) == 1:
            self._keep(chunk)
            return []
        rest = pieces.pop()
        first: list[bytes | TooLong] = []
        if self._begun:
            self._keep(pieces.pop(0))
            first = self._take()
        if b"\r" not in chunk and len(chunk) <= self._max:  # the plain case, without a loop of ours
            lines: list[bytes | TooLong] = pieces if all(pieces) else [piece for piece in pieces if piece]  # type: ignore[assignment]
        else:
            lines = self._whole(pieces)
        if first:
            lines[:0] = first
        if rest:
            self._keep(rest)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """At the end of the stream: a last line without a newline counts too."""
        return self._take()

    def reset(self) -> None:
        """Forget half a line: the link broke, its end will not come."""
        self._begun, self._lost, self._last = bytearray(), 0, b""

    def _whole(self, pieces: list[bytes]) -> list[bytes | TooLong]:
        lines: list[bytes | TooLong] = []
        for piece in pieces:
            line = piece.removesuffix(b"\r")
            if len(line) > self._max:
                lines.append(TooLong(len(line), line[:HEAD]))
            elif line:
                lines.append(line)
        return lines

    def _keep(self, piece: bytes) -> None:
        if self._lost:
            self._lost += len(piece)
            self._begun += piece[: max(0, HEAD - len(self._begun))]
            self._last = piece[-1:] or self._last
            return
        self._begun += piece
        if len(self._begun) > self._max + 1:  # one more than the cap: its last byte may turn out to be the ``\r`` of a line end
            self._lost, self._last = len(self._begun), piece[-1:]
            del self._begun[HEAD:]

    def _take(self) -> list[bytes | TooLong]:
        """The line that was begun, now that its end has come."""
        begun, size = bytes(self._begun), self._lost - (self._last == b"\r")
        lost = self._lost > 0
        self.reset()
        return [TooLong(size, begun[:size])] if lost else self._whole([begun])
