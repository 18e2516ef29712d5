"""Reads a spool for one listener, from any line on, a bounded piece at a time. Says what is missing instead of guessing."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import NamedTuple

from ropewalk.runner.records import CUT, SAID, Damage, Record
from ropewalk.runner.spool import BLOCK, Segment, Spool, segment_records

TOO_LONG = "the line is too long to be kept"
CUT_OFF = "the runner died while this was being said"
NOT_THERE = "these lines are no longer in the runner's spool, or were damaged on its disk"


class Said(NamedTuple):
    """Bytes from ``offset`` of ``line`` on."""

    line: int
    offset: int
    data: bytes


class Missing(NamedTuple):
    """Lines that can't be given."""

    first: int
    lines: int
    size: int
    beginning: bytes
    why: str


Item = Said | Missing


def item_of(record: Record) -> Item:
    """What is told of a record that has just been written."""
    if record.kind == SAID:
        return Said(record.line, record.offset, record.payload)
    return Missing(record.line, 1, record.offset, record.payload, CUT_OFF if record.kind == CUT else TOO_LONG)


class Cursor:
    """``line`` and ``offset`` say what comes next. ``read`` until ``at_end``; or ``jump`` over what was told otherwise."""

    __slots__ = ("_at", "_fd", "_segment", "_spool", "line", "offset")

    def __init__(self, spool: Spool, after: int) -> None:
        self._spool = spool
        self.line, self.offset = after + 1, 0
        self._segment = _segment_of(spool, after + 1)
        self._at = 0
        self._fd = -1

    @property
    def at_end(self) -> bool:
        segment = self._segment or self._spool.oldest
        return segment is None or (segment.later is None and self._at >= segment.size)

    def jump(self) -> None:
        """To the end: the listener has heard what lies between."""
        newest = self._spool.newest
        if newest is not self._segment:
            self._enter(newest)
        self._at = 0 if newest is None else newest.size
        self.line, self.offset = self._spool.line, self._spool.offset

    def read(self, limit: int) -> list[Item]:
        """About ``limit`` bytes of what comes next, neighbours joined. Empty when there was nothing but what is known already."""
        items: list[Item] = []
        size = 0
        for record in self._records():
            for item in self._place(record):
                size += len(item.data) if isinstance(item, Said) else 1
                items.append(item)
            if size >= limit:
                break
        if self.at_end and self.line < self._spool.line:  # the file ends before its line does: the rest is damaged
            items.append(self._gap(self._spool.line))
        return _joined(items)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _records(self) -> Iterator[Record]:
        """Bounded by one block: what is skipped costs reading, too."""
        self._segment = self._segment or self._spool.oldest
        budget = BLOCK
        while self._segment is not None and budget > 0:
            if self._at < self._segment.size and self._open():
                begin = self._at
                for end, found in segment_records(self._fd, self._segment.size, begin):
                    self._at = end
                    if not isinstance(found, Damage):
                        yield found
                    if end - begin >= budget:
                        return
                budget -= self._at - begin
                self._at = self._segment.size
            if self._segment.later is None:
                return
            self._enter(self._segment.later)

    def _open(self) -> bool:
        assert self._segment is not None
        if self._fd < 0:
            try:
                self._fd = os.open(self._segment.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:  # forgotten while we were behind: another hub has it
                self._at = self._segment.size
                return False
        return True

    def _enter(self, segment: Segment | None) -> None:
        self.close()
        self._segment, self._at = segment, 0

    def _place(self, record: Record) -> Iterator[Item]:
        """What of a record is new, after what is missing in front of it."""
        item = item_of(record)
        if isinstance(item, Missing):
            if item.first < self.line:
                return
            if item.first > self.line:
                yield self._gap(item.first)
            self.line, self.offset = item.first + 1, 0
            yield item
            return
        if (item.line, item.offset) > (self.line, self.offset):
            lost_to = item.line + (1 if item.offset else 0)
            yield self._gap(lost_to)
        rest = _from(item, self.line, self.offset)
        if rest is not None:
            lines = rest.data.count(b"\n")
            self.offset = len(rest.data) - rest.data.rfind(b"\n") - 1 if lines else rest.offset + len(rest.data)
            self.line = rest.line + lines
            yield rest

    def _gap(self, to: int) -> Missing:
        """Nothing is known of the lines before ``to``."""
        gap = Missing(self.line, max(1, to - self.line), 0, b"", NOT_THERE)
        self.line, self.offset = self.line + gap.lines, 0
        return gap


def _segment_of(spool: Spool, line: int) -> Segment | None:
    """The last one that begins at or before this line."""
    found = segment = spool.oldest
    while segment is not None and (segment.line, segment.offset) <= (line, 0):
        found, segment = segment, segment.later
    return found


def _from(item: Said, line: int, offset: int) -> Said | None:
    """The part of it that begins there; None when all of it lies before."""
    if (item.line, item.offset) == (line, offset):
        return item
    at = 0
    for _ in range(line - item.line):
        at = item.data.find(b"\n", at) + 1
        if not at:
            return None
    if line == item.line:
        at = offset - item.offset
        end = item.data.find(b"\n")
        if 0 <= end < at or at >= len(item.data) or at < 0:
            return None
    elif offset:
        return None
    return Said(line, offset, item.data[at:]) if at < len(item.data) else None


def _joined(items: list[Item]) -> list[Item]:
    """Neighbours become one: many small records cost one frame."""
    joined: list[Item] = []
    for is_said, run in itertools.groupby(items, lambda item: isinstance(item, Said)):
        together = list(run)
        if is_said and len(together) > 1:
            first = together[0]
            assert isinstance(first, Said)
            joined.append(first._replace(data=b"".join(item.data for item in together if isinstance(item, Said))))
        else:
            joined += together
    return joined
