"""One watcher with few knobs: silent sessions, limits that end, a claude that was missing. A sleep of ours is no stall."""

from __future__ import annotations

import asyncio

import structlog

from ..sessions.bypass import end_in_time
from ..sessions.roster import Roster
from ..sessions.session import Session
from ..sessions.settling import expire
from .claude import Claude
from .rules_file import RulesFile

TICK = 1.0
LATE = 3.0
"""A tick this late means that we were stopped, or the machine slept: nobody else was silent meanwhile."""

SILENT = ("starting", "thinking")
"""States in which a CLI should give a sign now and then. A tool, a person, a limit or background work may take all night."""

log = structlog.get_logger("ropewalk.hub")


class Watch:
    def __init__(self, roster: Roster, claude: Claude, rules_file: RulesFile) -> None:
        self._roster, self._claude, self._rules_file = roster, claude, rules_file

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(TICK)
            slept = loop.time() - before > TICK + LATE
            if self._claude.found is None and not self._roster.world.config.sim:
                await self._look()
            now = self._roster.world.clock()
            self._roster.world.rules.expire()
            self._rules_file.look()
            for session in list(self._roster.awake.values()):
                self._look_at(session, loop.time(), now, slept)

    async def _look(self) -> None:
        """One that was missing is there: what waited for it goes on. What failed for another cause waits for a person."""
        if await self._claude.look():
            log.info("claude found", version=self._claude.words)
            for session in list(self._roster.awake.values()):
                if session.board.standing.fix == "install_claude" and session.queue:
                    session.life.wanted_again()
                    session.pump()

    def _look_at(self, session: Session, now: float, clock: float, slept: bool) -> None:
        wire = session.wire
        if wire is None:
            return
        expire(session, clock)
        if session.bypass is not None:
            self._roster.world.tasks.start(end_in_time(session))
        if slept:
            wire.last_sign = now
        silent = now - wire.last_sign
        stalled = session.row.status in SILENT and silent > self._roster.world.config.stall_after
        session.board.stalled(clock - silent if stalled else None)
        session.board.passed(clock)
        session.settle()
