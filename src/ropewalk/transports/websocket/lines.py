"""Frames in, whole lines out. Pure: refuses to let half a line of a broken link run into the first line of the next."""

from __future__ import annotations

MAX_HELD = 64 * 1024 * 1024
"""Bytes of one line that we hold. A longer one is passed on as it comes: the reader of lines drops it and says so."""


class WholeLines:
    """The tail of a line waits here for its end. Real CLIs send one whole line a frame, so this is nearly always empty."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._flooding = False

    def feed(self, payload: bytes) -> bytes:
        """Take a frame's payload; give what ends with a newline."""
        if not self._held and payload.endswith(b"\n"):
            self._flooding = False
            return payload
        whole, newline, tail = payload.rpartition(b"\n")
        if newline:
            out = bytes(self._held) + whole + newline
            self._held[:] = tail
            self._flooding = False
            return out
        self._held += tail
        return self._overflow() if self._flooding or len(self._held) > MAX_HELD else b""

    def cut(self) -> tuple[bytes, int]:
        """The link broke. Gives what ends a line that was already passed on in part, and how many bytes are thrown away."""
        thrown, flooding = len(self._held), self._flooding
        self._held.clear()
        self._flooding = False
        return b"\n" if flooding else b"", thrown

    def _overflow(self) -> bytes:
        out = bytes(self._held)
        self._held.clear()
        self._flooding = True
        return out
