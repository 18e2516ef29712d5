"""When what was said is made safe against a power cut: 100 ms after it came, or at 64 KiB. The disk is waited for in a thread.

What a hub has acknowledged by then is not synced at all. One sync at a time for each spool: a slow disk delays nobody else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

DELAY = 0.1
ENOUGH = 64 * 1024


class Rhythm:
    """``dirty`` after each append. ``trouble`` is called with the reason when the disk fails, and with '' when it works again."""

    __slots__ = ("_bytes", "_descriptor", "_loop", "_needed", "_running", "_sync", "_timer", "_trouble", "_well")

    def __init__(
        self,
        descriptor: Callable[[], int],
        needed: Callable[[], bool],
        trouble: Callable[[str], None],
        sync: Callable[[int], None] = os.fdatasync,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor, self._needed, self._trouble, self._sync = descriptor, needed, trouble, sync
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

    def rolled(self) -> None:
        """To be called before the file changes: its bytes are synced through a descriptor of their own."""
        if self._bytes and self._running is None:
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
        descriptor = self._descriptor()
        if not self._bytes or descriptor < 0 or not self._needed():
            self._bytes = 0
            return
        self._bytes = 0
        copy = os.dup(descriptor)  # the spool may close its own meanwhile
        self._running = self._loop.run_in_executor(None, self._sync_and_close, copy)
        self._running.add_done_callback(self._done)

    def _sync_and_close(self, descriptor: int) -> None:
        try:
            self._sync(descriptor)
        finally:
            os.close(descriptor)

    def _done(self, running: asyncio.Future[None]) -> None:
        self._running = None
        error = running.exception() if not running.cancelled() else None
        if error is not None:
            self._well = False
            self._trouble(f"the disk of the spool fails: {error}")
            self._bytes = max(1, self._bytes)
        elif not self._well:
            self._well = True
            self._trouble("")
        if self._bytes and self._timer is None:
            self._timer = self._loop.call_later(DELAY, self._due)
        if self._bytes >= ENOUGH:
            self._go()
