"""What we say to the CLI over links that break. Pure: refuses to forget a line that was not written, and to repeat one that was.

Which of the last lines arrived, a broken link does not tell: handed to the kernel is not read by the CLI. So each batch of frames
is followed by a ping with its number; the pong comes back in turn, and confirms that all before it was read (measured 2.1.37,
2.1.62, 2.1.120). What is unconfirmed when the link breaks is in doubt, and it is the owner of the transport who says it again:
only its meaning tells whether that is safe. Prompts are, a uuid is run once. Requests without an answer are said again anyway,
for the answer may be what was lost. Answers are not: 2.1.37 runs a tool twice when an allow with its toolUseID comes twice; the
second ``initialize`` lists the questions that are still open, and only those are answered again.
"""

from __future__ import annotations

from collections import deque

FRAME = 64 * 1024
"""Waiting lines are joined up to this size; a longer line has a frame of its own."""


class Outbox:
    """Lines go from waiting (``put``) to doubtful (``take``) to gone (``confirm``), or to in doubt (``lost``, ``write_off``)."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque()
        self._doubtful: deque[tuple[int, int]] = deque()
        self._number = 0
        self.total = 0
        """Bytes ever put in."""
        self.size = 0
        """Bytes that the CLI has not read as far as we know: waiting, taken, or in doubt."""
        self.in_doubt = 0
        """Bytes taken for a link that broke, and not confirmed."""

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
        self._doubtful.append((self._number, length))
        return frame

    def confirm(self, mark: int) -> None:
        """A pong came back: forget the frames up to ``mark``."""
        while self._doubtful and self._doubtful[0][0] <= mark:
            self.size -= self._doubtful.popleft()[1]

    def lost(self) -> None:
        """The link broke: what was taken and not confirmed is in doubt. What waits goes on waiting."""
        self.in_doubt += sum(length for _, length in self._doubtful)
        self._doubtful.clear()

    def write_off(self) -> None:
        """There is a new link: what is in doubt will never be confirmed."""
        self.size -= self.in_doubt
        self.in_doubt = 0
