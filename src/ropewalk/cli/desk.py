"""A question on a terminal, from card to verdict. Refuses to grant what was not shown, and more than one offer at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..client.question import Question
from ..events.commands import AllowedPrompt
from ..protocol.answers import DENIED, Allow, Deny
from ..protocol.versions import Version
from ..sessions.figures import count
from .card import Card, why_asked
from .choices import choose_answers
from .edit import edited
from .grants import Offer, offers_of
from .hand import Decision, Hand
from .keys import Keyboard
from .plans import decide_plan
from .screen import Screen

HELP = (
    "a  runs it this one time; the next one like it is asked again",
    "s  runs it, and grants what stands beside it until this session ends",
    "A  runs it, and has Claude Code keep what stands beside it in its settings: it is not asked again",
    "d  does not run it; your reason goes to Claude, which goes on with that",
    "D  does not run it and ends the turn",
    "e  your own version: shown again before it runs",
    "w  why Claude Code asks",
    "^C  interrupts the turn",
)


class Desk:
    """Asks the person at this terminal, one question after the other."""

    def __init__(
        self, screen: Screen, keyboard: Keyboard, folder: str, version: Callable[[], Version | None], agents: Mapping[str, str],
        *, far: bool = False, edit: bool = False,
    ) -> None:  # fmt: skip
        """``far``: the files are not on this machine. ``edit``: a permission begins with the person's own version."""
        self.screen, self.keyboard, self.folder = screen, keyboard, folder
        self.far, self.edit = far, edit
        self._version, self._agents = version, agents

    async def decide(self, question: Question, waiting: int = 0, wishes: Sequence[AllowedPrompt] | None = None) -> Decision:
        """Draw it, ask, return the verdict. ``waiting``: how many more are open behind it. ``wishes``: of a hub's plan."""
        hand = Hand(self.screen, self.keyboard)
        async with self.keyboard.open():
            if question.kind == "plan":
                return await decide_plan(hand, question, self._version(), wishes)
            if question.kind == "choice" and question.choices:
                return await choose_answers(hand, question)
            agent = self._agents.get(question.asked.agent_id or "", "")
            permission = Permission(hand, question, self.folder, waiting, agent, self.far)
            return await permission.decide(self.edit)


class Permission:
    """One permission question."""

    def __init__(self, hand: Hand, question: Question, folder: str, waiting: int, agent: str, far: bool = False) -> None:
        self.hand, self.screen, self.question = hand, hand.screen, question
        self.folder, self.waiting, self.agent, self.far = folder, waiting, agent, far
        self.given: Mapping[str, Any] | None = None
        self.offers, self.note = offers_of(question)

    async def decide(self, edit: bool = False) -> Decision:
        self._draw()
        await self.hand.keyboard.settle()
        if edit:
            await self._edit()
        while True:
            decision = await self._act(await self.hand.key(self._keys(), self._shown()))
            if decision is not None:
                return decision

    async def _act(self, key: str) -> Decision | None:
        match key:
            case "a":
                because = "allowed once" if self.given is None else "allowed, your version"
                return Decision(Allow(updated_input=self.given), because)
            case "s" | "A":
                return await self._grant([offer for offer in self.offers if offer.lasting is (key == "A")])
            case "d":
                return await self._deny()
            case "D":
                return Decision(Deny(DENIED, interrupt=True), "denied, stopped", stops=True)
            case "e":
                await self._edit()
            case "w":
                self.screen.lines(f"  {self.screen.letters(line)}" for line in self._why())
            case _:
                self.screen.lines(f"  {line}" for line in self._help())
        return None

    def _why(self) -> list[str]:
        return why_asked(self.question)

    def _help(self) -> Sequence[str]:
        return HELP

    async def _grant(self, offers: list[Offer]) -> Decision | None:
        """One of Claude Code's own offers."""
        chosen = offers[0]
        if len(offers) > 1:
            keys = [str(number) for number in range(1, len(offers) + 1)]
            key = await self.hand.key([*keys, "escape"], f"which one? {'/'.join(keys)}, Esc: none")
            if key == "escape":
                return None
            chosen = offers[int(key) - 1]
        words = self.screen.letters(chosen.words)
        if chosen.warning:
            self.screen.say(
                self.screen.paint("amber", f"  {self.screen.look.glyphs.warns} {self.screen.letters(chosen.warning)}")
            )
        if not await self.hand.yes(f"Grant: {words}   ({chosen.place})?"):
            return None
        self.screen.say(f"  granted: {words}   kept in: {chosen.place}")
        return Decision(Allow(updated_permissions=[chosen.update]), "allowed, and granted")

    async def _deny(self) -> Decision | None:
        reason = await self.hand.line("reason for Claude (Enter: none, ^D: back)")
        if reason is None:
            return None
        return Decision(Deny(reason or DENIED), f"denied: {reason}" if reason else "denied")

    async def _edit(self) -> None:
        now = self.question.input if self.given is None else self.given
        changed = await edited(self.hand, self.question.tool_name, now)
        if changed is not None:
            self._take(changed)
            self._draw()
            await self.hand.keyboard.settle()

    def _take(self, changed: Mapping[str, Any]) -> None:
        """It is this person's version from here on."""
        self.given, self.offers = changed, []
        self.note = "Your version runs once; nothing can be granted with it."

    # -- what is drawn

    def _draw(self) -> None:
        self.screen.lines(self._card().lines())
        self._draw_keys()
        if self.waiting:
            self.screen.say(self.screen.paint("dim", f"  {self.waiting} more waiting behind this one"))

    def _card(self) -> Card:
        return Card(self.screen, self.question, self.folder, self.given, self.agent, self.far)

    def _draw_keys(self) -> None:
        rest = [("d", "deny"), ("D", "deny and stop"), ("e", "edit"), ("w", "why"), ("?", "help")]
        self.screen.say(f"  {self.screen.key('a', 'allow once' if self.given is None else 'allow my version once')}")
        self.screen.lines(f"  {self.screen.key(key, words)}" for key, words in self._rows())
        if self.note:
            self.screen.say(f"     {self.screen.letters(self.note)}")
        self.screen.lines(self.screen.keys(rest))

    def _rows(self) -> list[tuple[str, str]]:
        """What may be granted besides."""
        return [
            row
            for key, words, lasting in (("s", "for this session", False), ("A", "always", True))
            for row in self._offers(key, f"allow, and {words}: ", [one for one in self.offers if one.lasting is lasting])
        ]

    def _offers(self, key: str, words: str, offers: list[Offer]) -> list[tuple[str, str]]:
        """Claude Code's own, numbered where there are several."""
        rows = []
        for number, offer in enumerate(offers, 1):
            which = f"{number} " if len(offers) > 1 else ""
            kept = f"   kept in {offer.place}" if offer.lasting else ""
            warning = self.screen.paint("amber", f"   {self.screen.look.glyphs.warns} {offer.warning}") if offer.warning else ""
            label = words if number == 1 else " " * len(words)
            rows.append((key if number == 1 else " ", f"{label}{which}{self._shortly(offer.words)}{kept}{warning}"))
        return rows

    def _shortly(self, words: str) -> str:
        """On a row; all of it stands there before it is granted."""
        first, *more = words.split("\n")
        return self.screen.letters(
            f"{first} {self.screen.look.glyphs.dots} and {count(len(more), 'more line')}" if more else first
        )

    def _keys(self) -> list[str]:
        granted = [key for key, lasting in (("s", False), ("A", True)) if any(o.lasting is lasting for o in self.offers)]
        return ["a", *granted, "d", "D", "e", "w", "?"]

    def _shown(self) -> str:
        first = [key for key in self._keys() if key in "asAd"]
        if self.question.asked.default_to_no:
            first = ["d", *(key for key in first if key != "d")]
        return "/".join(first)
