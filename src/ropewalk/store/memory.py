"""A store that forgets: the same rules as on a file, in memory, on the loop, without a thread. For tests, ours and yours.

It is SQLite too, without the disk: what a condition, a fence or a search means is written once. Refuses to be durable.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

from ropewalk.errors import StoreUnavailable
from ropewalk.store.base import Entry, Health, HealthState, Searched, Size, Stored
from ropewalk.store.delivery import Delivery, Pending
from ropewalk.store.sqlite import reading
from ropewalk.store.sqlite.answers import Answers
from ropewalk.store.sqlite.ledger import Ledger
from ropewalk.store.sqlite.migrations import migrate
from ropewalk.store.sqlite.searching import Index

P = ParamSpec("P")
T = TypeVar("T")


@asynccontextmanager
async def open_memory(*, searched: Searched | None = None, queue_bytes: int = 64 * 1024 * 1024) -> AsyncIterator[MemoryStore]:
    """A new, empty one; gone at the end."""
    store = MemoryStore(searched or {}, queue_bytes)
    try:
        yield store
    finally:
        store.close()


class MemoryStore(Answers):
    """``base.Store``. ``fall_ill`` and ``get_well`` play a disk."""

    def __init__(self, searched: Searched, queue_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._searched = searched
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        migrate(self._connection)
        self._ledger = Ledger(self._connection)
        self._index = Index(self._connection, searched)
        self._delivery = Delivery(queue_bytes)
        self._waiting: list[Pending] = []
        self._health = Health("well", "", time.time())

    def close(self) -> None:
        self._flush()
        self._delivery.closed = True
        self._connection.close()

    def fall_ill(self, state: HealthState, why: str) -> None:
        """As if the disk were so: facts wait, wishes fail."""
        self._health = Health(state, why, time.time())
        wishes = [pending for pending in self._waiting if not pending.entry.keep]
        self._waiting = [pending for pending in self._waiting if pending.entry.keep]
        self._loop.call_soon(self._delivery.tell, [(pending, StoreUnavailable(why, state)) for pending in wishes])
        self._loop.call_soon(self._delivery.feel, self._health)

    def get_well(self) -> None:
        self._health = Health("well", "", time.time())
        self._loop.call_soon(self._delivery.feel, self._health)
        self._loop.call_soon(self._flush)

    @property
    def health(self) -> Health:
        return self._health

    @property
    def full(self) -> bool:
        return self._delivery.full

    def append(self, entry: Entry) -> asyncio.Future[Stored]:
        future: asyncio.Future[Stored] = self._loop.create_future()
        self._put(self._delivery.accept(entry, self._health, future))
        return future

    def post(self, entry: Entry) -> None:
        self._put(self._delivery.accept(entry, self._health, None))

    def _put(self, pending: Pending | None) -> None:
        if pending is not None:
            if not self._waiting:
                self._loop.call_soon(self._flush)
            self._waiting.append(pending)

    def _flush(self) -> None:
        if not self._health.well or not self._waiting:
            return
        batch, self._waiting = self._waiting, []
        outcomes = self._ledger.commit([pending.entry for pending in batch])
        self._index.grew(self._connection, self._ledger.grown)
        self._ledger.grown.clear()
        while self._index.due:
            self._index.work(self._connection)
        self._delivery.tell(list(zip(batch, outcomes, strict=True)))

    def watch(self, on_health: Callable[[Health], None], on_room: Callable[[], None] | None = None) -> Callable[[], None]:
        return self._delivery.watch(on_health, on_room)

    async def raise_epochs(self, owner: str = "") -> dict[str, int]:
        await self.settled()
        return self._ledger.raise_epochs(owner)

    async def settled(self) -> None:
        await self.append(Entry(keep=True))

    async def _ask(self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        try:
            return question(self._connection, *args, **named)
        finally:
            self._connection.set_progress_handler(None, 0)

    async def size(self) -> Size:
        sessions, behind, held = reading.sizes(self._connection)
        return Size(held, sessions, self._delivery.waiting, behind if self._searched else 0)
