"""The sessions that are awake. Loaded when something happens to them, let go when they sleep. Refuses a second copy of one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from weakref import WeakValueDictionary

from ..errors import LinkBroken, NotFound, RopewalkError
from ..events import events as e
from ..store.base import More
from ..store.rows import ProcessRow, PromptRow, QuestionRow, RuleRow, SessionRow
from ..transports.runner import Account, ProcessReport
from .desk import GIVEN
from .inforce import is_grant
from .session import STANDING, WAITING, Session
from .takeover import take_over
from .world import World

KEPT = 64
"""Sleeping sessions that stay loaded."""
MOST = 10_000
BUSY = ("starting", "thinking", "running_tool", "waiting", "rate_limited", "compacting", "background", "idle", "unreachable")
"""How only a session with a process may stand."""


class Roster:
    def __init__(self, world: World) -> None:
        self.world = world
        self.awake: dict[str, Session] = {}
        self._known: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """Those that somebody still holds, also when they were let go: a second copy would start a second process."""
        self._loading: dict[str, asyncio.Future[Session]] = {}
        world.rules.changed, world.rules.ended = self._other_rules, self._rule_ended
        self._reports: dict[str, ProcessReport] | None = None
        """What the runner said it has, at its last hello; None while it is not heard."""
        self._rules_are_others = self._looks_again = False

    async def get(self, session: str) -> Session:
        """Raises ``NotFound``."""
        if found := self.awake.get(session):
            return found
        if (found := self._known.get(session)) is not None:
            self.add(found)
            return found
        loading = self._loading.get(session)
        if loading is None:
            loading = self._loading[session] = asyncio.get_running_loop().create_future()
            try:
                loading.set_result(await self._load(session))
            except BaseException as error:
                loading.set_exception(error if isinstance(error, Exception) else NotFound("the hub is stopping"))
                loading.exception()  # nobody else may have asked
                raise
            finally:
                del self._loading[session]
        return await asyncio.shield(loading)

    def add(self, session: Session) -> None:
        """One that was just created, loaded, or let go too early."""
        self.awake[session.id] = self._known[session.id] = session
        self._let_go()

    async def _load(self, session: str) -> Session:
        store = self.world.store
        row = await store.get(SessionRow, session)
        if row is None:
            raise NotFound(f"no session {session} here")
        prompts = await store.find(PromptRow, {"session": session, "state": WAITING})
        questions = await store.find(QuestionRow, {"session": session, "state": "open"})
        if row.process is not None:
            undelivered = {"process": row.process, "state": GIVEN, "delivered_at": None}
            questions += await store.find(QuestionRow, undelivered)
        loaded = Session(self.world, row, prompts, questions)
        last = await store.last_events(session, 60, kinds=STANDING)
        loaded.restored([body for _, body in last])
        self.add(loaded)
        if row.process is not None:
            await self._find_process(loaded)
        return loaded

    def _let_go(self) -> None:
        if len(self.awake) <= KEPT:
            return
        for name, session in list(self.awake.items())[:-KEPT]:
            if session.life.asleep and not session.queue and not session.desk.open and not session.heard:
                del self.awake[name]

    # -- rules that come and go

    def _other_rules(self) -> None:
        """What is open and now decided is answered: session by session, so that others have their turns of the loop."""
        self._rules_are_others = True
        if not self._looks_again:
            self._looks_again = self.world.tasks.start(self._look_again()) is not None

    async def _look_again(self) -> None:
        try:
            while self._rules_are_others:
                self._rules_are_others = False
                for session in list(self.awake.values()):
                    if session.desk.open and session.wire is not None:
                        await self._look_again_at(session)
                        await asyncio.sleep(0)
        finally:
            self._looks_again = False

    async def _look_again_at(self, session: Session) -> None:
        try:
            await session.judging.again()
        except Exception as error:  # noqa: BLE001 - the boundary of one session: what is open there stays open
            self.world.tasks.failed(error)

    def _rule_ended(self, row: RuleRow) -> None:
        session = self._known.get(row.session or "")
        if session is not None and is_grant(row):
            session.post([e.GrantEnded(rule=row.id, text=row.text, why=row.ended_why, by=row.ended_by)])

    # -- processes of an earlier life, and runners that come and go

    async def recover(self) -> None:
        """After the hub's start: every session that may have a process, or something to do, is loaded and goes on.

        One that can't be loaded is told of and left: the others don't wait for it.
        """
        store = self.world.store
        names = [row.id for row in await store.find(SessionRow, {"process": More("")}, limit=MOST)]
        names += [row.id for row in await store.find(SessionRow, {"status": BUSY, "process": None}, limit=MOST)]
        for state in WAITING:
            names += [row.session for row in await store.find(PromptRow, {"state": state}, limit=MOST)]
        for name in dict.fromkeys(names):
            try:
                session = await self.get(name)
                session.settle()
                session.pump()
            except RopewalkError as error:
                self.world.tasks.failed(error)

    def runner_up(self, reports: Iterable[ProcessReport]) -> None:
        self._reports = {report.process: report for report in reports}
        for session in list(self.awake.values()):
            if session.row.process is not None:
                self.world.tasks.start(self._find_process(session))
            else:
                session.board.reachable(True)
                session.settle()
                session.pump()
        self.world.tasks.start(self._sweep(list(self._reports.values())))

    async def _sweep(self, reports: list[ProcessReport]) -> None:
        """Processes that no session names: an end that was stored and not forgotten there, or one that nobody hears."""
        names = tuple(report.process for report in reports)
        rows = await self.world.store.find(SessionRow, {"process": names}, limit=MOST) if names else []
        named = {(self._known[row.id].row if row.id in self._known else row).process for row in rows}
        named |= {session.row.process for session in self.awake.values()}
        for report in reports:
            if report.process in named:
                continue
            try:
                if report.alive:
                    await self.world.link.stop(report.process, 0.0)
                self.world.link.forget(report.process)
            except RopewalkError:
                continue  # its next hello names it again

    def runner_down(self, why: str) -> None:
        self._reports = None
        for session in list(self.awake.values()):
            if session.row.process is not None:
                session.board.reachable(False, session.row.runner)
                session.post([e.LinkLost(why=why)])
                session.settle()

    async def _find_process(self, session: Session) -> None:
        """What became of the process that this session's row names. One search at a time: the first may have found it."""
        async with session.finding:
            process, reports = session.row.process, self._reports
            if process is None or session.life.starting:
                return
            if reports is None:
                session.board.reachable(False, session.row.runner)
                session.settle()
                return
            session.board.reachable(True)
            report = reports.get(process)
            if report is None:
                session.life.vanished(process, "the runner that had it does not know it any more")
            elif session.wire is not None:
                session.post([e.LinkRestored()])
                session.wire.write_again()
                self.world.tasks.start(session.judging.afresh())
            else:
                await self._take_over(session, process, report)
            session.settle()
            session.pump()

    async def _take_over(self, session: Session, process: str, report: ProcessReport) -> None:
        row = await self.world.store.get(ProcessRow, process)
        if row is None:
            session.life.vanished(process, "its process is not in the log")
            return
        self.world.slots.found(process)
        try:
            await take_over(session, row, report)
        except LinkBroken:
            session.wire = None  # the runner went again: its next hello tells
        except Exception as error:  # noqa: BLE001 - the boundary of one session: it fails alone, and says so
            self.world.tasks.failed(error)
            session.life.vanished(process, f"the hub failed at hearing it again ({type(error).__name__}); its log says more")
            self.world.tasks.start(self._sweep([report]))

    def accounts(self, counted: Iterable[Account]) -> None:
        by_process = {account.process: account for account in counted}
        for session in self.awake.values():
            found = by_process.get(session.wire.process) if session.wire else None
            session.accounts = (found.descendants, found.memory) if found else None
