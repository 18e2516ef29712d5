"""When what was said is made safe against a power cut: 100 ms after it came, or at 1 MiB. The disk is waited for in a thread.

One sync at a time for each spool: a slow disk delays nobody else. That a process dies needs no sync: its writes are the kernel's.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

DELAY = 0.1
ENOUGH = 1024 * 1024
"""In a flood smaller steps would sync without a pause, on the very disk on which the hub commits what it has heard."""


class Rhythm:
    """``dirty`` after each write. ``trouble`` is called with the reason when the disk fails, and with '' when it works again.

    ``take`` gives what is to be synced, as descriptors that are closed here; none when a hub has all of it.
    """

    __slots__ = ("_bytes", "_loop", "_running", "_sync", "_take", "_timer", "_trouble", "_well")

    def __init__(
        self, take: Callable[[], list[int]], trouble: Callable[[str], None], sync: Callable[[int], None] = os.fdatasync
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._take, self._trouble, self._sync = take, trouble, sync
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        self._well = True

    def dirty(self, count: int) -> None:
        self._bytes += count
        if self._timer is None:
            self._timer = self._loop.call_later(DELAY, self._due)
        if self._bytes >= ENOUGH and self._running is None:
            self._go()

    async def finish(self) -> None:
        """Sync what is left, now, and wait for it."""
        if self._running is not None:
            await asyncio.wait({self._running})
        self._go()
        if self._running is not None:
            await asyncio.wait({self._running})
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if self._running is None:
            self._go()

    def _go(self) -> None:
        if not self._bytes:
            return
        self._bytes = 0
        descriptors = self._take()
        if not descriptors:
            self._works()
            return
        self._running = self._loop.run_in_executor(None, self._sync_and_close, descriptors)
        self._running.add_done_callback(self._done)

    def _sync_and_close(self, descriptors: list[int]) -> None:
        try:
            for descriptor in descriptors:
                self._sync(descriptor)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _done(self, running: asyncio.Future[None]) -> None:
        self._running = None
        error = running.exception() if not running.cancelled() else None
        if error is None:
            self._works()
        else:
            self._well = False
            self._trouble(f"the disk of the spool fails: {error}")
            self._bytes = max(1, self._bytes)  # to be tried again
        if self._bytes and self._timer is None:
            self._timer = self._loop.call_later(DELAY, self._due)
        if self._bytes >= ENOUGH:
            self._go()

    def _works(self) -> None:
        if not self._well:
            self._well = True
            self._trouble("")
