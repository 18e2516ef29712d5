"""The sessions that are awake. Loaded when something happens to them, let go when they sleep. Refuses a second copy of one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from ..errors import LinkBroken, NotFound
from ..events import events as e
from ..store.base import More
from ..store.rows import ProcessRow, PromptRow, QuestionRow, SessionRow
from ..transports.runner import Account, ProcessReport
from .session import STANDING, WAITING, Session
from .takeover import take_over
from .world import World

KEPT = 64
"""Sleeping sessions that stay loaded."""


class Roster:
    def __init__(self, world: World) -> None:
        self.world = world
        self.awake: dict[str, Session] = {}
        self._loading: dict[str, asyncio.Future[Session]] = {}
        self._reports: dict[str, ProcessReport] | None = None
        """What the runner said it has, at its last hello; None while it is not heard."""

    async def get(self, session: str) -> Session:
        """Raises ``NotFound``."""
        if found := self.awake.get(session):
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
        """One that was just created."""
        self.awake[session.id] = session
        self._let_go()

    async def _load(self, session: str) -> Session:
        store = self.world.store
        row = await store.get(SessionRow, session)
        if row is None:
            raise NotFound(f"no session {session} here")
        prompts = await store.find(PromptRow, {"session": session, "state": WAITING})
        questions = await store.find(QuestionRow, {"session": session, "state": "open"})
        questions += await store.find(QuestionRow, {"session": session, "state": "answered", "delivered_at": None}, limit=50)
        loaded = Session(self.world, row, prompts, questions)
        last = await store.last_events(session, 30, kinds=STANDING)
        loaded.restored([body for _, body in last])
        self.awake[session] = loaded
        self._let_go()
        if row.process is not None:
            await self._find_process(loaded)
        return loaded

    def _let_go(self) -> None:
        if len(self.awake) <= KEPT:
            return
        for name, session in list(self.awake.items())[:-KEPT]:
            if session.life.asleep and not session.queue and not session.desk.open and not session.heard:
                del self.awake[name]

    # -- processes of an earlier life, and runners that come and go

    async def recover(self) -> None:
        """After the hub's start: every session whose process may live is loaded and heard again."""
        for row in await self.world.store.find(SessionRow, {"process": More("")}, limit=100_000):
            await self.get(row.id)
        for prompt in await self.world.store.find(PromptRow, {"state": ("queued", "sent", "taken")}, limit=100_000):
            session = await self.get(prompt.session)
            session.pump()

    def runner_up(self, reports: Iterable[ProcessReport]) -> None:
        self._reports = {report.process: report for report in reports}
        for session in list(self.awake.values()):
            if session.row.process is not None:
                self.world.tasks.start(self._find_process(session))

    def runner_down(self, why: str) -> None:
        self._reports = None
        for session in list(self.awake.values()):
            if session.row.process is not None:
                session.board.reachable(False, session.row.runner)
                session.post([e.LinkLost(why=why)])
                session.settle()

    async def _find_process(self, session: Session) -> None:
        """What became of the process that this session's row names."""
        process = session.row.process
        reports = self._reports
        if process is None:
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
        else:
            await self._take_over(session, process, report)
        session.settle()
        session.pump()

    async def _take_over(self, session: Session, process: str, report: ProcessReport) -> None:
        row = await self.world.store.get(ProcessRow, process)
        if row is None:
            session.life.vanished(process, "its process is not in the log")
            return
        self.world.slots.born(process)
        try:
            await take_over(session, row, report)
        except LinkBroken:
            session.wire = None  # the runner went again: its next hello tells

    def accounts(self, counted: Iterable[Account]) -> None:
        by_process = {account.process: account for account in counted}
        for session in self.awake.values():
            found = by_process.get(session.wire.process) if session.wire else None
            session.accounts = (found.descendants, found.memory) if found else None
