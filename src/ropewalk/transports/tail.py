"""The last words on stderr: a bounded tail of lines. Refuses to judge them: text there is no failure by itself."""

from __future__ import annotations

from collections import deque

LINES = 200
LINE_BYTES = 4096
"""Longer lines are cut: a program that never ends its line must not fill our memory."""


class StderrTail:
    """Fed with bytes in any chunking; ``lines`` gives the newest ones, colours and control characters as they came."""

    __slots__ = ("_cut", "_last", "_open")

    def __init__(self) -> None:
        self._last: deque[str] = deque(maxlen=LINES)
        self._open = b""
        self._cut = 0

    def feed(self, data: bytes) -> None:
        *whole, rest = data.split(b"\n")
        for line in whole:
            self._extend(line)
            self._last.append(self._text())
            self._open, self._cut = b"", 0
        self._extend(rest)

    def lines(self) -> tuple[str, ...]:
        """The last lines, with the one that was not finished."""
        unfinished = (self._text(),) if self._open else ()
        return (*self._last, *unfinished)[-LINES:]

    def _extend(self, piece: bytes) -> None:
        room = LINE_BYTES - len(self._open)
        self._open += piece[:room]
        self._cut += max(0, len(piece) - room)

    def _text(self) -> str:
        text = self._open.removesuffix(b"\r").decode("utf-8", "replace")
        return f"{text}… ({self._cut} bytes more)" if self._cut else text
