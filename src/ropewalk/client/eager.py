"""Starts a coroutine at once instead of at the loop's next turn: an answer that needs no waiting costs none. Refuses to own it.

Python 3.12 has this by itself. Python 3.11, where it can't change any more, gets a spare task that is parked: the first step runs
in its name and context, so time-outs, task groups and context variables see one and the same task throughout.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextvars import copy_context
from types import coroutine
from typing import Any

Work = Coroutine[Any, Any, None]


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that we are called from; None from outside of one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class Starter:
    """``begin`` gives the task in which the work goes on, or None when it is done already. ``close`` ends what is parked."""

    __slots__ = ("_spare",)

    def __init__(self) -> None:
        self._spare: _Spare | None = None

    def begin(self, work: Work) -> asyncio.Task[None] | None:
        loop = asyncio.get_running_loop()
        if sys.version_info >= (3, 12):
            task = asyncio.Task(work, loop=loop, eager_start=True)
            return None if task.done() else task
        spare = self._spare
        if spare is None or not spare.parked or asyncio.current_task() is not None:
            if spare is None:
                self._spare = _Spare(loop)
            return loop.create_task(work)
        task = spare.begin(work)
        if task is not None:
            self._spare = _Spare(loop)
        return task

    def close(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.task.cancel()


class _Spare:
    """A task that waits for work that has begun."""

    __slots__ = ("_context", "_handed", "_loop", "parked", "task")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._context = copy_context()
        self._handed: asyncio.Future[tuple[Work, Any]] = loop.create_future()
        self.parked = False
        self.task: asyncio.Task[None] = loop.create_task(self._live(), context=self._context)

    def begin(self, work: Work) -> asyncio.Task[None] | None:
        """Run the first step. The task takes over what is left of it and is used up; None when nothing is left."""
        asyncio.tasks._enter_task(self._loop, self.task)
        try:
            waits_for = self._context.run(work.send, None)
        except (StopIteration, asyncio.CancelledError):  # it is done, or cancelled itself; either way it has said what it had to
            return None
        finally:
            asyncio.tasks._leave_task(self._loop, self.task)
        self.parked = False
        self._handed.set_result((work, waits_for))
        return self.task

    async def _live(self) -> None:
        self.parked = True
        try:
            work, waits_for = await self._handed
        except asyncio.CancelledError:
            if self._handed.done() and not self._handed.cancelled():
                self._handed.result()[0].throw(asyncio.CancelledError())
            raise
        await _carry_on(work, waits_for)


@coroutine
def _carry_on(work: Work, waits_for: Any) -> Generator[Any, Any, None]:
    """Drive work that has begun and now waits for something."""
    failed: BaseException | None
    while True:
        try:
            heard = yield waits_for
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the work's own
            heard, failed = None, error
        else:
            failed = None
        try:
            waits_for = work.send(heard) if failed is None else work.throw(failed)
        except StopIteration:
            return
