"""One session over all its processes: what is stored of it, what waits, what is asked, how it stands.

Everything that happens goes through ``post``: events and rows that are true together, kept before told. Refuses to wait in what
the link calls; verbs of people are awaited and return when their effect is stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec

from ..errors import Conflict, Fenced, LocalProtocolError, SessionGone, UsageError
from ..events import events as e
from ..events.commands import Principal
from ..protocol.control import ControlCancelRequest, ControlRequest
from ..protocol.hearing import Notable
from ..protocol.messages import Result
from ..store.base import Change, Entry, Line, Put, RowChange, SeqOf, Stored, cleaned
from ..store.rows import ProcessRow, PromptRow, QuestionRow, SessionRow, TurnRow
from .bypass import MODE, confirmed
from .desk import Desk
from .judging import Judging
from .kept import Begun, Kept
from .known import Known
from .life import Life
from .prompts import Prompts
from .queue import Queue
from .settling import by_mode
from .status import StatusBoard
from .wire import ENDS, Run, Wire
from .world import World

Then = Callable[[Stored], None]


def clock_words(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


class Session:
    """Loaded when something happens to it. ``row`` is what is stored, kept in step with every entry that is posted."""

    def __init__(self, world: World, row: SessionRow, prompts: list[PromptRow], questions: list[QuestionRow]) -> None:
        self.world, self.row, self.id = world, row, row.id
        kept = msgspec.json.decode(row.options, type=Kept)
        self.options, self.begun, self.bypass, self.outline = kept.options, kept.begun, kept.bypass, kept.outline
        self.known = Known(
            mode=row.mode or None,
            model=row.model or None,
            cli_session=row.cli_session,
            cost_usd=row.cost_usd or 0.0,
            context_tokens=row.context_tokens or 0,
            context_window=row.context_window,
        )
        self.board = StatusBoard(clock_words)
        self.queue = Queue(prompts)
        self.judging = Judging(self)
        self.desk = Desk(self, questions)
        self.prompts = Prompts(self)
        self.life = Life(self)
        self.wire: Wire | None = None
        self.mode_by = ""
        """Who is changing the mode at this moment."""
        self.finding = asyncio.Lock()
        """Held by whoever looks for the process of an earlier life of the hub."""
        self.process: ProcessRow | None = None
        self.accounts: tuple[int, int] | None = None
        """Descendants and memory of its CLI, as its runner last counted them."""
        self._posted = self._settled = 0  # entries given to the store, and those of which it has told what came of them
        self.desk.tell_board()

    def restored(self, told: Iterable[bytes]) -> None:
        """What the row does not hold, from the last events that say how it stands."""
        for body in told:
            event = _events.decode(body)
            self.board.heed(event)
            if isinstance(event, e.TurnStarted):
                self.known.turn = event.turn
            elif isinstance(event, e.TodosChanged) and event.parent is None:
                self.known.todos = event.todos
        self.board.stood(self.row.status, self.row.why)

    # -- the one way in to the store

    def post(
        self,
        events: list[e.Event],
        rows: Iterable[RowChange] = (),
        *,
        lines: Sequence[Line] = (),
        process: str | None = None,
        line_no: int | None = None,
        then: Then | None = None,
        told: Then | None = None,
    ) -> None:
        """A fact: kept, then told, then ``then``. Never waits; while the disk is sick it is kept waiting, in order.

        ``told``: in place of ``then`` what ``told_and`` made of it, for whoever posts often.
        """
        rows = list(rows)
        self._complete(events)
        if rows:
            self._apply(rows)
        if self._heed(events) or self.desk.changed():
            self._new_status(events, rows, self.world.clock())
        self._posted += 1
        self.world.store.post(
            Entry(
                session=self.id,
                epoch=self.row.epoch,
                events=events,
                rows=rows,
                lines=lines,
                process=process,
                line_no=line_no,
                keep=True,
                on_stored=told or (self._on_stored if then is None else self.told_and(then)),
                on_failed=self._unkept,
            )
        )

    def grow(self, run: Run, events: list[e.Event], line: Line) -> bool:
        """One more line of a run that will be posted: one that changes nothing but what it says. True: it ends something."""
        changed, ends, heed = self.desk.changed(), False, self.board.heed
        for event in events:
            if heed(event):
                changed = True
            if type(event) in ENDS:
                ends = True
        if changed:
            self._new_status(events, run.rows, self.world.clock())
        run.events += events
        run.lines.append(line)
        run.parts.append(len(events))
        return ends

    def post_run(self, run: Run, process: str, told: Then) -> None:
        """Facts of many lines in one entry: in a flood, what an entry costs is paid once for all that one read brought."""

        def failed(error: Exception) -> None:
            self._unkept(error)
            if not isinstance(error, Fenced):
                self._post_apart(run, process, told)

        self._posted += 1
        self.world.store.post(
            Entry(
                session=self.id,
                epoch=self.row.epoch,
                events=run.events,
                rows=run.rows,
                lines=run.lines,
                process=process,
                line_no=run.lines[0].n,
                parts=run.parts,
                keep=True,
                on_stored=told,
                on_failed=failed,
            )
        )

    def _post_apart(self, run: Run, process: str, told: Then) -> None:
        """One of its lines can't be kept: the others are, each by itself."""
        at = 0
        for line, count in zip(run.lines, run.parts, strict=True):
            events, at = run.events[at : at + count], at + count
            self.post(events, lines=[line], process=process, line_no=line.n, told=told)
        self.post([], run.rows)

    async def wish(self, events: list[e.Event], rows: Iterable[RowChange] = (), *, lines: Sequence[Line] = ()) -> None:
        """What a person asks for: stored now, or refused with ``StoreUnavailable`` and nothing happened."""
        rows = list(rows)
        self._complete(events)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def kept(stored: Stored) -> None:
            self._heed(events)
            self._apply(rows)
            self._on_stored(stored)
            if not done.done():
                done.set_result(None)

        def failed(error: Exception) -> None:
            self._settled += 1
            if not done.done():
                done.set_exception(error)

        self._posted += 1
        self.world.store.post(
            Entry(
                session=self.id,
                epoch=self.row.epoch,
                events=events,
                rows=rows,
                lines=lines,
                on_stored=kept,
                on_failed=failed,
            )
        )
        await done
        self.settle()

    def _complete(self, events: list[e.Event]) -> None:
        now = self.world.clock()
        for event in events:
            event.session = self.id
            event.at = event.at or now

    def _heed(self, events: list[e.Event]) -> bool:
        changed = False
        for event in events:
            changed = self.board.heed(event) or changed
        return changed

    def settle(self) -> None:
        """Tell how it stands where that has changed without an event of its own."""
        events: list[e.Event] = []
        rows: list[RowChange] = []
        self._new_status(events, rows, self.world.clock())
        if events:
            self.post(events, rows)

    def _new_status(self, events: list[e.Event], rows: list[RowChange], now: float) -> None:
        standing, row = self.board.standing, self.row
        status, why = standing.status, standing.why
        if status == row.status and why == row.why:
            return
        events.append(e.StatusChanged(session=self.id, at=now, status=status, why=why))
        rows.append(self.change(status=status, why=why, status_at=now, changed_at=now))
        row.status, row.why, row.status_at, row.changed_at = status, why, now, now
        self.life.stands(status)

    def change(self, **values: Any) -> Change:
        """A change of its own row; ``row`` follows when it is posted."""
        return Change("session", {"id": self.id}, values, must=False)

    def conversation_is(self, begun: Begun) -> Change:
        self.begun = begun
        return self.keeps()

    def keeps(self, begun: Begun | None = None) -> Change:
        """What its ``options`` column holds now; with ``begun``: once that is stored."""
        return self.change(options=msgspec.json.encode(Kept(self.options, begun or self.begun, self.bypass, self.outline)))

    def _apply(self, rows: Iterable[RowChange]) -> None:
        for row in rows:
            if isinstance(row, Change) and row.table == "session":
                for name, value in row.set.items():
                    setattr(self.row, name, value)

    def told_and(self, then: Then) -> Then:
        """What an entry calls when it is stored: tell it, then ``then``."""

        def told(stored: Stored) -> None:
            self._on_stored(stored)
            then(stored)

        return told

    def _unkept(self, error: Exception) -> None:
        self._settled += 1
        self.life.fenced(error)

    @property
    def untold(self) -> bool:
        """Something of it is on its way to the disk, and listeners have not heard of it."""
        return self._posted != self._settled

    def _on_stored(self, stored: Stored) -> None:
        self._settled += 1
        if stored.bodies:
            self.row.last_seq = stored.entry.events[-1].seq
            self.world.told.stored(self.id, stored)

    @property
    def heard(self) -> bool:
        return self.world.told.heard(self.id)

    # -- what the wire brings besides plain events

    def notice(self, notable: list[Notable], events: list[e.Event], now: float) -> list[RowChange]:
        """Questions asked and withdrawn, prompts taken, turns ended: events are added, the rows that change are returned."""
        rows: list[RowChange] = []
        for one in notable:
            match one:
                case ControlRequest():
                    self.judging.heard(one)
                case ControlCancelRequest():
                    rows += self.desk.withdrawn(one.request_id, events)
                case Result():
                    rows += self._turn_ended(one, events, now)
        if self.queue.sent:
            rows += self.prompts.receipts(events, now)
        kinds = {type(event) for event in events}
        if not self.begun.turns and not self.begun.afresh and e.TurnStarted in kinds:
            rows.append(self.conversation_is(Begun(turns=True, spent=self.begun.spent)))
        if values := self._known_changed(events, kinds):
            rows.append(self.change(**values))
        return rows

    def _turn_ended(self, result: Result, events: list[e.Event], now: float) -> list[RowChange]:
        at = next((index for index, event in enumerate(events) if isinstance(event, e.TurnEnded)), None)
        rows = self.prompts.done(result.prompts, now, SeqOf(at) if at is not None else None)
        usage = result.usage
        if at is not None:
            turn = TurnRow(
                session=self.id, seq=0, model=self.known.model or "", folder=self.row.cwd, at=now,
                process=self.wire.process if self.wire else None,
                seconds=(result.duration_ms or 0) / 1000, cost_usd=result.cost_usd if result.total_cost_usd is not None else None,
                input_tokens=usage.input_tokens if usage else 0, output_tokens=usage.output_tokens if usage else 0,
                cache_read_tokens=(usage.cache_read_input_tokens or 0) if usage else 0,
                cache_write_tokens=(usage.cache_creation_input_tokens or 0) if usage else 0,
                prompts=list(result.prompts), failed=result.failed,
            )  # fmt: skip
            values = {name: getattr(turn, name) for name in turn.__struct_fields__} | {"seq": SeqOf(at)}
            rows.append(Put("turn", values))
        if not result.failed and self.row.tries:
            rows.append(self.change(tries=0))
        if (total := result.total_cost_usd) is not None and isfinite(total) and total >= 0:
            rows.append(self.conversation_is(msgspec.structs.replace(self.begun, spent=total)))
        if self.wire is not None and result.subtype == "error_during_execution" and not result.num_turns:
            self.wire.refused = "; ".join(result.reasons)[:400] or "it does not say why"
        rows += self.world.rules.end_with(self.id, self.known.turn)
        cost = (self.row.cost_usd or 0.0) + result.cost_usd
        rows.append(self.change(cost_usd=cost, changed_at=now))
        return rows

    def _known_changed(self, events: list[e.Event], kinds: set[type[e.Event]]) -> dict[str, Any]:
        """What the row keeps of what the CLI told: its session id, mode, model, how full its context is."""
        wire, row = self.wire, self.row
        values: dict[str, Any] = {}
        if wire is None:
            return values
        connection = wire.connection
        if (told := connection.session_id) and told != row.cli_session and (name := cleaned(told)) != row.cli_session:
            values["cli_session"] = self.known.cli_session = name
            events.append(e.SessionChanged(cli_session=name))
        if connection.mode and connection.mode != row.mode and not self.begun.afresh:
            values["mode"] = cleaned(connection.mode)
            if connection.mode == MODE:
                confirmed(self)
            if not self.mode_by:  # a person's change is settled when it is stored
                asyncio.get_running_loop().call_soon(by_mode, self, connection.mode, "Claude Code")
        if e.TurnStarted in kinds and self.known.model and self.known.model != row.model:
            values["model"] = self.known.model
        if e.TurnEnded in kinds:
            values["context_tokens"] = connection.context_tokens
            values["context_window"] = self.known.context_window
        return values

    def after_line(self, events: list[e.Event]) -> None:
        """What a line makes possible: the next prompt after a turn's end, sleep after a time of rest."""
        if self.wire is not None and not self.wire.ready:
            self.life.greeted_meanwhile(self.wire)
        for event in events:
            if type(event) in ENDS:
                self.life.turn_ended()
                self.pump()
                return
            if type(event) in FREES:
                self.pump()

    def written(self, key: str) -> None:
        self.desk.delivered(key)

    def unwritten(self, key: str, why: str) -> None:
        self.desk.not_delivered(key, why)
        self.prompts.not_delivered(key, why)

    # -- moving on

    def pump(self) -> None:
        """Hand over the next prompt if its time has come; start a process for it if there is none."""
        if not self.queue or self.life.stopping:
            return
        if self.begun.afresh and self.wire is not None:
            self.life.begin_afresh()
            return
        row = self.queue.next()
        if self.wire is None:
            self.life.start_soon()
        elif row and self.wire.ready and self.wire.connection.idle and self.world.slots.take(self.id, self.pump):
            self.prompts.hand_over(row)

    @property
    def under_way(self) -> bool:
        """Is a turn running, or a prompt on its way?"""
        wire = self.wire
        return wire is not None and not wire.connection.idle

    def living(self) -> Wire:
        """The process to ask. Raises ``Conflict`` in words when there is none."""
        if self.wire is None or not self.wire.ready:
            raise Conflict("this session has no process now; wake it, or send a prompt", code="asleep")
        return self.wire

    async def request(self, subtype: str, fields: dict[str, Any] | None = None, within: float = 30.0) -> dict[str, Any]:
        """Any control request to the living process."""
        await self.life.found()
        try:
            return await self.living().request(subtype, fields, within)
        except LocalProtocolError as error:
            raise UsageError(str(error)) from None
        except SessionGone as error:
            raise Conflict(f"the process ended before it answered: {error.why}", code="process_ended") from None

    def set_environment(self, variables: dict[str, str]) -> None:
        """For later tools of the living process. Raises ``UsageError`` on CLIs that would ignore it."""
        wire = self.living()
        try:
            wire.connection.send_environment(variables)
        except LocalProtocolError as error:
            raise UsageError(str(error)) from None
        wire.flush()

    async def interrupt(self, who: Principal) -> None:
        """Heard when the CLI answers; the turn's end follows by itself."""
        await self.life.found()
        if self.wire is not None:
            await self.request("interrupt", within=15.0)


_events = msgspec.json.Decoder(e.AnyEvent)

STANDING = ("session_created", "process_started", "process_ended", "turn_started", "turn_ended", "failed", "stop_rung",
            "rate_limit_changed", "link_lost", "link_restored", "prompt_lost", "prompt_failed", "todos_changed")  # fmt: skip
"""Kinds of events that say how a session stands, and what it means to do."""

FREES = frozenset({e.PromptWithdrawn, e.QuestionClosed})
"""Kinds of events that end what kept the next prompt waiting, without the end of a turn."""

WAITING = ("queued", "sent", "taken")
"""States of prompts that a loaded session must know."""
