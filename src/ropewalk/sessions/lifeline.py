"""What the parts of a session's life know together: whether it starts, is being ended, is held for a person. Refuses to act."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .session import Session

FOUND_WITHIN = 10.0
"""Seconds that a request waits for a process of an earlier life of the hub to be heard again; a restart takes one or two."""
NOT_HEARD = "its runner is not heard now, so its process can be neither asked nor ended; try again when it is"


class Lifeline:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.stopping: str | None = None
        """Who ends the process now: "stop", "sleep" or "afresh"."""
        self._stopped_by = ""
        self._calm = asyncio.Event()  # nobody ends the process now
        self._calm.set()
        self._start_of: asyncio.Future[None] | None = None  # a start under way, and how it ends
        self._up = asyncio.Event()  # no start is under way: it listens, or there is none
        self._up.set()
        self._held = False  # a prompt was lost, or a start failed for good: the queue waits for a person
        self._rest: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()  # one for each process: it is gone, and its end is stored
        self._found = asyncio.Event()  # the process that the row names is heard, or known to be gone
        self._quiet = asyncio.Event()
        self._wakers: list[asyncio.Future[asyncio.Future[None]]] = []  # people who wait for a place among the processes
        self._room_in_sight = False  # another one goes to sleep to make a place
        self._lost: list[str] = []  # prompts of a process that was killed: the CLI's own record may not hold them

    @property
    def asleep(self) -> bool:
        """No process, and none that may live: the row names one until it is known to be gone."""
        return self._session.wire is None and self._start_of is None and self._session.row.process is None

    @property
    def starting(self) -> bool:
        """A start of ours is under way: what its row names is not known to the runner yet."""
        return self._start_of is not None

    async def come_up(self) -> None:
        """A start under way, or a process that is looked for, is waited for: what is asked of it then reaches it."""
        await self.found()
        await self._up.wait()

    async def found(self) -> None:
        """Wait a little for a process of an earlier life of the hub: soon after a restart it is heard, or known to be gone."""
        if self._session.wire is None and self._session.row.process is not None and not self.starting:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FOUND_WITHIN):
                    await self._found.wait()

    def wanted_again(self) -> None:
        """A person sent or asked for something: what was held back may go on."""
        self._held = False

    def waits_no_more(self) -> None:
        """A process may be wanted no more: then it leaves the row of those who wait for a place."""
        session = self._session
        if (self._held or not (session.queue or self._wakers)) and session.world.slots.wait_no_more(session.id):
            session.board.not_started()
            session.settle()

    def _stops(self, who: str | None, by: str = "") -> None:
        """From now on the process is being ended, or (None) it is no more: gone, or its runner could not be told."""
        self.stopping, self._stopped_by = who, by
        if who is None:
            self._calm.set()
        else:
            self._calm.clear()

    def _no_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
