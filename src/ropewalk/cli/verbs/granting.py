"""``answer --session`` and ``--always``: the rules are printed with what they matched, then granted. Refuses to grant unread.

``--yes`` is the word of somebody who has read them elsewhere; without it, and without a terminal, nothing is granted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ...errors import UsageError
from ...events.commands import Answer, Remember, Scope
from ...events.views import Matches, QuestionView, Step
from ...sessions.figures import seconds
from ..codes import UNANSWERED, Complaint
from ..hand import Hand
from ..relay.offers import few, granting, matched, place_of, these
from ..run import complain, keyboard_here
from ..screen import Screen, look_around
from .asking import Asking
from .verdict import Verdict

LAST = 1000
"""Recorded requests that a rule of a person's own is tried on."""


@dataclass
class Granting:
    """One allow with its rules, from what is offered to a yes."""

    asking: Asking
    view: QuestionView
    verdict: Verdict

    async def answer(self) -> Answer | None:
        """What goes to the hub; None where nobody agreed. Raises ``UsageError`` where nothing can be granted."""
        view = self.view = await self.asking.remote.question(self.view.id)
        if view.asks != "permission":
            raise UsageError(f"nothing can be granted with a {view.asks}: only a person answers it, each time")
        if view.once_only_because:
            raise UsageError(f"this can be allowed once only: {view.once_only_because}")
        step = await self._step()
        if not self.verdict.yes and not await self._agreed(step):
            return None
        kept = Remember(
            rules=list(step.rules), scope=self.scope, place=self._place if self.scope == "folder" else None,
            for_seconds=self.verdict.seconds, uses=self.verdict.uses,
        )  # fmt: skip
        return Answer(behavior="allow", remember=kept, shown=view.hash or None)

    @property
    def scope(self) -> Scope:
        if self.verdict.session:
            return "session"
        return "everywhere" if self.verdict.where == "everywhere" else "folder"

    @property
    def _place(self) -> str:
        if self.verdict.where is None or self.verdict.where == "folder":
            return self.view.cwd
        return os.path.normpath(os.path.join(os.getcwd(), os.path.expanduser(self.verdict.where)))

    async def _step(self) -> Step:
        """The narrowest offer, or the rules that were named, with what they would have matched."""
        like = "session" if self.scope == "session" else "folder"
        steps = [step for offer in self.view.offers if offer.scope == like for step in few(offer.steps)]
        wanted = list(self.verdict.rules)
        if not wanted:
            if not steps:
                raise UsageError("there is no rule for this that could be offered; name one: --rule 'Bash(git diff:*)'")
            return steps[0]
        if self.verdict.yes:
            return Step(rules=wanted)
        return next((step for step in steps if sorted(step.rules) == sorted(wanted)), None) or await self._tried(wanted)

    async def _tried(self, rules: list[str]) -> Step:
        """Rules of their own: what they match is told as far as it is known."""
        place = None if self.scope == "everywhere" else self.view.session if self.scope == "session" else self._place
        trials = [await self.asking.remote.try_rule(text, scope=self.scope, place=place, last=LAST) for text in rules]
        found = [Matches(total=one.matches, denied=len(one.conflicts), of=one.total) for one in trials]
        if len(rules) == 1:
            return Step(rules=rules, matches=found[0])
        return Step(rules=rules, warning="; ".join(f"{text} {matched(one)}" for text, one in zip(rules, found, strict=True)))

    async def _agreed(self, step: Step) -> bool:
        screen = Screen(
            look_around("auto" if self.asking.screen.look.color else "never", ascii_only=self.asking.screen.look.ascii)
        )
        where = place_of(self.scope, self._place)
        if self.verdict.seconds or self.verdict.uses:
            ends = [f"for {seconds(self.verdict.seconds)}"] if self.verdict.seconds else []
            ends += [f"{self.verdict.uses} times"] if self.verdict.uses else []
            where = f"{where.partition(', until')[0]}, {' or '.join(ends)}"
        others = {one.id: f"{one.session_title or one.session}: {one.line}" for one in await self.asking.remote.questions()}
        screen.say(f"  {screen.letters(self.view.line)}")
        screen.lines(granting(screen, step.rules, where, step, others))
        keyboard = keyboard_here(self.verdict.no_input)
        if keyboard is None:
            complain(
                screen, Complaint(UNANSWERED, "nothing is granted: nobody can be asked here. --yes grants what stands above.")
            )
            return False
        async with keyboard.open():
            await keyboard.settle()
            return await Hand(screen, keyboard).yes(these(step.rules))
