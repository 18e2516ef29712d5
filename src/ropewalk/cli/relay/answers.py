"""Who answers a question of a run through the hub: the person here, or the policy for when nobody is. Refuses to guess."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from ...client.remote import Remote
from ...errors import HubError
from ...events.views import QuestionView
from ...protocol.answers import Deny
from ..card import Card
from ..desk import Desk
from ..hand import Decision, Hand
from ..keys import Keyboard
from ..run import NOBODY
from ..safe import one_line
from ..screen import Screen
from .permission import HubPermission
from .question import question_of, version_of, wishes_of

PATIENCE = 2.0
"""Seconds for the look into the past that a card is drawn with."""


class NobodyHere(Exception):
    """A question is open and nobody may answer it here."""

    def __init__(self, view: QuestionView) -> None:
        super().__init__(view.id)
        self.view = view


class AtDesk:
    """The person at this terminal. Every question is drawn as the hub has it at that moment."""

    def __init__(
        self, remote: Remote, screen: Screen, keyboard: Keyboard, version: str | None, *, far: bool = False, edit: bool = False
    ) -> None:
        """``far``: its files are on another machine than this terminal. ``edit``: begin with the person's own version."""
        self._remote, self._screen, self._keyboard = remote, screen, keyboard
        self._version, self._far, self._edit = version_of(version), far, edit

    async def decide(self, view: QuestionView, waiting: int, ours: bool = True) -> Decision | None:
        view = await self._whole(view)
        question = question_of(view)
        if question.kind == "plan" or (question.kind == "choice" and question.choices):
            desk = Desk(self._screen, self._keyboard, view.cwd, lambda: self._version, {})
            decision = await desk.decide(question, wishes=wishes_of(view))
        else:
            async with self._keyboard.open():
                hand = Hand(self._screen, self._keyboard)
                card = HubPermission(hand, question, view, self._others, waiting=waiting, far=self._far)
                decision = await card.decide(self._edit)
        return replace(decision, shown=view.hash)

    async def _whole(self, view: QuestionView) -> QuestionView:
        """With what its offers would have matched. A hub that can't say it now is no reason to wait."""
        try:
            async with asyncio.timeout(PATIENCE):
                found = await self._remote.question(view.id)
        except (HubError, TimeoutError):
            return view
        return found if found.state == "open" else view

    async def _others(self) -> dict[str, str]:
        try:
            return {one.id: f"{one.session_title or one.session}: {one.line}" for one in await self._remote.questions()}
        except HubError:
            return {}


class Absent:
    """Nobody is at this terminal: ``--on-question`` says what happens. Others may answer, on every other face."""

    def __init__(self, policy: str, screen: Screen, folder: str, shown: str) -> None:
        self.policy, self.screen, self.folder, self.shown = policy, screen, folder, shown

    async def decide(self, view: QuestionView, waiting: int, ours: bool = True) -> Decision | None:
        if self.policy == "fail":
            raise NobodyHere(view)
        head = Card(self.screen, question_of(view), self.folder, view=view).head()
        self.screen.say(f"{head}   {one_line(view.line)}")
        if self.policy == "deny" and ours:
            return Decision(Deny(NOBODY), "denied: nobody is here to answer")
        self.screen.say(f"  it waits; answer it: ropewalk answer {self.shown}")
        return None
