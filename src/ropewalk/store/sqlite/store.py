"""The store on a file: the writer's thread, the readers, and the loop between them. Refuses a file that is not ours alone."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ropewalk.errors import StoreRefused
from ropewalk.store.base import Entry, Health, Searched, Size, Stored
from ropewalk.store.delivery import Delivery
from ropewalk.store.sqlite import reading
from ropewalk.store.sqlite.answers import Answers
from ropewalk.store.sqlite.connections import first_writer, reader
from ropewalk.store.sqlite.hold import Hold
from ropewalk.store.sqlite.place import Lock, prepare
from ropewalk.store.sqlite.readers import Readers
from ropewalk.store.sqlite.sickness import refusal
from ropewalk.store.sqlite.witness import forget, read_told, taken_back
from ropewalk.store.sqlite.writer import Ears, Task, Writer

P = ParamSpec("P")
T = TypeVar("T")

QUEUE_BYTES = 64 * 1024 * 1024


@asynccontextmanager
async def open_store(
    path: Path | str, *, searched: Searched | None = None, queue_bytes: int = QUEUE_BYTES,
    at_point: Callable[[str], None] | None = None,
) -> AsyncIterator[SqliteStore]:  # fmt: skip
    """Open, or make, the database there; at the end everything appended is stored. Raises ``StoreRefused``.

    ``searched``: what can be searched for, by kind of event. ``at_point`` hears "store: before commit" and "store: after
    commit", in the writer's thread, for those who want to stop the world there.
    """
    store = await asyncio.to_thread(_open, Path(path), searched or {}, at_point)
    store.start(queue_bytes)
    try:
        yield store
    finally:
        await store.close()


def _open(path: Path, searched: Searched, at_point: Callable[[str], None] | None) -> SqliteStore:
    path = path.absolute()
    if not path.exists():
        forget(path)
    prepare(path)
    lock = Lock(path)
    try:
        _compare(path)
        connection = first_writer(path)
        try:
            return SqliteStore(path, lock, connection, searched, at_point)
        except sqlite3.Error as error:
            connection.close()
            raise StoreRefused(refusal(error, str(path))) from error
    except BaseException:
        lock.release()
        raise


def _compare(path: Path) -> None:
    """That nothing is missing of what was told. It changes nothing: the log of a refused file stays as it is."""
    told = read_told(path)
    if told is None:
        return
    try:
        with closing(reader(path)) as connection:
            lost = taken_back(connection, told)
    except sqlite3.Error:
        return  # whoever opens it next says what is wrong with it
    if lost is not None:
        raise StoreRefused(lost.refusal(path))


class SqliteStore(Answers):
    """``base.Store`` on a file. Opened by ``open_store``."""

    def __init__(
        self, path: Path, lock: Lock, connection: sqlite3.Connection, searched: Searched, at_point: Callable[[str], None] | None
    ) -> None:
        self.path, self._lock, self._searched = path, lock, searched
        self._damage: Health | None = None
        self._readers = Readers(path, self._damaged)
        hold = Hold(path, connection, self._readers, at_point)
        self._writer = Writer(path, hold, searched, Ears(self._told, self._felt, self._done, self._damaged))

    def start(self, queue_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._delivery = Delivery(queue_bytes)
        self._writer.start()

    async def close(self) -> None:
        """Everything appended is stored, or has failed, when this returns; what comes later fails."""
        self._delivery.closed = True
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._readers.close)
        self._lock.release()
        await asyncio.sleep(0)  # what the writer told last is delivered by the loop

    # --- the writer's thread calls these

    def _told(self, told: list[Any]) -> None:
        self._loop.call_soon_threadsafe(self._delivery.tell, told)

    def _felt(self, health: Health) -> None:
        self._loop.call_soon_threadsafe(self._delivery.feel, health)

    def _done(self, task: Task, result: object) -> None:
        self._loop.call_soon_threadsafe(_finish, task.future, result)

    def _damaged(self, why: str) -> None:
        if self._damage is None:
            self._damage = Health("corrupt", why, time.time())
            self._felt(self._damage)

    # --- base.Journal

    @property
    def health(self) -> Health:
        return self._damage or self._writer.health

    @property
    def full(self) -> bool:
        return self._delivery.full

    def append(self, entry: Entry) -> asyncio.Future[Stored]:
        future: asyncio.Future[Stored] = self._loop.create_future()
        if (pending := self._delivery.accept(entry, self._writer.health, future)) is not None:
            self._writer.put(pending)
        return future

    def post(self, entry: Entry) -> None:
        if (pending := self._delivery.accept(entry, self._writer.health, None)) is not None:
            self._writer.put(pending)

    def watch(self, on_health: Callable[[Health], None], on_room: Callable[[], None] | None = None) -> Callable[[], None]:
        return self._delivery.watch(on_health, on_room)

    async def raise_epochs(self, owner: str = "") -> dict[str, int]:
        task = Task(lambda ledger: ledger.raise_epochs(owner), self._loop.create_future())
        self._writer.put(task)
        epochs: dict[str, int] = await task.future
        return epochs

    async def settled(self) -> None:
        await self.append(Entry(keep=True))

    # --- base.Views

    async def _ask(self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        return await self._readers.run(question, *args, **named)

    async def size(self) -> Size:
        sessions, behind, held = await self._ask(reading.sizes)
        wal = Path(f"{self.path}-wal")
        log = await asyncio.to_thread(lambda: os.stat(wal).st_size if wal.exists() else 0)
        return Size(held + log, sessions, self._delivery.waiting, behind if self._searched else 0)


def _finish(future: asyncio.Future[Any], result: object) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
