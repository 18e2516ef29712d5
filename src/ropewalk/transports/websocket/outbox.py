"""What we said to the CLI and can't be sure of yet. Pure: refuses to forget a line before the other side has confirmed it.

A broken link does not tell which of the last lines arrived: handed to the kernel is not read by the CLI. A WebSocket has the
answer built in: whoever gets a ping must send its payload back, in turn with what came before it. So each batch of frames is
followed by a ping with their number, and the pong confirms them. What is unconfirmed when the link breaks is sent again over the
next one, first and in order: at least once, never lost. That is harmless for all that we say: a prompt is known by its uuid and
not run again, an answer to a closed question is ignored, a request answered twice has its second answer dropped (measured
2.1.37 … 2.1.120). The one thing to know: an ``interrupt`` said in the last instant of a link may be heard twice.
"""

from __future__ import annotations

from collections import deque

FRAME = 64 * 1024
"""Waiting lines are joined up to this size; a longer line has a frame of its own."""


class Outbox:
    """Lines go from waiting (``put``) to doubtful (``take``) to gone (``confirm``), or back to waiting (``lost``)."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._doubtful: deque[tuple[int, bytes]] = deque()
        self._number = 0
        self.total = 0
        """Bytes ever put in."""
        self.size = 0
        """Bytes not confirmed yet, waiting and doubtful alike."""

    @property
    def waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._waiting)

    @property
    def mark(self) -> int:
        """The number of the last frame taken. A pong with it confirms everything up to that frame."""
        return self._number

    def put(self, lines: bytes) -> None:
        """Keep whole lines until they are confirmed."""
        self._waiting.append(lines)
        self.total += len(lines)
        self.size += len(lines)

    def take(self) -> bytes:
        """The next frame's payload; empty when nothing waits. Write it, then ping with ``mark``."""
        parts: list[bytes] = []
        length = 0
        while self._waiting and (not parts or length + len(self._waiting[0]) <= FRAME):
            parts.append(self._waiting.popleft())
            length += len(parts[-1])
        if not parts:
            return b""
        frame = parts[0] if len(parts) == 1 else b"".join(parts)
        self._number += 1
        self._doubtful.append((self._number, frame))
        return frame

    def confirm(self, mark: int) -> None:
        """A pong came back: forget the frames up to ``mark``."""
        while self._doubtful and self._doubtful[0][0] <= mark:
            self.size -= len(self._doubtful.popleft()[1])

    def lost(self) -> None:
        """The link broke: what is unconfirmed waits again, before everything else."""
        self._waiting.extendleft(frame for _, frame in reversed(self._doubtful))
        self._doubtful.clear()
