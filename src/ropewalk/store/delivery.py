"""The loop's side of a store: what waits, who hears of it. Refuses threads: everything here happens on the loop.

One entry's listener can't harm another's: what a callback raises goes to the loop's exception handler.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

from msgspec import Struct

from ropewalk.errors import StoreUnavailable
from ropewalk.store.base import Entry, Health, Put, Stored
from ropewalk.turns import SLICE, after_others

EVENT_BYTES = 512
"""What an event without its line is taken to weigh."""

KEEP_UP = "the disk does not keep up with what is to be stored; try again in a moment"


class Pending(Struct):
    """An entry on its way, with who waits for it."""

    entry: Entry
    size: int
    future: asyncio.Future[Stored] | None = None


Outcome = Stored | Exception
Told = tuple[Pending, Outcome]


class Delivery:
    """``accept`` on the way in, ``tell`` on the way out."""

    def __init__(self, queue_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue_bytes = queue_bytes
        self._watchers: list[tuple[Callable[[Health], None], Callable[[], None] | None]] = []
        self._was_full = False
        self._untold: deque[Told | Health] = deque()
        self._going = False  # telling, or about to go on with it
        self.waiting = 0
        self.closed = False
        """Nothing is taken any more, and what is told is told at once: the loop may not turn again."""

    @property
    def full(self) -> bool:
        return self.waiting > self._queue_bytes

    def accept(self, entry: Entry, health: Health, future: asyncio.Future[Stored] | None) -> Pending | None:
        """None: it was refused, and hears of it soon. Facts are never refused, but by a store that is closed."""
        pending = Pending(entry, size_of(entry), future)
        if self.closed or (not entry.keep and (self.full or not health.well)):
            why = "the store is closed" if self.closed else health.why or KEEP_UP
            self._loop.call_soon(self._tell_one, pending, StoreUnavailable(why, health.state))
            return None
        self.waiting += pending.size
        self._was_full = self._was_full or self.full
        return pending

    def tell(self, told: Sequence[Told]) -> None:
        """What came of these, in order; a slice of it now, the rest later: behind a flood, an interrupt must not wait."""
        self._untold += told
        if not self._going or self.closed:
            self._go_on()

    def feel(self, health: Health) -> None:
        """Heard of after all that was told before."""
        self._untold.append(health)
        if not self._going or self.closed:
            self._go_on()

    def _go_on(self) -> None:
        self._going = True
        untold, until = self._untold, monotonic() + SLICE
        while untold:
            told = untold.popleft()
            if isinstance(told, Health):
                self._tell_health(told)
            else:
                self.waiting -= told[0].size
                self._tell_one(*told)
            if monotonic() > until and not self.closed:
                break
        self._going = bool(untold)
        if untold:
            after_others(self._loop, self._go_on)
        self._make_room()

    def _make_room(self) -> None:
        if self._was_full and self.waiting <= self._queue_bytes // 2:
            self._was_full = False
            for _, on_room in list(self._watchers):
                if on_room is not None:
                    on_room()

    def _tell_one(self, pending: Pending, outcome: Outcome) -> None:
        entry, future = pending.entry, pending.future
        if isinstance(outcome, Stored):
            if entry.on_stored is not None:
                self._call(entry.on_stored, outcome)
            if future is not None and not future.done():
                future.set_result(outcome)
            return
        if entry.on_failed is not None:
            self._call(entry.on_failed, outcome)
        if future is not None:
            if not future.done():
                future.set_exception(outcome)
        elif entry.on_failed is None:
            self._loop.call_exception_handler({"message": "an entry could not be stored", "exception": outcome})

    def _call(self, hear: Callable[[Any], None], what: Outcome | Health) -> None:
        try:
            hear(what)
        except Exception as error:  # noqa: BLE001 - a listener's fault must not keep the others from hearing
            self._loop.call_exception_handler({"message": "a listener of the store raised", "exception": error})

    def _tell_health(self, health: Health) -> None:
        for on_health, _ in list(self._watchers):
            self._call(on_health, health)

    def watch(self, on_health: Callable[[Health], None], on_room: Callable[[], None] | None) -> Callable[[], None]:
        watcher = (on_health, on_room)
        self._watchers.append(watcher)

        def end() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)

        return end


def size_of(entry: Entry) -> int:
    size = EVENT_BYTES * len(entry.events)
    for line in entry.lines:
        size += len(line.raw)
    for change in entry.rows:
        if isinstance(change, Put):
            for value in change.values.values():
                if isinstance(value, str | bytes):
                    size += len(value)
    return size
