"""Says all processes' lines to one hub, in turns: nobody's flood keeps another waiting. Holds no lines: who is behind is on disk.

While the hub keeps up, a line goes straight from the CLI's pipe to the socket. When the socket is full, each process falls back
to its cursor, and they take turns of a bounded piece.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from ropewalk.runner.charge import Charge
from ropewalk.runner.cursor import Cursor, Item, Said
from ropewalk.transports import frames
from ropewalk.transports.frames import TURN, Frame

TURNS = 4
"""Pieces in one go before the loop may do something else."""


class Feed:
    """One process as one hub hears it."""

    __slots__ = ("behind", "charge", "cursor", "end_told")

    def __init__(self, charge: Charge, after: int) -> None:
        self.charge = charge
        self.cursor = Cursor(charge.spool, after)
        self.behind = False
        self.end_told = False


class Pump:
    """``send`` hands a frame to the socket; ``writable`` is switched by the socket's owner."""

    def __init__(self, send: Callable[[Frame, bytes], None]) -> None:
        self._send = send
        self._feeds: dict[str, Feed] = {}
        self._behind: deque[Feed] = deque()
        self._scheduled: asyncio.Handle | None = None
        self.writable = True

    @property
    def behind(self) -> int:
        """How many processes have lines that were not handed to the socket."""
        return len(self._behind)

    def attach(self, charge: Charge, after: int) -> None:
        self.detach(charge.process)
        feed = self._feeds[charge.process] = Feed(charge, after)
        self._fall_behind(feed)

    def detach(self, process: str) -> None:
        if (feed := self._feeds.pop(process, None)) is not None:
            feed.cursor.close()
            if feed.behind:
                self._behind.remove(feed)

    def said(self, charge: Charge, items: list[Item]) -> None:
        """This was just appended to the spool."""
        feed = self._feeds.get(charge.process)
        if feed is None or feed.behind:
            return
        if not self.writable:
            self._fall_behind(feed)
            return
        self._say(charge.process, items)
        feed.cursor.jump()

    def settled(self, charge: Charge) -> None:
        feed = self._feeds.get(charge.process)
        if feed is not None and not feed.behind:
            self._tell_end(feed)

    def resume(self) -> None:
        self.writable = True
        self._schedule()

    def close(self) -> None:
        for process in list(self._feeds):
            self.detach(process)
        if self._scheduled is not None:
            self._scheduled.cancel()

    def _fall_behind(self, feed: Feed) -> None:
        feed.behind = True
        self._behind.append(feed)
        self._schedule()

    def _schedule(self) -> None:
        if self._behind and self.writable and self._scheduled is None:
            self._scheduled = asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self._scheduled = None
        for _ in range(TURNS):
            if not self._behind or not self.writable:
                break
            feed = self._behind.popleft()
            self._say(feed.charge.process, feed.cursor.read(TURN))
            if feed.cursor.at_end:
                feed.behind = False
                self._tell_end(feed)
            else:
                self._behind.append(feed)
        self._schedule()

    def _tell_end(self, feed: Feed) -> None:
        end = feed.charge.end
        if feed.charge.settled and end is not None and not feed.end_told:
            feed.end_told = True
            last = feed.charge.spool.last
            self._send(frames.Ended(feed.charge.process, end.code, end.why, end.stderr, last), b"")

    def _say(self, process: str, items: list[Item]) -> None:
        for item in items:
            if isinstance(item, Said):
                self._send(frames.Said(process, item.line, item.offset), item.data)
            else:
                frame = frames.Dropped(process, item.first, item.lines, item.size, item.why)
                self._send(frame, item.beginning)
