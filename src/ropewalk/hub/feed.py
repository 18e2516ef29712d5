"""Who hears what: history first, then what happens, each event once and in order. Refuses to wait for a slow listener.

A listener that falls behind is no longer pushed to: it is read to from the store, at its own pace, and joins again when it has
caught up. One that takes nothing for too long is cut off; it may come back with its last seq and miss nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import AsyncExitStack
from typing import Protocol, Self

from .calls import Listener

Told = list[tuple[int, bytes]]


class ReadEvents(Protocol):
    """From the store; ``most`` is the bytes after which a page ends."""

    def __call__(self, session: str, after: int, limit: int, *, most: int) -> Awaitable[Told]: ...


PAGE = 500
ROOM = 256 * 1024
"""Bytes that a listener may have before it; past it the rest is left in the store."""
LOOK, SELDOM = 0.01, 0.2
"""Seconds between two looks whether a listener has room again: at first, and after a while."""
PATIENCE = 18.0
"""Seconds in which a listener must have taken something."""

LISTED = frozenset({
    "session_created", "session_changed", "status_changed", "question_opened", "question_closed", "turn_ended", "failed",
    "mode_changed", "model_changed", "prompt_queued",
})  # fmt: skip
"""What changes the list of sessions or the inbox."""


class Ear:
    """One listener of one session."""

    __slots__ = ("_feed", "at", "closed", "listener", "reading", "session")

    def __init__(self, feed: Feed, session: str, after: int, listener: Listener) -> None:
        self._feed, self.session, self.at, self.listener = feed, session, after, listener
        self.reading = True  # history is being read to it; what happens meanwhile is in the store
        self.closed = False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._feed.forget(self)


class EveryEar:
    """A listener of the list and the inbox."""

    __slots__ = ("_feed", "closed", "listener")

    def __init__(self, feed: Feed, listener: Listener) -> None:
        self._feed, self.listener, self.closed = feed, listener, False

    def close(self) -> None:
        self.closed = True
        self._feed.every.discard(self)


class Feed:
    """Use it as a context: it owns the tasks that read history to listeners."""

    def __init__(self, read: ReadEvents) -> None:
        self._read = read
        self._ears: dict[str, set[Ear]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last: dict[str, int] = {}
        self._due: dict[str, Told] = {}
        self.every: set[EveryEar] = set()
        self.told = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Whoever still listens is told to come back."""
        self._tell_due()
        for ear in [ear for ears in self._ears.values() for ear in ears]:
            ear.closed = True
            ear.listener.cut("the hub is restarting")
        for every in list(self.every):
            every.listener.cut("the hub is restarting")
        async with AsyncExitStack() as stack:
            for task in list(self._tasks):
                task.cancel()
                stack.push_async_callback(_ended, task)

    @property
    def listeners(self) -> int:
        return sum(map(len, self._ears.values())) + len(self.every)

    def heard(self, session: str) -> bool:
        """Whether anybody listens to this session now."""
        return session in self._ears

    def subscribe(self, session: str, after: int, listener: Listener) -> Ear:
        ear = Ear(self, session, after, listener)
        self._ears.setdefault(session, set()).add(ear)
        self._catch_up(ear)
        return ear

    def subscribe_all(self, listener: Listener) -> EveryEar:
        ear = EveryEar(self, listener)
        self.every.add(ear)
        return ear

    def forget(self, ear: Ear) -> None:
        ears = self._ears.get(ear.session)
        if ears is not None:
            ears.discard(ear)
            if not ears:
                del self._ears[ear.session]
                self._last.pop(ear.session, None)

    # -- told after the commit

    def publish(self, session: str, events: Told) -> None:
        """What one commit brought of a session goes out together, as soon as all of it was published: one write for each ear."""
        if session not in self._ears or not events:
            return
        if (due := self._due.get(session)) is not None:
            due += events
            return
        if not self._due:
            asyncio.get_running_loop().call_soon(self._tell_due)
        self._due[session] = list(events)

    def _tell_due(self) -> None:
        due, self._due = self._due, {}
        for session, events in due.items():
            self._tell(session, events)

    def _tell(self, session: str, events: Told) -> None:
        ears = self._ears.get(session)
        if not ears:
            return
        self._last[session] = events[-1][0]
        for ear in list(ears):
            if ear.reading:
                continue
            if ear.listener.backlog > ROOM or events[0][0] > ear.at + 1:  # a gap is read from the store, whatever made it
                self._catch_up(ear)
                continue
            # what was committed can be read before it is published: such an ear has some of it already
            fresh = events if events[0][0] > ear.at else [told for told in events if told[0] > ear.at]
            if fresh:
                ear.at = fresh[-1][0]
                self.told += len(fresh)
                ear.listener.told(session, fresh)

    def publish_live(self, session: str, events: list[bytes]) -> None:
        if (due := self._due.pop(session, None)) is not None:
            self._tell(session, due)  # a live event names the last seq before it
        for ear in list(self._ears.get(session, ())):
            if not ear.reading and not ear.listener.backlog:
                ear.listener.live(session, events)

    def publish_list(self, session: str, events: Iterable[tuple[str, int, bytes]]) -> None:
        """(kind, seq, body) of one session; those that change lists go to whoever watches all sessions."""
        if not self.every:
            return
        listed = [(seq, body) for kind, seq, body in events if kind in LISTED]
        if not listed:
            return
        for ear in list(self.every):
            if ear.listener.backlog > 4 * ROOM:
                ear.close()
                ear.listener.cut("you fell behind; come back and ask for the list again")
            else:
                ear.listener.told(session, listed)

    # -- read from the store

    def _catch_up(self, ear: Ear) -> None:
        ear.reading = True
        task = asyncio.get_running_loop().create_task(self._read_to(ear))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_to(self, ear: Ear) -> None:
        """Pages by their bytes: none puts more than ``ROOM`` and one event before a listener."""
        while not ear.closed and await self._has_room(ear):
            page = await self._read(ear.session, ear.at, PAGE, most=ROOM)
            if page and not ear.closed:
                ear.at = page[-1][0]
                self.told += len(page)
                ear.listener.told(ear.session, page)
            elif ear.at >= self._last.get(ear.session, 0):
                ear.reading = False  # nothing was told since that read: from here on it is pushed to
                return

    async def _has_room(self, ear: Ear) -> bool:
        """Wait until the listener took most of what it has; False when it was cut off for taking nothing."""
        loop = asyncio.get_running_loop()
        before, since, pause = ear.listener.backlog, loop.time(), LOOK
        while before > ROOM // 2 and not ear.closed:
            await asyncio.sleep(pause)
            pause = min(2 * pause, SELDOM)
            now = ear.listener.backlog
            if now < before:
                since, pause = loop.time(), LOOK
            before = now
            if loop.time() - since > PATIENCE:
                ear.close()
                ear.listener.cut(f"nothing was taken for {PATIENCE:.0f} seconds; come back with your last seq")
        return not ear.closed


async def _ended(task: asyncio.Task[None]) -> None:
    await asyncio.gather(task, return_exceptions=True)
