"""The readers of the contract over any way to ask a connection. Refuses SQL of its own: the questions are in ``reading``."""

from __future__ import annotations

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Concatenate, Literal, ParamSpec, TypeVar

from ropewalk.store.base import (
    Away,
    Condition,
    Direction,
    Given,
    LastLines,
    Latest,
    Place,
    Search,
    Searched,
    SearchPage,
    SessionFilter,
    SessionPage,
    StoredEvent,
    StoredLine,
    Usage,
)
from ropewalk.store.rows import TableRow, VerdictRow
from ropewalk.store.sqlite import newest, reading
from ropewalk.store.sqlite.searching import search

P = ParamSpec("P")
T = TypeVar("T")
Row = TypeVar("Row", bound=TableRow)

PAGE_LINES = 500


class Answers(ABC):
    """``base.Views``, all but ``size``."""

    _searched: Searched

    @abstractmethod
    async def _ask(self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Put it to a connection."""

    async def get(self, kind: type[Row], *key: str | int) -> Row | None:
        return await self._ask(reading.get, kind, key)

    async def find(
        self,
        kind: type[Row],
        where: Mapping[str, Condition] | None = None,
        *,
        order: str = "",
        newest: bool = False,
        limit: int = 1000,
    ) -> list[Row]:
        return await self._ask(reading.find, kind, where or {}, order, newest, limit)

    async def sessions(self, asked: SessionFilter) -> SessionPage:
        return await self._ask(reading.sessions, asked)

    async def events(
        self, session: str, after: int = 0, limit: int = 500, *, kinds: Sequence[str] = (), most: int = 0
    ) -> list[tuple[int, bytes]]:
        return await self._ask(reading.events, session, after, limit, kinds, most)

    async def last_events(
        self, session: str, limit: int = 500, *, before: int | None = None, kinds: Sequence[str] = ()
    ) -> list[tuple[int, bytes]]:
        return await self._ask(reading.last_events, session, limit, before, kinds)

    async def event(self, session: str, seq: int) -> StoredEvent | None:
        return await self._ask(reading.event, session, seq)

    async def verdicts(self, asked: Given) -> list[tuple[Place, VerdictRow]]:
        return await self._ask(newest.verdicts, asked)

    async def judged(self, calls: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        return await self._ask(newest.judged, set(calls))

    async def latest(self, asked: Latest) -> list[tuple[Place, StoredEvent]]:
        return await self._ask(newest.latest, asked)

    async def lines(self, session: str, after: int = 0, dir: Direction | None = None, limit: int = 500) -> list[StoredLine]:
        return await self._ask(reading.lines, session, after, dir, limit)

    async def line(self, process: str, n: int, dir: Direction = "out") -> StoredLine | None:
        return await self._ask(reading.line, process, n, dir)

    async def last_lines(self, process: str) -> LastLines:
        return await self._ask(reading.last_lines, process)

    async def conversation(self, process: str) -> AsyncIterator[StoredLine]:
        after = 0
        while page := await self._ask(reading.lines_of, process, after, PAGE_LINES):
            for line in page:
                yield line
            after = page[-1].cursor

    async def search(self, asked: Search) -> SearchPage:
        return await self._ask(search, asked, self._searched)

    async def usage(
        self, by: Literal["day", "model", "folder", "session"], since: float | None = None, until: float | None = None
    ) -> list[Usage]:
        return await self._ask(reading.usage, by, since, until)

    async def away(self, after: float, limit: int = 100) -> list[Away]:
        return await self._ask(reading.away, after, limit)
