"""What follows the end of a process: all that hung on it ends in one entry; then the next prompt, another try, or a person.

Refuses to resurrect what a person stopped, and to send a prompt again by itself.
"""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from ..errors import LinkBroken
from ..events import events as e
from ..store.base import Change, RowChange, Value
from ..transports.base import End
from .bypass import over
from .causes import process_end
from .ending import Ending
from .kept import Begun
from .wire import Wire

TRIES = 3
"""Starts that we try by ourselves after a process died; then a person decides."""
BETWEEN_TRIES = (0.5, 2.0, 5.0)
KILLED = (None, -9, 137)
"""Exit codes of a process that had no time to note what it cost."""


class Mourning(Ending):
    def ended(self, wire: Wire, end: End) -> None:
        """Nothing of the process is left. Told by the link, once, after all its lines."""
        if self._session.wire is wire and self._start_of is not None:  # it ended at once: first that it began is told
            self._start_of.add_done_callback(lambda _: self.ended(wire, end))
        elif self._session.wire is wire:
            self._mourn(wire.process, end, wire.written_keys, sure=end.code is not None, lived=wire.ready)

    def vanished(self, process: str, why: str) -> None:
        """Its runner does not know the process that our rows name: it is gone, and what it said last may be lost."""
        session = self._session
        session.post([e.LinkLost(why=why, may_lack_lines=True)])
        if session.wire is not None:
            session.wire.close(End(None, why))
        self._mourn(process, End(None, why), set(), sure=False, lived=True)

    def _mourn(self, process: str, end: End, written: set[str], *, sure: bool, lived: bool) -> None:
        """Everything that hung on it ends with it, in one entry. ``sure``: what is not in ``written`` never reached it."""
        session, world = self._session, self._session.world
        self._no_deadline()
        self._stop_resting()
        wanted, by = self.stopping, self._stopped_by
        if session.begun.afresh:
            wanted = wanted or "afresh"  # it was to end: a crash on the way there is no failure
        self._stops(None)
        events = session.wire.translator.gone(world.clock()) if session.wire is not None else []
        refused = session.wire.refused if session.wire is not None else ""
        last_sign = session.wire.last_sign if session.wire is not None else 0.0
        unfinished = len(events)
        session.wire = session.process = None
        world.slots.reaped(process)
        world.slots.give_back(session.id)
        unclean = wanted is None and end.code != 0
        rows = session.desk.lost(events, last_sign if unclean else None)
        rows += session.prompts.process_gone(written, sure, end.why, events)
        self._lost = [event.prompt for event in events if isinstance(event, e.PromptLost)] if unclean else []
        self._held = self._held or (len(events) > unfinished and wanted is None)
        rows += over(session, "its process has ended", events)
        rows += world.rules.end_with(session.id, None)
        stderr = list(end.stderr[-20:])
        ended = e.ProcessEnded(code=end.code, why=end.why, stderr=stderr, wanted=wanted is not None, by=by, process=process)
        events.append(ended)
        if session.begun.afresh:
            rows += self._forget_the_talk(events)
        changed: dict[str, Value] = {"ended_at": world.clock(), "exit_code": end.code, "why": end.why}
        rows += [Change("process", {"id": process}, changed, must=False), session.change(process=None)]
        if end.code in KILLED and session.begun.spent:
            rows.append(session.conversation_is(msgspec.structs.replace(session.begun, spent=0.0)))
        if refused and wanted is None:
            self._held = True
            events.append(e.Failed(text=f"There is nothing to resume: {refused}", code="resume"))
        elif wanted is None and not lived:
            rows.append(session.change(tries=session.row.tries + 1))
        gone = self._gone
        session.post(events, rows, then=lambda _: self._stored_as_gone(process, gone))
        self._found.set()
        self._quiet.set()
        self._up.set()
        session.settle()
        self._after(ended, lived)

    def _stored_as_gone(self, process: str, gone: asyncio.Event) -> None:
        """All of it is stored: the runner need not keep it. One that is not heard now names it at its next hello."""
        gone.set()
        with contextlib.suppress(LinkBroken):
            self._session.world.link.forget(process)

    def _after(self, ended: e.ProcessEnded, lived: bool) -> None:
        """What follows an end: the next prompt, another try, or a person."""
        session = self._session
        if self._held or not session.queue:
            return
        elif lived:
            session.pump()
        elif session.row.tries >= TRIES:
            self._held = True
            words = f"{process_end(ended)}, {TRIES} times in a row before it had started; wake it when the cause is mended"
            session.post([e.Failed(text=words, code="start")])
            session.settle()
        else:
            asyncio.get_running_loop().call_later(BETWEEN_TRIES[session.row.tries - 1], session.pump)

    def _forget_the_talk(self, events: list[e.Event]) -> list[RowChange]:
        session = self._session
        session.known.cli_session = session.known.plan_file = None
        events.append(e.ContextCleared(why="fresh start with the plan"))
        return [session.conversation_is(Begun()), session.change(cli_session=None)]
