"""Who answers a question of a run through the hub: the person here, or the policy for when nobody is. Refuses to guess."""

from __future__ import annotations

from ...client.question import Question
from ...events.views import QuestionView
from ...protocol.answers import Deny
from ..card import Card
from ..desk import Desk
from ..hand import Decision
from ..keys import Keyboard
from ..run import NOBODY
from ..safe import one_line
from ..screen import Screen
from .question import version_of


class NobodyHere(Exception):
    """A question is open and nobody may answer it here."""

    def __init__(self, view: QuestionView) -> None:
        super().__init__(view.id)
        self.view = view


class AtDesk:
    """The person at this terminal."""

    def __init__(
        self, screen: Screen, keyboard: Keyboard, folder: str, version: str | None, *, far: bool = False, edit: bool = False
    ) -> None:
        """``far``: its files are on another machine than this terminal. ``edit``: begin with the person's own version."""
        self._agents: dict[str, str] = {}
        self._desk = Desk(screen, keyboard, folder, lambda: version_of(version), self._agents, far=far, edit=edit)

    async def decide(self, question: Question, view: QuestionView, waiting: int, ours: bool = True) -> Decision | None:
        if view.origin:
            self._agents[view.origin] = view.origin
        return await self._desk.decide(question, waiting)


class Absent:
    """Nobody is at this terminal: ``--on-question`` says what happens. Others may answer, on every other face."""

    def __init__(self, policy: str, screen: Screen, folder: str, shown: str) -> None:
        self.policy, self.screen, self.folder, self.shown = policy, screen, folder, shown

    async def decide(self, question: Question, view: QuestionView, waiting: int, ours: bool = True) -> Decision | None:
        if self.policy == "fail":
            raise NobodyHere(view)
        head = Card(self.screen, question, self.folder).head()
        self.screen.say(f"{head}   {one_line(view.line)}")
        if self.policy == "deny" and ours:
            return Decision(Deny(NOBODY), "denied: nobody is here to answer")
        self.screen.say(f"  it waits; answer it: ropewalk answer {self.shown}")
        return None
