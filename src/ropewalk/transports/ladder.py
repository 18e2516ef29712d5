"""The stop ladder: close the input, TERM, KILL, survivors; each rung bounded and told, one climb for everybody who asks.

It knows nobody's pipes or pids: what is stopped is a ``Stoppable``. It refuses to be given up half-way: a caller that is
cancelled leaves the climb going, and a loop that is torn down ends everything at once.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ropewalk.errors import LinkBroken

INPUT_CLOSED = "input closed"
TERMINATE = "terminate"
KILL = "kill"
SURVIVORS = "survivors"

LOOK_AGAIN = 0.02
"""Seconds between two looks at survivors, which are not our children: nobody tells us when they end."""


@dataclass(frozen=True, slots=True)
class Graces:
    """Seconds that each rung may take; the first one is the caller's ``patience``."""

    terminate: float = 5.0
    """2.1.37 and 2.1.62 take 2–4 s to go after TERM (measured)."""
    kill: float = 5.0
    """A killed process needs milliseconds; this long only when the kernel is waiting for a disk."""
    survivors: float = 2.0
    """Between TERM and KILL for what the CLI left behind: commands, servers."""
    quiet: float = 0.5
    """How long the pipes of an ended CLI must be silent before we stop reading: its children may hold them open for ever."""
    quiet_at_most: float = 2.0
    """… and when its children never fall silent."""
    mute: float = 10.0
    """How long a CLI that has closed its output may live on: nothing more can come of it."""


class Relatives(Protocol):
    """Whoever descends from it (``descendants.Family``)."""

    def note(self) -> list[int]: ...
    def left(self) -> list[int]: ...
    def signal(self, number: int) -> object: ...


class Stoppable(Protocol):
    """What a ladder is put against."""

    @property
    def gone(self) -> asyncio.Future[None]:
        """Done when it has exited."""

    @property
    def relatives(self) -> Relatives: ...

    def close_input(self) -> None: ...

    def signal(self, number: int) -> None:
        """Nothing happens when it has exited already."""

    def kill_now(self) -> None:
        """End it without the loop's help: the loop is going away."""


class Ladder:
    """``climb`` as often as you like: callers at the same time share one climb; after a failed one it begins anew."""

    __slots__ = ("_failure", "_graces", "_hurry", "_listeners", "_subject", "_task", "_until")

    def __init__(self, subject: Stoppable, graces: Graces) -> None:
        self._subject, self._graces = subject, graces
        self._listeners: list[Callable[[str], None]] = []
        self._task: asyncio.Task[None] | None = None
        self._failure: str | None = None
        self._hurry: asyncio.Future[None] | None = None
        self._until = 0.0

    @property
    def begun(self) -> bool:
        return self._task is not None

    def begin(self, patience: float) -> None:
        """Climb, and nobody waits for it."""
        self._join(patience)

    async def climb(self, patience: float, on_rung: Callable[[str], None] | None) -> None:
        """Returns when nothing is left; raises ``LinkBroken`` with the pids that KILL did not end. Less patience hurries it."""
        if on_rung is not None:
            self._listeners.append(on_rung)
        try:
            await asyncio.shield(self._join(patience))
        finally:
            if on_rung is not None:
                self._listeners.remove(on_rung)
        if self._failure is not None:
            raise LinkBroken(self._failure)

    def _join(self, patience: float) -> asyncio.Task[None]:
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        if self._task is None or (self._task.done() and self._failure is not None):
            self._failure, self._until, self._hurry = None, until, loop.create_future()
            self._task = loop.create_task(self._run())
        elif until < self._until and self._hurry is not None and not self._hurry.done():
            self._until = until
            self._hurry.set_result(None)
        return self._task

    async def _run(self) -> None:
        try:
            await self._end_it()
            await self._end_survivors()
        except LinkBroken as failure:
            self._failure = str(failure)
        except asyncio.CancelledError:
            self._failure = "the event loop was torn down while a CLI was being stopped"
            self._subject.kill_now()
            raise

    async def _end_it(self) -> None:
        await self._note()
        if not self._subject.gone.done():
            await self._tell(INPUT_CLOSED)
            self._subject.close_input()
            await self._patience()
        for rung, number, grace in (
            (TERMINATE, signal.SIGTERM, self._graces.terminate),
            (KILL, signal.SIGKILL, self._graces.kill),
        ):
            if not self._subject.gone.done():
                await self._note()
                await self._tell(rung)
                self._subject.signal(number)
                await asyncio.wait({self._subject.gone}, timeout=grace)
        if not self._subject.gone.done():
            raise LinkBroken("the CLI did not end, not even by KILL; the kernel may be waiting for a disk: call stop() again")

    async def _patience(self) -> None:
        clock = asyncio.get_running_loop()
        while not self._subject.gone.done() and (left := self._until - clock.time()) > 0:
            assert self._hurry is not None
            await asyncio.wait({self._subject.gone, self._hurry}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if self._hurry.done():
                self._hurry = clock.create_future()

    async def _end_survivors(self) -> None:
        if not await self._note():
            return
        await self._tell(SURVIVORS)
        for number, grace in ((signal.SIGTERM, self._graces.survivors), (signal.SIGKILL, self._graces.kill)):
            if await self._ended_by(number, grace):
                return
        left = self._subject.relatives.left()
        raise LinkBroken(f"these processes of the CLI can't be ended: {left}; end them yourself, or call stop() again")

    async def _ended_by(self, number: int, grace: float) -> bool:
        """Signal all, and whoever they start meanwhile; whether nobody is left in time."""
        clock = asyncio.get_running_loop()
        until = clock.time() + grace
        self._subject.relatives.signal(number)
        while self._subject.relatives.left() or await self._note():
            if clock.time() >= until:
                return False
            if number == signal.SIGKILL:
                self._subject.relatives.signal(number)
            await asyncio.sleep(LOOK_AGAIN)
        return True

    async def _note(self) -> list[int]:
        """In a thread: on a machine with thousands of processes a look at all of them takes tens of milliseconds."""
        return await asyncio.to_thread(self._subject.relatives.note)

    async def _tell(self, rung: str) -> None:
        """Before it is taken, so that nobody hears of the end first."""
        loop = asyncio.get_running_loop()
        for listener in self._listeners:
            loop.call_soon(listener, rung)  # so that one that raises is the loop's to report and does not break the climb
        await asyncio.sleep(0)
