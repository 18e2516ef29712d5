"""Our ends of a child's pipes: read straight from the loop, written without ever blocking. Knows bytes, no processes, no lines.

Plain ``loop.add_reader`` and ``os.read`` of 64 KiB: a tenth cheaper than asyncio's own pipe transports, on a par with uvloop's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from ropewalk.transports.handover import Handover

READ_SIZE = 65536
"""As much as a pipe holds. More (asyncio reads 256 KiB) gains nothing and can be an mmap a read: seen, a quarter of the speed."""

REST = 1024 * 1024
"""The most that a pipe holds (/proc/sys/fs/pipe-max-size as shipped): where reading a dead process's rest ends at the latest."""


class PipeReader:
    """Hands over what comes, from the loop's callback. Closes itself at the end of the pipe, then calls ``on_closed``."""

    __slots__ = ("_fd", "_loop", "_on_bytes", "_on_closed", "_reading", "_size", "reads")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_bytes: Callable[[bytes], object],
        on_closed: Callable[[], None],
        size: int = READ_SIZE,
    ) -> None:
        self._loop, self._fd, self._size = loop, fd, size
        self._on_bytes, self._on_closed = on_bytes, on_closed
        self.reads = 0
        if fd >= 0:
            os.set_blocking(fd, False)
        self._reading = False
        self.resume()

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    @property
    def descriptor(self) -> int:
        """-1 when it is closed."""
        return self._fd

    def pause(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def resume(self) -> None:
        if not self._reading and self._fd >= 0:
            self._loop.add_reader(self._fd, self._ready)
            self._reading = True

    def read_rest(self) -> None:
        """Hand over what is in the pipe now, paused or not. For when its writer is gone: others may hold it open for ever."""
        left = REST
        while left > 0 and self._fd >= 0 and (got := self._ready()):
            left -= got

    def close(self) -> None:
        if self._fd >= 0:
            self.pause()
            os.close(self._fd)
            self._fd = -1

    def _ready(self) -> int:
        """Read once; the number of bytes, 0 when there were none or the pipe has ended."""
        try:
            data = os.read(self._fd, self._size)
        except BlockingIOError:
            return 0
        if data:
            self.reads += 1
            self._on_bytes(data)
            return len(data)
        self.close()
        self._on_closed()
        return 0


class PipeWriter:
    """Writes at once when the pipe takes it, keeps the rest in order. A reader that has gone is no error: its exit will tell."""

    __slots__ = ("_closing", "_fd", "_handover", "_loop", "_lost", "_queue")

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int) -> None:
        self._loop, self._fd = loop, fd
        self._queue: bytearray | None = None
        self._lost = 0
        self._closing = fd < 0
        self._handover = Handover()
        if fd >= 0:
            os.set_blocking(fd, False)

    @property
    def descriptor(self) -> int:
        """-1 when it is closed."""
        return self._fd

    @property
    def queued(self) -> bytes:
        """What was sent and not taken: whoever inherits the descriptor sends it first."""
        return bytes(self._queue or b"")

    @property
    def closing(self) -> bool:
        return self._closing

    @property
    def unsent(self) -> int:
        return self._lost + (len(self._queue) if self._queue is not None else 0)

    def send(self, data: bytes) -> None:
        if self._queue is not None:
            self._queue += data
        elif self._fd < 0:
            self._lost += len(data)
        else:
            self._write_first(data)

    async def drain(self) -> None:
        """Wait until what was sent so far is handed over; raises what ``end`` was given when that comes first."""
        await self._handover.wait(self.unsent)

    def close(self) -> None:
        """Close after what was sent. The other side then reads its end of file."""
        self._closing = True
        if self._queue is None:
            self._shut()

    def end(self, why: Callable[[], Exception]) -> None:
        """Nobody reads any more: give up what is left and fail who waits for it."""
        self._closing = True
        self._shut()
        self._handover.fail(why)

    def _write_first(self, data: bytes) -> None:
        try:
            count = os.write(self._fd, data)
        except BlockingIOError:
            count = 0
        except OSError:
            self._lost += len(data)
            self._shut()
            return
        if count < len(data):
            self._queue = bytearray(memoryview(data)[count:])
            self._loop.add_writer(self._fd, self._write_more)

    def _write_more(self) -> None:
        assert self._queue is not None  # the loop calls us only while something waits
        try:
            count = os.write(self._fd, self._queue)
        except BlockingIOError:
            return
        except OSError:
            self._shut()
            return
        del self._queue[:count]
        self._handover.took(count)
        if not self._queue:
            self._loop.remove_writer(self._fd)
            self._queue = None
            if self._closing:
                self._shut()

    def _shut(self) -> None:
        if self._fd < 0:
            return
        if self._queue is not None:
            self._loop.remove_writer(self._fd)
            self._lost += len(self._queue)
            self._queue = None
        os.close(self._fd)
        self._fd = -1
