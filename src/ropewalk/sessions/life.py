"""The life of one session, process after process: started when needed, kept at work, put to sleep, stopped, mourned.

One owner of recovery, with a durable counter. Refuses to resurrect what a person stopped, and to send a prompt again by itself.
"""

from __future__ import annotations

import asyncio

from ..transports.runner import ProcessReport
from .greeting import START_WITHIN
from .mourning import Mourning
from .starting import Starting
from .wire import Wire


class Life(Starting, Mourning):
    def took_over(self, wire: Wire, report: ProcessReport) -> None:
        """A process of an earlier life of the hub is heard again; what that life did not come to say is said now."""
        kept = self._session.process
        self._gone = asyncio.Event()
        self._found.set()
        self.stands(self._session.board.standing.status)
        if kept is not None and kept.pid is None:
            self._tell_start(kept, report.pid, report.start_time, report.boot_id)
        if wire.ready or not report.alive:
            return
        self._up.clear()
        if wire.connection.pending.of("initialize"):
            self._deadline = asyncio.get_running_loop().call_later(START_WITHIN, self._too_slow, wire)
        else:
            self._greet(wire)

    def stands(self, status: str) -> None:
        """A person's wait holds no place; what goes on by itself takes one."""
        slots, session = self._session.world.slots, self._session
        if status in ("thinking", "running_tool", "compacting"):
            slots.hold(session.id)
        elif status in ("waiting", "idle", "asleep", "stopped", "failed", "background", "rate_limited"):
            slots.give_back(session.id)

    def answered(self) -> None:
        """A question may be the last thing that was open: outside of a turn nothing else tells the end."""
        self._rest_later()
        self._session.pump()

    def turn_ended(self) -> None:
        self._quiet.set()
        self._rest_later()

    def fenced(self, error: Exception) -> None:
        """Another hub owns this session, or the entry could not be kept: said by the store's own health; nothing is told."""
