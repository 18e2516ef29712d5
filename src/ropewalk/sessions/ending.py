"""How a process is ended: stopped by a person rung by rung, put to sleep when nothing is at work, ended for a fresh start.

Returns when nothing of it is left; what follows from that is mourned elsewhere. Refuses to end what its runner can't be told to.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from ..errors import Conflict, RopewalkError
from ..events import events as e
from ..events.commands import Principal
from .lifeline import NOT_HEARD, Lifeline
from .wire import Wire

INTERRUPT_WITHIN = 5.0
GONE_WITHIN = 30.0


class Ending(Lifeline):
    async def stop(self, who: Principal, patience: float) -> None:
        """A person's stop: interrupt, tasks, input closed, TERM, KILL; each rung is told as it is taken."""
        session = self._session
        self._held = True
        self._stops("stop", who.name)
        self.waits_no_more()
        try:
            if self._start_of is not None:
                await asyncio.wait({self._start_of})
            await self.found()
            if session.wire is not None:
                await self._climb(session.wire, patience)
            elif session.row.process is not None:
                raise Conflict(NOT_HEARD, code="unreachable")
            else:
                session.post([e.StopRung(rung="stopped", by=who.name)])
                session.settle()
        finally:
            self._stops(None)

    async def _climb(self, wire: Wire, patience: float) -> None:
        session = self._session
        if not session.world.link.up:
            raise Conflict(NOT_HEARD, code="unreachable")
        if wire.ready and not wire.connection.idle:
            self.rung("interrupt")
            await self._interrupted(wire)
        if wire.ready and wire.connection.tasks:
            self.rung("stop tasks")
            for task in list(wire.connection.tasks):
                await self._quietly(wire, "stop_task", {"task_id": task})
                session.post(wire.translator.task_stopped(task, session.world.clock()))
        await self._end(wire, patience)

    async def _end(self, wire: Wire, patience: float) -> None:
        """Returns when nothing of it is left and that is stored. Raises ``Conflict`` when its runner can't be told to."""
        gone = self._gone
        try:
            if not wire.over:
                await self._session.world.link.stop(wire.process, patience)
        except RopewalkError as error:  # it may have ended while it was asked to
            if not wire.over:
                raise Conflict(f"{NOT_HEARD} ({error})", code="unreachable") from None
        try:
            async with asyncio.timeout(GONE_WITHIN):
                await gone.wait()
        except TimeoutError:
            if not wire.over:
                raise Conflict(f"{NOT_HEARD} (it does not tell the end)", code="unreachable") from None

    async def _end_quietly(self, wire: Wire, patience: float) -> None:
        """By nobody's order: what can't be done now is done later, or never."""
        try:
            if self.stopping == "afresh":
                await self._interrupted(wire)
            await self._end(wire, patience)
        except Conflict:
            self._rest_later()
        finally:
            if self._session.wire is wire:
                self._stops(None)

    async def _interrupted(self, wire: Wire) -> None:
        """Ask it to end its turn and wait a little for the turn's end."""
        self._quiet.clear()
        await self._quietly(wire, "interrupt", {})
        if wire.connection.turns.under_way and not wire.over:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(INTERRUPT_WITHIN):
                    await self._quiet.wait()

    async def _quietly(self, wire: Wire, subtype: str, fields: dict[str, Any]) -> None:
        try:
            await wire.request(subtype, fields, INTERRUPT_WITHIN)
        except RopewalkError:
            return  # the next rung is harder

    def end_now(self) -> None:
        """By the hub's order: what may not go on."""
        wire = self._session.wire
        if wire is not None and self.stopping is None:
            self._stops("sleep")
            self._session.world.tasks.start(self._end_quietly(wire, 0.0))

    def interrupt_soon(self) -> None:
        wire = self._session.wire
        if wire is not None:
            self._session.world.tasks.start(self._quietly(wire, "interrupt", {}))

    def rung(self, name: str) -> None:
        if self.stopping == "stop":
            self._session.post([e.StopRung(rung=name, by=self._stopped_by)])

    # -- a fresh start with a plan

    def begin_afresh(self) -> None:
        """End the process whose conversation is over; what waits begins a new one when it has gone."""
        wire = self._session.wire
        if wire is not None and self.stopping is None:
            self._stops("afresh")
            self._session.world.tasks.start(self._end_quietly(wire, 5.0))

    # -- rest

    def _rest_later(self) -> None:
        """From now on it may be idle: it sleeps after a while, or as soon as another session needs its place."""
        session = self._session
        self._stop_resting()
        if session.wire is not None:
            session.world.slots.rests(session.wire.process, self._sleep)
        after = session.options.idle_after
        after = session.world.config.idle_after if after is None else after
        if after:
            self._rest = asyncio.get_running_loop().call_later(after, self._rest_now)

    def _stop_resting(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _rest_now(self) -> None:
        wire = self._session.wire
        if wire is not None and wire.ready and not self.stopping and not self._sleep():
            self._rest_later()

    def _sleep(self) -> bool:
        """Asleep: no process, no memory; the next prompt wakes it. Not (False) while anything is at work or asked."""
        session, wire = self._session, self._session.wire
        if wire is None or not wire.ready or wire.over or self.stopping or not session.world.link.up:
            return False
        if not wire.connection.idle or wire.connection.tasks or session.queue or session.desk.open or session.queue.sent:
            return False
        self._stops("sleep")
        session.world.tasks.start(self._end_quietly(wire, 10.0))
        return True
