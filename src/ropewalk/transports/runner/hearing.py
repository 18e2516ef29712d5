"""One process's lines on their way to who hears them: pieces in, whole numbered lines out. No I/O; refuses a gap and a repeat."""

from __future__ import annotations

from ropewalk.errors import LinkBroken
from ropewalk.transports.base import End
from ropewalk.transports.frames import Dropped, Ended, Said
from ropewalk.transports.runner.receiver import LinesReceiver


class Hearing:
    """What one receiver has heard of one process. ``serial`` is the attachment whose frames count; 0: none is awaited."""

    __slots__ = ("_partial", "_size", "awaited", "next", "over", "process", "receiver")

    def __init__(self, process: str, after: int, receiver: LinesReceiver) -> None:
        self.process, self.receiver = process, receiver
        self.next = after + 1
        """The number of the line that comes next."""
        self._partial: list[bytes] = []
        self._size = 0
        self.awaited = 0
        self.over = False

    def attached_anew(self, serial: int) -> None:
        """Until the runner says ``Attached`` with this serial, what comes belongs to an earlier attachment."""
        self.awaited = serial
        self._partial, self._size = [], 0

    def attached(self, serial: int) -> None:
        if serial == self.awaited:
            self.awaited = 0

    def said(self, frame: Said, data: bytes) -> None:
        if self.over or self.awaited:
            return
        if (frame.line, frame.offset) != (self.next, self._size):
            raise LinkBroken(
                f"the runner said byte {frame.offset} of line {frame.line} of {self.process}, "
                f"where byte {self._size} of line {self.next} was due"
            )
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._partial.append(data)
            self._size += len(data)
            return
        whole = data if cut == len(data) else data[:cut]
        if self._partial:
            whole = b"".join([*self._partial, whole])
        self._partial = [data[cut:]] if cut < len(data) else []
        self._size = len(data) - cut
        first, self.next = self.next, self.next + whole.count(b"\n")
        self.receiver.lines(first, whole)

    def dropped(self, frame: Dropped, beginning: bytes) -> None:
        if self.over or self.awaited:
            return
        if frame.first != self.next:
            raise LinkBroken(f"the runner dropped line {frame.first} of {self.process}, where line {self.next} was due")
        self._partial, self._size = [], 0
        self.next += frame.count
        self.receiver.dropped(frame.first, frame.count, frame.size, beginning, frame.why)

    def ended(self, frame: Ended) -> None:
        if not self.awaited:
            self.end(End(frame.code, frame.why, frame.stderr))

    def end(self, end: End) -> None:
        """Exactly once, whoever says it first."""
        if not self.over:
            self.over = True
            self.receiver.ended(end, self.next - 1)
