"""The owner of what runs beside the loop's callbacks: ends it all at the end, and sees it fail. Refuses to lose an exception."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

from ..errors import Conflict

T = TypeVar("T")


class Tasks:
    """Use it as a context. ``failed`` hears what a task raised; the others go on."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self.failed = failed
        self._tasks: set[asyncio.Task[Any]] = set()
        self._over = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._over = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def to_its_end(self, work: Coroutine[Any, Any, T]) -> T:
        """What it comes to. Whoever waits here may be cut off: the work is done all the same."""
        if self._over:
            work.close()
            raise Conflict("the hub is stopping")
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Conflict("the hub is stopping") from None
            raise

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """None when all is being ended: then nothing new begins."""
        if self._over:
            work.close()
            return None
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failed(error)
