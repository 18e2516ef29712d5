"""How a process is started and greeted: the one place from which one is. Refuses a second one beside it."""

from __future__ import annotations

import asyncio

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
from .greeting import Greeting
from .launching import check_folder, check_options, how_to_begin, launch_for
from .lifeline import NOT_HEARD
from .translate import Translator
from .wire import ANSWERABLE, Wire


class Starting(Greeting):
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
        case LimitReached():
            return "limit_reached"
    return "start"
