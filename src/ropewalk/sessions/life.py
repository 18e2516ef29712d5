"""The processes of one session: started when needed, put to sleep, stopped rung by rung, mourned and, within bounds, replaced.

One owner of recovery, with a durable counter. Refuses to resurrect what a person stopped, and to send a prompt again by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import (
    CliNotFound,
    Conflict,
    FolderMissing,
    LimitReached,
    LinkBroken,
    RopewalkError,
    SessionGone,
    StoreUnavailable,
    UsageError,
)
from ..events import events as e
from ..events.commands import Principal
from ..protocol.connection import Connection
from ..store.base import Change, RowChange, Value, put
from ..store.rows import ProcessRow
from ..transports.base import End
from ..transports.runner import ProcessReport
from .kept import Begun
from .launching import check_folder, check_options, how_to_begin, launch_for
from .translate import Translator
from .wire import ANSWERABLE, Wire, key_of

if TYPE_CHECKING:
    from ..protocol.pending import Outcome
    from .session import Session

TRIES = 3
"""Starts that we try by ourselves after a process died; then a person decides."""
BETWEEN_TRIES = (0.5, 2.0, 5.0)
START_WITHIN = 90.0
"""Seconds until a CLI must have answered our first request; 2.1.37 takes 3 on an idle machine, a loaded one may take 30."""
INTERRUPT_WITHIN = 5.0
GONE_WITHIN = 30.0
FOUND_WITHIN = 10.0
"""Seconds that a request waits for a process of an earlier life of the hub to be heard again; a restart takes one or two."""
KILLED = (None, -9, 137)
"""Exit codes of a process that had no time to note what it cost."""
NOT_HEARD = "its runner is not heard now, so its process can be neither asked nor ended; try again when it is"


class Life:
    def __init__(self, session: Session) -> None:
        self._session = session
        self.stopping: str | None = None
        """Who ends the process now: "stop", "sleep" or "afresh"."""
        self._stopped_by = ""
        self._calm = asyncio.Event()  # nobody ends the process now
        self._calm.set()
        self._start_of: asyncio.Future[None] | None = None  # a start under way, and how it ends
        self._up = asyncio.Event()  # no start is under way: it listens, or there is none
        self._up.set()
        self._held = False  # a prompt was lost, or a start failed for good: the queue waits for a person
        self._rest: asyncio.TimerHandle | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()  # one for each process: it is gone, and its end is stored
        self._found = asyncio.Event()  # the process that the row names is heard, or known to be gone
        self._quiet = asyncio.Event()
        self._lost: list[str] = []  # prompts of a process that was killed: the CLI's own record may not hold them

    # -- starting

    @property
    def asleep(self) -> bool:
        """No process, and none that may live: the row names one until it is known to be gone."""
        return self._session.wire is None and self._start_of is None and self._session.row.process is None

    @property
    def starting(self) -> bool:
        """A start of ours is under way: what its row names is not known to the runner yet."""
        return self._start_of is not None

    async def come_up(self) -> None:
        """A start under way, or a process that is looked for, is waited for: what is asked of it then reaches it."""
        await self.found()
        await self._up.wait()

    async def found(self) -> None:
        """Wait a little for a process of an earlier life of the hub: soon after a restart it is heard, or known to be gone."""
        if self._session.wire is None and self._session.row.process is not None and not self.starting:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FOUND_WITHIN):
                    await self._found.wait()

    def wanted_again(self) -> None:
        """A person sent or asked for something: what was held back may go on."""
        self._held = False

    def start_soon(self) -> None:
        if self.asleep and not self._held and self.stopping is None:
            self._begin()

    async def wake(self) -> None:
        """Raises what keeps it from starting, in words."""
        self.wanted_again()
        await self._calm.wait()
        await self.found()
        if self.asleep or self.starting:
            await asyncio.shield(self._begin())
        elif self._session.wire is None:
            raise Conflict(NOT_HEARD, code="unreachable")

    def _begin(self) -> asyncio.Future[None]:
        """The one place from which a process is started: one start at a time, whoever asks."""
        outcome = self._start_of
        if outcome is None:
            outcome = self._start_of = asyncio.get_running_loop().create_future()
            self._up.clear()
            self._session.board.starting()
            self._session.settle()
            if self._session.world.tasks.start(self._start(outcome)) is None:
                self._started(outcome, Conflict("the hub is stopping"))
        return outcome

    async def _start(self, outcome: asyncio.Future[None]) -> None:
        failed: Exception | None = Conflict("the hub is stopping")
        try:
            await self._spawn()
            failed = None
        except RopewalkError as error:
            failed = error
        except Exception as error:  # noqa: BLE001 - the boundary of one session: it fails alone, and says so
            self._session.world.tasks.failed(error)
            failed = UsageError(f"the hub failed at starting it ({type(error).__name__}); its log says more")
        finally:
            self._started(outcome, failed)
        if failed is not None:
            self._up.set()
            self._not_started(failed)
        self._session.settle()

    def _started(self, outcome: asyncio.Future[None], failed: Exception | None) -> None:
        self._start_of = None
        if outcome.done():
            return
        if failed is None:
            outcome.set_result(None)
        else:
            outcome.set_exception(failed)
            outcome.exception()  # nobody may have waited for it

    def _not_started(self, error: Exception) -> None:
        """A disk or a runner that is away comes back, and what waits goes on by itself; the rest is for a person."""
        session = self._session
        session.board.not_started()
        if isinstance(error, LinkBroken):
            session.board.reachable(False, session.row.runner)
            session.post([e.LinkLost(why=str(error))])
        elif not isinstance(error, StoreUnavailable):
            self._held = True
            session.post([e.Failed(text=str(error), code=code_of(error))])

    async def _spawn(self) -> None:
        session, world, row = self._session, self._session.world, self._session.row
        if not world.link.up:
            raise LinkBroken("its runner is not heard")
        check_folder(row.cwd, world.config)
        check_options(session.options, row.mode, world.config)  # what was allowed when it was made may be no more
        process = world.new_id()
        if not world.slots.born(process):
            raise LimitReached(f"{world.slots.processes} processes run already; stop one, or raise max_processes")
        try:
            program = await world.program(row.sim)
            how = how_to_begin(session.begun, row.cli_session, world.new_uuid())
            launch = launch_for(row, session.options, program, world.config, world.environ, **how)
            launch.check()
            kept = ProcessRow(id=process, session=session.id, runner=row.runner, argv=launch.argv, started_at=world.clock())
            stand_in = {"sim": True} if world.config.sim else {}  # marked as such from now on, whatever it ran on before
            await session.wish([], [put(kept), session.change(process=process, **stand_in)])
        except BaseException:
            world.slots.reaped(process)
            raise
        connection = Connection(
            new_id=world.new_uuid, version=program.version, lazy=True, answerable=ANSWERABLE,
            known_cost=session.begun.spent,
        )  # fmt: skip
        wire = Wire(session, process, connection, Translator(session.id, process, row.cwd, session.known))
        session.wire, session.process = wire, kept
        self._gone = asyncio.Event()
        claim = "" if how.get("fork") else how.get("resume") or how.get("new_session") or ""  # a fork has an id of its own
        try:
            started = await world.link.start_process(process, launch, wire, claim=claim)
        except LinkBroken as error:
            raise await self._perhaps_started(wire, error) from None
        except RopewalkError as error:
            self._never_was(wire, str(error))
            raise
        if program.version:
            kept.version = ".".join(map(str, program.version))
        if how.get("new_session"):
            session.known.cli_session = how["new_session"]
            session.post([], [session.change(cli_session=how["new_session"])])
        self._tell_start(kept, started.pid, started.start_time, started.boot_id, how.get("resume"))
        self._greet(wire)

    def _tell_start(self, kept: ProcessRow, pid: int, start_time: int, boot_id: str, resumed: str | None = None) -> None:
        kept.pid, kept.start_time, kept.boot_id = pid, str(start_time), boot_id
        event = e.ProcessStarted(
            pid=pid, runner=kept.runner, argv=kept.argv, version=kept.version or None, resumed=resumed, process=kept.id
        )
        values: dict[str, Value] = {"pid": pid, "start_time": kept.start_time, "boot_id": boot_id, "version": kept.version}
        self._session.post([event], [Change("process", {"id": kept.id}, values, must=False)])

    def _greet(self, wire: Wire) -> None:
        """The first thing to say; whatever waits is handed over when it is answered."""
        options = self._session.options
        fields = {"appendSystemPrompt": options.append_system_prompt} if options.append_system_prompt else {}
        wire.connection.send_initialize(fields, lambda outcome: self._greeted(wire, outcome))
        data = wire.take()
        line = wire.line_said(data)
        # kept first: a later life of the hub must know that it was said, since older CLIs refuse a second one
        self._session.post([], lines=[line], then=lambda _: wire.write(key_of(data, line.n), data))
        self._deadline = asyncio.get_running_loop().call_later(START_WITHIN, self._too_slow, wire)

    def _greeted(self, wire: Wire, outcome: Outcome) -> None:
        self._no_deadline()
        if isinstance(outcome, SessionGone) or wire.over or self._session.wire is not wire:
            return  # its end tells the rest
        if isinstance(outcome, RopewalkError):
            self._session.post(
                [e.Warned(text=f"Claude refused our greeting and is driven all the same: {outcome}", code="greeting")]
            )
        asyncio.get_running_loop().call_soon(self.ready, wire)

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

    def greeted_meanwhile(self, wire: Wire) -> None:
        """The answer to a greeting that an earlier life said: nobody waits for it but us."""
        if not wire.ready and not wire.connection.pending.of("initialize"):
            self._no_deadline()
            self.ready(wire)

    def ready(self, wire: Wire) -> None:
        """It listens."""
        if wire.over or wire.ready:
            return
        wire.ready = True
        self._up.set()
        self._session.board.ready()
        self.goes_on()

    def goes_on(self) -> None:
        """Whatever waits is handed over; with nothing to do, it rests after a while."""
        self._session.pump()
        self._session.settle()
        self._rest_later()
        if self._lost:
            self._session.world.tasks.start(self._tell_what_is_not_known())

    async def _tell_what_is_not_known(self) -> None:
        """A kill within a second of a prompt can leave it out of the CLI's own record (measured on all): then it must be told."""
        session = self._session
        lost, self._lost = self._lost, []
        for prompt in lost:
            if await session.world.transcript_has(session.row, prompt) is False:
                words = "Claude was ended before it noted the lost prompt and does not know it; send it again if it matters"
                session.post([e.Warned(text=words, code="prompt_not_known", prompt=prompt)])

    def _too_slow(self, wire: Wire) -> None:
        if not wire.ready and not wire.over:
            self._session.post(
                [e.Warned(text=f"Claude said nothing for {START_WITHIN:.0f} seconds; it is ended", code="slow_start")]
            )
            self._session.world.tasks.start(self._end_quietly(wire, 0.0))

    def _no_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    async def _perhaps_started(self, wire: Wire, error: LinkBroken) -> RopewalkError:
        """Nobody knows whether it runs. A runner that is heard is asked; else its next hello tells, and the row names it."""
        try:
            await self._session.world.link.stop(wire.process, 0.0)
        except LinkBroken:
            wire.over = True
            self._session.wire = self._session.process = None
            self._found.clear()
            return error
        except RopewalkError:  # it knows of none
            pass
        self._never_was(wire, str(error))
        return UsageError(str(error))

    def _never_was(self, wire: Wire, why: str) -> None:
        session = self._session
        wire.over = True
        session.wire = session.process = None
        session.world.slots.reaped(wire.process)
        changed = Change("process", {"id": wire.process}, {"ended_at": session.world.clock(), "why": why}, must=False)
        session.post([], [changed, session.change(process=None)])

    # -- ending

    async def stop(self, who: Principal, patience: float) -> None:
        """A person's stop: interrupt, tasks, input closed, TERM, KILL; each rung is told as it is taken."""
        session = self._session
        self._held = True
        self._stops("stop", who.name)
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

    def _stops(self, who: str | None, by: str = "") -> None:
        """From now on the process is being ended, or (None) it is no more: gone, or its runner could not be told."""
        self.stopping, self._stopped_by = who, by
        if who is None:
            self._calm.set()
        else:
            self._calm.clear()

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

    def interrupt_soon(self) -> None:
        wire = self._session.wire
        if wire is not None:
            self._session.world.tasks.start(self._quietly(wire, "interrupt", {}))

    def rung(self, name: str) -> None:
        if self.stopping == "stop":
            self._session.post([e.StopRung(rung=name, by=self._stopped_by)])

    def ended(self, wire: Wire, end: End) -> None:
        """Nothing of the process is left. Told by the link, once, after all its lines."""
        if self._session.wire is wire:
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
        unfinished = len(events)
        session.wire = session.process = None
        world.slots.reaped(process)
        world.slots.give_back(session.id)
        unclean = wanted is None and end.code != 0
        rows = session.desk.lost(events)
        rows += session.prompts.process_gone(written, sure, end.why, events)
        self._lost = [event.prompt for event in events if isinstance(event, e.PromptLost)] if unclean else []
        self._held = self._held or (len(events) > unfinished and wanted is None)
        stderr = list(end.stderr[-20:])
        events.append(
            e.ProcessEnded(code=end.code, why=end.why, stderr=stderr, wanted=wanted is not None, by=by, process=process)
        )
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
        self._after(wanted, lived)

    def _stored_as_gone(self, process: str, gone: asyncio.Event) -> None:
        """All of it is stored: the runner need not keep it. One that is not heard now names it at its next hello."""
        gone.set()
        with contextlib.suppress(LinkBroken):
            self._session.world.link.forget(process)

    def _after(self, wanted: str | None, lived: bool) -> None:
        """What follows an end: the next prompt, another try, or a person."""
        session = self._session
        if self._held or not session.queue:
            return
        elif lived:
            session.pump()
        elif session.row.tries >= TRIES:
            self._held = True
            session.post(
                [e.Failed(text=f"Claude did not start, {TRIES} times in a row; wake it when the cause is mended", code="start")]
            )
            session.settle()
        else:
            asyncio.get_running_loop().call_later(BETWEEN_TRIES[session.row.tries - 1], session.pump)

    def fenced(self, error: Exception) -> None:
        """Another hub owns this session, or the entry could not be kept: said by the store's own health; nothing is told."""

    # -- a fresh start with a plan

    def begin_afresh(self) -> None:
        """End the process whose conversation is over; what waits begins a new one when it has gone."""
        wire = self._session.wire
        if wire is not None and self.stopping is None:
            self._stops("afresh")
            self._session.world.tasks.start(self._end_quietly(wire, 5.0))

    def _forget_the_talk(self, events: list[e.Event]) -> list[RowChange]:
        session = self._session
        session.known.cli_session = None
        events.append(e.ContextCleared(why="fresh start with the plan"))
        return [session.conversation_is(Begun()), session.change(cli_session=None)]

    # -- rest

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

    def _rest_later(self) -> None:
        self._stop_resting()
        after = self._session.options.idle_after
        after = self._session.world.config.idle_after if after is None else after
        if after:
            self._rest = asyncio.get_running_loop().call_later(after, self._rest_now)

    def _stop_resting(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _rest_now(self) -> None:
        """Asleep: no process, no memory; the next prompt wakes it. Not while anything is at work or asked."""
        session, wire = self._session, self._session.wire
        if wire is None or not wire.ready or self.stopping:
            return
        if not wire.connection.idle or wire.connection.tasks or session.queue or session.desk.open or session.queue.sent:
            self._rest_later()
            return
        self._stops("sleep")
        session.world.tasks.start(self._end_quietly(wire, 10.0))


def code_of(error: Exception) -> str:
    match error:
        case FolderMissing():
            return "folder_missing"
        case CliNotFound():
            return "cli_not_found"
        case LimitReached():
            return "limit_reached"
    return "start"
