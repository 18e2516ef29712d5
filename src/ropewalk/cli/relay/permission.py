"""A permission question of a hub at a terminal: parts with their verdicts, rules to grant. Refuses a grant that was not read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ...client.question import Question
from ...events.commands import Remember
from ...events.views import QuestionView, Step
from ...protocol.answers import Allow
from ..card import Card, why_asked
from ..desk import Permission
from ..hand import Decision, Hand
from ..statuses import clock
from .offers import KEYS, doubts, granting, matched_line, note_of, offers_of, place_of, these

HELP = (
    "a  runs it this one time; the next one like it is asked again",
    "s  runs it, and allows what the rules beside it say till this session ends",
    "A  runs it, and allows that in this folder from now on (ropewalk rules ends it)",
    "+  -  other rules for s and A: wider, narrower",
    "c  runs it, and hands Claude Code's own offer back to it: it asks no more",
    "d  does not run it; your reason goes to Claude, which goes on with that",
    "D  does not run it and ends the turn",
    "e  your own version: shown again before it runs, and runs once",
    "w  why this is asked",
    "^C  interrupts the turn",
)
GRANTED = {"s": "allowed for this session", "A": "allowed here from now on"}
SILENCE = "Then Claude Code no longer asks, and ropewalk only hears that it ran."

Others = Callable[[], Awaitable[Mapping[str, str]]]
"""The other open questions: a line each, by id."""


class HubPermission(Permission):
    """One question, as the hub judged it."""

    def __init__(
        self, hand: Hand, question: Question, view: QuestionView, others: Others, *, waiting: int = 0, far: bool = False
    ) -> None:
        super().__init__(hand, question, view.cwd, waiting, view.origin or "", far)
        self.view, self._others = view, others
        self.ours, self.width = offers_of(view), 0
        self.note = note_of(view) or self.note
        if view.once_only_because:
            self.offers = []

    @property
    def _step(self) -> Step:
        """The width that is chosen; every scope has the same ones."""
        return next(iter(self.ours.values())).steps[self.width]

    async def _act(self, key: str) -> Decision | None:
        match key:
            case "s" | "A":
                return await self._remember(key)
            case "+" | "-":
                self.width += 1 if key == "+" else -1
                self._draw_keys()
                return None
            case "c":
                self.screen.say(self.screen.paint("dim", f"  {SILENCE}"))
                return await self._grant(self.offers)
        return await super()._act(key)

    async def _remember(self, key: str) -> Decision | None:
        offer, step = self.ours[key], self.ours[key].steps[self.width]
        where = place_of(offer.scope, offer.places[0] if offer.places else self.folder)
        others = await self._others() if step.also_answers else {}
        self.screen.lines(granting(self.screen, step.rules, where, step, others))
        if not await self.hand.yes(these(step.rules)):
            return None
        kept = Remember(rules=list(step.rules), scope=offer.scope)
        return Decision(Allow(), GRANTED[key], remember=kept)

    def _take(self, changed: Mapping[str, Any]) -> None:
        super()._take(changed)
        self.ours = {}

    def _why(self) -> list[str]:
        """Ours first, then Claude Code's own reasons."""
        rule = f" (rule {self.view.because_rule})" if self.view.because_rule else ""
        ours = [f"ropewalk: {self.view.because}{rule}"] if self.view.because else []
        theirs = [f"Claude Code: {line}" for line in why_asked(self.question)]
        return [*ours, *theirs]

    def _help(self) -> Sequence[str]:
        return HELP

    # -- what is drawn

    def _card(self) -> Card:
        return Card(self.screen, self.question, self.folder, self.given, self.agent, self.far, self.view)

    def _draw_keys(self) -> None:
        super()._draw_keys()
        if self.view.policy_deadline:
            words = f"Denied by a policy at {clock(self.view.policy_deadline, '%H:%M:%S')} if nobody answers."
            self.screen.say(self.screen.paint("amber", f"     {words}"))

    def _rows(self) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        if self.ours:
            rows = self._ours()
        return rows + self._offers("c", "Claude's own offer: ", self.offers)

    def _ours(self) -> list[tuple[str, str]]:
        """The rules once, and for each scope what they matched there."""
        words = {"s": "allow for this session  ", "A": "always in this folder   "}
        rows: list[tuple[str, str]] = []
        for key, offer in self.ours.items():
            step, blank = offer.steps[self.width], " " * len(words[key])
            listed = ["the same"] if rows else [self.screen.letters(rule) for rule in step.rules]
            rows += [(key, f"{words[key]}{listed[0]}"), *((" ", f"{blank}{rule}") for rule in listed[1:])]
            if step.matches is not None and step.matches.total:
                rows.append((" ", f"{blank}{matched_line(self.screen, step.matches)}"))
        rows += [(" ", line) for line in doubts(self.screen, self._step)]
        if widths := self._widths():
            rows.append(widths)
        return rows

    def _widths(self) -> tuple[str, str] | None:
        steps = next(iter(self.ours.values())).steps
        wider = self.width + 1 < len(steps)
        if not wider and not self.width:
            return None
        other = steps[self.width + 1 if wider else self.width - 1].rules
        also = f"   {self.screen.key('-', 'narrower')}" if wider and self.width else ""
        return ("+" if wider else "-"), f"{'wider' if wider else 'narrower'}: {self.screen.letters('  '.join(other))}{also}"

    def _keys(self) -> list[str]:
        steps = len(next(iter(self.ours.values())).steps) if self.ours else 0
        widths = [key for key, step in (("+", self.width + 1), ("-", self.width - 1)) if 0 <= step < steps]
        return ["a", *self.ours, *widths, *(["c"] if self.offers else []), "d", "D", "e", "w", "?"]

    def _shown(self) -> str:
        first = [key for key in self._keys() if key in ("a", *KEYS, "d")]
        if self.view.default_to_no:
            first = ["d", *(key for key in first if key != "d")]
        return "/".join(first)
