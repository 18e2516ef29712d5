"""The one thread that writes: everything that waits goes into the next commit, then it is told. Refuses to tell before.

When a commit fails, what it meant is in doubt until the file says. Facts (``keep``) then wait here and are tried again until
they are stored; wishes fail at once.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from msgspec import Struct

from ropewalk.errors import StoreUnavailable
from ropewalk.store.base import Health, Searched
from ropewalk.store.delivery import Pending, Told
from ropewalk.store.sqlite.hold import Hold
from ropewalk.store.sqlite.ledger import Ledger
from ropewalk.store.sqlite.searching import Index
from ropewalk.store.sqlite.sickness import Misplaced, diagnose

BATCH_ENTRIES, BATCH_BYTES = 2048, 4 * 1024 * 1024
"""A commit holds no more: telling of it must not hold up the loop (an interrupt has 100 ms)."""
RETRY_FIRST, RETRY_MOST = 0.05, 1.0
LOOK_EVERY = 2.0
"""Seconds without a commit after which the file is looked after all the same."""
INDEX_PAUSE, INDEX_PAUSE_IN_FLOOD = 0.1, 1.0
"""Seconds between two slices of the search index while entries come; with none coming it is filled without a pause."""


class Task(Struct):
    """Something else that only the writer may do: between two commits, alone."""

    run: Callable[[Ledger], Any]
    future: asyncio.Future[Any]


class Ears(Struct, frozen=True):
    """Who hears the writer; called in its thread."""

    told: Callable[[list[Told]], None]
    felt: Callable[[Health], None]
    done: Callable[[Task, object], None]
    damaged: Callable[[str], None]


class Writer:
    """``put`` from the loop; what comes of it goes to ``ears``, in order."""

    def __init__(self, path: Path, hold: Hold, searched: Searched, ears: Ears) -> None:
        self._path, self._hold, self._ears = str(path), hold, ears
        self._queue: SimpleQueue[Pending | Task | None] = SimpleQueue()
        self._index = Index(hold.connection, searched)
        self._next_index = 0.0
        self._tasks: list[Task] = []
        self._kept: list[Pending] = []
        self._doubt: tuple[int, list[Told]] | None = None
        self._closing = False
        self._idle = False
        self.health = Health("well", "", time.time())
        self._thread = threading.Thread(target=self._run, name="ropewalk-write", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, item: Pending | Task) -> None:
        self._queue.put(item)

    def close(self) -> None:
        """Store what waits, try once more what a sick disk refused, and end. Blocks: not from the loop."""
        self._queue.put(None)
        self._thread.join()

    # --- well

    def _run(self) -> None:
        try:
            while not self._closing:
                self._beat()
        except Exception as error:  # noqa: BLE001 - whoever waits for a dead thread waits for ever
            self._give_up(error)
        self._hold.close()

    def _beat(self) -> None:
        batch = self._take(LOOK_EVERY if not self._index.due else 0 if self._idle else INDEX_PAUSE)
        self._idle = not batch
        try:
            if batch:
                self._store(batch)
            elif not self._tasks:
                self._hold.check_place()
                if not self._index.due:
                    self._hold.rest()
            self._index_some()
        except (sqlite3.Error, Misplaced) as error:
            self._be_sick(error)
        self._run_tasks()

    def _give_up(self, error: Exception) -> None:
        """A fault of our own. Nothing more is stored, and everyone is told so, until the end."""
        why = f"storing has stopped by a fault in ropewalk itself ({type(error).__name__}: {error}); restart the hub"
        self.health = Health("failing", why, time.time())
        self._ears.felt(self.health)
        while True:
            self._fail(self._kept)
            self._fail_tasks()
            if self._closing:
                return
            self._kept = self._take(LOOK_EVERY)

    def _take(self, timeout: float) -> list[Pending]:
        """All that waits, up to a batch; waits for the first."""
        batch: list[Pending] = []
        held = 0
        try:
            item = self._queue.get(timeout=timeout)
            while isinstance(item, Pending):
                batch.append(item)
                held += item.size
                if len(batch) >= BATCH_ENTRIES or held >= BATCH_BYTES:
                    return batch
                item = self._queue.get_nowait()
        except Empty:
            return batch
        if item is None:
            self._closing = True
        else:
            self._tasks.append(item)
        return batch

    def _store(self, batch: list[Pending]) -> None:
        """Commit and tell. When it raises, the batch is in ``_kept``, and ``_doubt`` says what it may have come to."""
        self._kept = batch
        try:
            outcomes = self._hold.commit([pending.entry for pending in batch])
        except (sqlite3.Error, Misplaced):
            if (doubt := self._hold.ledger.doubt) is not None:
                self._doubt = doubt[0], list(zip(batch, doubt[1], strict=True))
            raise
        self._kept = []
        self._tell(list(zip(batch, outcomes, strict=True)))

    def _tell(self, told: list[Told]) -> None:
        self._ears.told(told)
        ledger = self._hold.ledger
        self._index.grew(self._hold.connection, ledger.grown)
        ledger.grown.clear()
        self._hold.logged(sum(pending.size for pending, _ in told))

    def _run_tasks(self) -> None:
        while self._tasks:
            task = self._tasks.pop(0)
            try:
                result = task.run(self._hold.ledger)
            except sqlite3.Error as error:
                result = self._unavailable(error)
            self._ears.done(task, result)

    def _index_some(self) -> None:
        now = time.monotonic()
        if not self._index.due or not (self._idle or now > self._next_index):
            return
        self._next_index = now + (INDEX_PAUSE if self._queue.empty() else INDEX_PAUSE_IN_FLOOD)
        try:
            self._index.work(self._hold.connection)
        except sqlite3.DatabaseError as error:
            state, why = diagnose(error, self._path)
            if state != "corrupt":
                raise
            self._index.stop()
            self._ears.damaged(why)

    # --- sick

    def _be_sick(self, error: Exception) -> None:
        """Until a commit works again. ``close`` ends it after one more try."""
        self._feel(error)
        reopened = self._reopen()
        self._fail_wishes()
        wait = RETRY_FIRST
        while not (reopened and self._catch_up()):
            if self._closing:
                self._fail(self._kept)
                self._kept = []
                return
            self._gather(time.monotonic() + wait)
            wait = min(wait * 2, RETRY_MOST)
            reopened = self._reopen()
        self.health = Health("well", "", time.time())
        self._ears.felt(self.health)

    def _feel(self, error: Exception) -> None:
        state, why = diagnose(error, self._path)
        if (state, why) != (self.health.state, self.health.why):
            self.health = Health(state, why, self.health.since if not self.health.well else time.time())
            self._ears.felt(self.health)

    def _reopen(self) -> bool:
        """A new connection, and the end of the doubt: what the failed commit meant is in the file, or it is not."""
        try:
            self._hold.reopen()
        except (sqlite3.Error, Misplaced) as error:
            self._feel(error)
            return False
        if self._doubt is not None:
            number, told = self._doubt
            self._doubt = None
            if self._hold.ledger.commits >= number:
                stored = {id(pending) for pending, _ in told}
                self._kept = [pending for pending in self._kept if id(pending) not in stored]
                self._index.reload(self._hold.connection)
                self._tell(told)
        return True

    def _catch_up(self) -> bool:
        """Store all that waits; with nothing waiting, an empty commit says whether it would be."""
        waiting, self._kept = self._kept or [], []
        try:
            if not waiting:
                self._hold.commit([])
            while waiting:
                batch, waiting = waiting[:BATCH_ENTRIES], waiting[BATCH_ENTRIES:]
                self._store(batch)
        except (sqlite3.Error, Misplaced) as error:
            self._feel(error)
            self._kept += waiting
            return False
        return True

    def _gather(self, until: float) -> None:
        """For a while, take what comes: facts wait, wishes and tasks fail."""
        while not self._closing and (left := until - time.monotonic()) > 0:
            self._kept += self._take(left)
            self._fail_wishes()
            self._fail_tasks()

    def _fail_wishes(self) -> None:
        wishes = [pending for pending in self._kept if not pending.entry.keep]
        self._kept = [pending for pending in self._kept if pending.entry.keep]
        if self._doubt is not None:
            self._doubt = self._doubt[0], [told for told in self._doubt[1] if told[0].entry.keep]
        self._fail(wishes)

    def _fail(self, pendings: list[Pending]) -> None:
        if pendings:
            self._ears.told([(pending, StoreUnavailable(self.health.why, self.health.state)) for pending in pendings])

    def _fail_tasks(self) -> None:
        for task in self._tasks:
            self._ears.done(task, StoreUnavailable(self.health.why, self.health.state))
        self._tasks = []

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        state, why = diagnose(error, self._path)
        return StoreUnavailable(why, state)
