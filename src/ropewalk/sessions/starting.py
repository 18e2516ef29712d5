"""How a process is started and greeted: the one place from which one is. Refuses a second one beside it."""

from __future__ import annotations

import asyncio
from typing import Any

from ..errors import (
    CliNotFound,
    Conflict,
    FolderMissing,
    LimitReached,
    LinkBroken,
    RopewalkError,
    StoreUnavailable,
    UsageError,
)
from ..events import events as e
from ..protocol.connection import Connection
from ..store.base import Change, Value, put
from ..store.rows import ProcessRow
from ..transports.launch import Launch
from .greeting import Greeting
from .holding import settings_for
from .launching import check_folder, check_options, how_to_begin, launch_for
from .lifeline import NOT_HEARD
from .translate import Translator
from .wire import ANSWERABLE, Wire
from .world import Program

ROOM_WITHIN = 30.0
"""Seconds until a session that was put to sleep to make room must have gone: the ladder's last rung is a kill."""


class Starting(Greeting):
    def start_soon(self) -> None:
        """The one way to a process: with a place for it, or in the row of those who wait for one."""
        world = self._session.world
        if not self.asleep or self._held or self.stopping is not None:
            return
        process = world.new_id()
        if world.slots.born(process):
            self._begin(process)
        else:
            self._wait_for_place()

    async def wake(self) -> None:
        """Raises what keeps it from starting, in words."""
        self.wanted_again()
        await self.found()
        while self.stopping is not None:
            await self._calm.wait()
        self.start_soon()
        started = self._start_of
        if started is None and self.asleep:
            started = await self._placed()
        if started is not None:
            await asyncio.shield(started)
        elif self._session.wire is None:
            raise Conflict(NOT_HEARD, code="unreachable")

    # -- a place among the processes

    def _wait_for_place(self) -> None:
        """Others run, as many as may. One that is idle goes to sleep for it; else it waits until one ends, and says so."""
        session, slots = self._session, self._session.world.slots
        self._room_in_sight = slots.wait_for_place(session.id, self._place_is_free)
        busy = f"waits: all places are taken ({slots.processes:,}); stop a session"
        session.board.starting("waits: an idle session goes to sleep for it" if self._room_in_sight else busy)
        session.settle()

    def _place_is_free(self) -> None:
        """Not for what is wanted no more: then the next one is called."""
        if self._session.queue or self._wakers:
            self.start_soon()
            for waker in self._wakers:
                if self._start_of is not None and not waker.done():
                    waker.set_result(self._start_of)
        else:
            self._session.board.not_started()
            self._session.settle()

    async def _placed(self) -> asyncio.Future[None]:
        """For a person who waits: the start, once another has gone to sleep for it. Raises ``LimitReached`` when none does."""
        waker: asyncio.Future[asyncio.Future[None]] = asyncio.get_running_loop().create_future()
        self._wakers.append(waker)
        try:
            async with asyncio.timeout(ROOM_WITHIN if self._room_in_sight else 0):
                return await waker
        except TimeoutError:
            most = self._session.world.slots.processes
            raise LimitReached(
                f"all places are taken ({most:,}), and none is idle; stop a session, or raise max_processes"
            ) from None
        finally:
            self._wakers.remove(waker)
            self.waits_no_more()

    # -- the start

    def _begin(self, process: str) -> None:
        """One start at a time; ``process`` has its place."""
        session = self._session
        outcome = self._start_of = asyncio.get_running_loop().create_future()
        self._up.clear()
        session.board.starting()
        session.settle()
        if session.world.tasks.start(self._start(process, outcome)) is None:
            self._started(outcome, Conflict("the hub is stopping"))

    async def _start(self, process: str, outcome: asyncio.Future[None]) -> None:
        failed: Exception | None = Conflict("the hub is stopping")
        try:
            await self._spawn(process)
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

    async def _spawn(self, process: str) -> None:
        session, world, row = self._session, self._session.world, self._session.row
        try:
            program, launch, how = await self._launch()
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

    async def _launch(self) -> tuple[Program, Launch, dict[str, Any]]:
        """What to run, with which words, and how its conversation begins. Raises what keeps it from being run."""
        session, world, row = self._session, self._session.world, self._session.row
        if not world.link.up:
            raise LinkBroken("its runner is not heard")
        check_folder(row.cwd, world.config)
        check_options(session.options, row.mode, world.config)  # what was allowed when it was made may be no more
        program = await world.program(row.sim)
        how = how_to_begin(session.begun, row.cli_session, world.new_uuid())
        settings = await settings_for(world, session.id, session.options.settings)
        launch = launch_for(row, session.options, program, world.config, world.environ, settings=settings, **how)
        launch.check()
        return program, launch, how

    def _tell_start(self, kept: ProcessRow, pid: int, start_time: int, boot_id: str, resumed: str | None = None) -> None:
        kept.pid, kept.start_time, kept.boot_id = pid, str(start_time), boot_id
        event = e.ProcessStarted(
            pid=pid, runner=kept.runner, argv=kept.argv, version=kept.version or None, resumed=resumed, process=kept.id
        )
        values: dict[str, Value] = {"pid": pid, "start_time": kept.start_time, "boot_id": boot_id, "version": kept.version}
        self._session.post([event], [Change("process", {"id": kept.id}, values, must=False)])

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


def code_of(error: Exception) -> str:
    match error:
        case FolderMissing():
            return "folder_missing"
        case CliNotFound():
            return "cli_not_found"
    return "start"
