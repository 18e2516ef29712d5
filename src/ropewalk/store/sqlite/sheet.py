"""The rows of one commit: events and lines of all its entries, gathered column by column. Refuses to decide what is stored.

In a flood this is where the writer's thread holds the interpreter's lock, so that the loop waits: what can be left to ``zip`` and
``map`` is. Numbers and their meaning come from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import Any
from zlib import crc32

import msgspec

from ropewalk.store.base import Entry, EventLike, Line, cleaned
from ropewalk.store.sqlite.keys import SEQ_BITS, SINCE_BITS, line_id
from ropewalk.store.sqlite.statements import EVENTS, LINES, UNKEPT

_encode = msgspec.json.Encoder().encode
_kinds: dict[type, str] = {}


class Sheet:
    """``write`` stores what was added since the last time."""

    def __init__(self) -> None:
        self._events: list[Any] = []
        self._unkept: list[Any] = []
        self._lines: list[Any] = []

    def add_events(self, entry: Entry, session: int, epoch: int, after: int, process: int | None) -> list[bytes]:
        """Number them from ``after`` + 1 on; returns their bodies."""
        events, first = entry.events, after + 1
        for seq, event in enumerate(events, first):
            event.seq = seq
        bodies = bodies_of(events)
        seqs = range(first, first + len(events))
        ids = range(session << SEQ_BITS | first, (session << SEQ_BITS | first) + len(events))
        numbers, parts = _places(entry)
        kinds, ats = map(_kind, events), [event.at for event in events]
        crcs = map(crc32, bodies, seqs)  # as keys.checksum: the low bits of an event's key are its seq
        rows = zip(ids, repeat(epoch), kinds, ats, repeat(process), numbers, parts, crcs, bodies, strict=False)
        flat = self._events if entry.line_no is None or _is_kept(entry) else self._unkept
        flat += list(chain.from_iterable(rows))  # whole or not at all, also where one of them can't be made
        return bodies

    def add_run(self, process: int, lines: Sequence[Line]) -> None:
        """Lines that one process said, one after the other."""
        numbers = [line.n for line in lines]
        for n in (min(numbers), max(numbers)):
            line_id(process, n, 0)  # raises for what can't be the number of a line
        base = line_id(process, 0, 0)
        ids = [base | n << SINCE_BITS for n in numbers]
        raws = [line.raw for line in lines]
        crcs = map(crc32, raws, [id & 0xFFFFFFFF for id in ids])
        self._lines += list(chain.from_iterable(zip(ids, numbers, [line.at for line in lines], crcs, raws, strict=False)))

    def add_line(self, id: int, line: Line) -> None:
        self._lines += (id, line.n, line.at, crc32(line.raw, id & 0xFFFFFFFF), line.raw)

    def write(self, execute: Callable[..., Any]) -> None:
        EVENTS.run(execute, self._events)
        UNKEPT.run(execute, self._unkept)
        LINES.run(execute, self._lines)
        self.clear()

    def clear(self) -> None:
        self._events, self._unkept, self._lines = [], [], []


def _kind(event: EventLike) -> str:
    kind = _kinds.get(type(event))
    if kind is None:
        kind = _kinds[type(event)] = str(event.__struct_config__.tag)
    return kind


def _is_kept(entry: Entry) -> bool:
    """Whether the line that the events come from is stored with them. If not, the events alone say that it was heard."""
    if entry.parts:
        return True
    return any(line.dir == "out" and line.n == entry.line_no and line.process == entry.process for line in entry.lines)


def _places(entry: Entry) -> tuple[Iterable[int | None], Iterable[int]]:
    """Of each event, which line it comes from and which part of it it is."""
    if not entry.parts:
        return repeat(entry.line_no), range(len(entry.events))
    if len(entry.parts) != len(entry.lines) or sum(entry.parts) != len(entry.events):
        raise ValueError("the parts of a run are one count a line, and all its events")
    if len(entry.events) == len(entry.lines) == entry.parts.count(1):
        return [line.n for line in entry.lines], repeat(0)
    numbers = [line.n for line, count in zip(entry.lines, entry.parts, strict=True) for _ in range(count)]
    return numbers, [part for count in entry.parts for part in range(count)]


def bodies_of(events: Sequence[EventLike]) -> list[bytes]:
    """Each as JSON. Text that is no text (half a surrogate pair) is cleaned: an event is never refused for it."""
    try:
        return list(map(_encode, events))
    except UnicodeEncodeError:
        return list(map(_cleaned_body, events))


def _cleaned_body(event: EventLike) -> bytes:
    try:
        return _encode(event)
    except UnicodeEncodeError:
        return json.dumps(_deeply_cleaned(msgspec.to_builtins(event)), ensure_ascii=False, separators=(",", ":")).encode()


def _deeply_cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return cleaned(value)
    if isinstance(value, dict):
        return {cleaned(str(key)): _deeply_cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_deeply_cleaned(item) for item in value]
    return value
