"""A plan on a terminal: read it, choose how to go on. Refuses to start fresh, or to loosen the mode, unasked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..client.question import Question
from ..events.commands import AllowedPrompt
from ..protocol.answers import Allow, Deny
from ..protocol.versions import Version
from .card import why_asked
from .edit import edited
from .hand import Decision, Hand

TAKES_EDITED_PLANS: Version = (2, 1, 326)
"""2.1.37 and 2.1.62 ignore a changed plan in the answer; 2.1.326 uses it."""

CHOICES = (
    ("1", "fresh start: forget the talk, keep the plan, accept edits"),
    ("2", "keep the talk, accept edits"),
    ("3", "keep the talk, ask before each edit"),
)
REST = (("d", "not yet, say what to change"), ("D", "keep the plan, stop here"), ("e", "edit"), ("w", "why"), ("?", "help"))
HELP = (
    "1  ends this conversation and begins a new one that knows only the plan; edits are accepted there (also: shift+tab)",
    "2  Claude goes on with all it knows and changes files without asking",
    "3  Claude goes on and asks before each edit",
    "d  Claude stays in plan mode and reads your words",
    "D  ends the turn; the plan stays where it is",
    "e  your own version of the plan (also: ^G)",
    "o  sends it back for a written outline (in a session of the hub)",
    "t  grants what the plan asks for: with 1, 2 or 3, for this session (the same)",
)
NEED_TEXT, ALWAYS = ("1", "shift-tab", "e", "^G"), ("2", "3", "d", "D", "w", "?")
OUTLINE = "The user wants an outline first."
"""The hub has the words for Claude."""
STOP = "The user keeps the plan and stops here."
FRESH = "The user starts over with this plan in a fresh conversation."


def fresh_prompt(plan: str) -> str:
    """The first prompt of the new conversation."""
    return f"Implement this plan:\n\n{plan}"


async def decide_plan(
    hand: Hand, question: Question, version: Version | None, wishes: Sequence[AllowedPrompt] | None = None
) -> Decision:
    """Draw the plan, ask how to go on. ``wishes``: of a hub, which can grant them for the session; None: nobody can."""
    plan, given = question.plan, None
    ticked: list[AllowedPrompt] = []
    _draw(hand, question, plan, wishes)
    await hand.keyboard.settle()
    more = (("o",) if wishes is not None else ()) + (("t",) if any(one.rule for one in wishes or ()) else ())
    while True:
        key = await hand.key(
            (*NEED_TEXT, *ALWAYS, *more) if plan is not None else (*ALWAYS, *more), "1/2/3/d/D" if plan is not None else "2/3/d/D"
        )
        if key in ("e", "^G"):
            given = await edited(hand, "ExitPlanMode", given or question.input) or given
            plan = str((given or question.input)["plan"])
            _draw(hand, question, plan, wishes)
        elif key == "t":
            ticked = await _tick(hand, wishes or ())
        elif key == "o":
            return Decision(Deny(OUTLINE), "not yet: an outline first", way="outline")
        elif key == "w":
            hand.screen.lines(f"  {hand.screen.letters(line)}" for line in why_asked(question))
        elif key == "?":
            hand.screen.lines(f"  {line}" for line in HELP)
        elif decision := await _act(hand, key, plan, given, version):
            return replace(decision, wishes=ticked if isinstance(decision.answer, Allow) or decision.way == "fresh" else ())


async def _tick(hand: Hand, wishes: Sequence[AllowedPrompt]) -> list[AllowedPrompt]:
    """Those that are granted when the plan is gone on with, read once more; none, unless somebody says y."""
    typed = await hand.line("numbers of what is granted for this session (Enter: nothing)") or ""
    numbers = {int(word) for word in typed.replace(",", " ").split() if word.isdecimal()}
    ticked = [one for number, one in enumerate(wishes, 1) if number in numbers and one.rule]
    if not ticked:
        hand.screen.say("  nothing is granted with it")
        return []
    hand.screen.say("  Grants with the plan, for this session, until it ends:")
    hand.screen.lines(f"    {hand.screen.paint('bold', hand.screen.letters(one.rule or ''))}" for one in ticked)
    return ticked if await hand.yes("Grant this rule?" if len(ticked) == 1 else f"Grant these {len(ticked)} rules?") else []


async def _act(
    hand: Hand, key: str, plan: str | None, given: Mapping[str, Any] | None, version: Version | None
) -> Decision | None:
    match key:
        case "1" | "shift-tab":
            if plan is None or not await hand.yes("Start fresh? Claude forgets this talk and keeps the plan."):
                return None
            return Decision(Deny(FRESH, interrupt=True), "fresh start", fresh=plan, way="fresh")
        case "2":
            return _go_on(hand, "acceptEdits", "accept edits", given, version)
        case "3":
            return _go_on(hand, "default", "ask before each edit", given, version)
        case "d":
            words = await hand.line("what should change? (^D: back)")
            return Decision(Deny(words), f"not yet: {words}", way="revise") if words else None
        case "D":
            return Decision(Deny(STOP, interrupt=True), "plan kept, stopped", stops=True, way="stop")
    return None


def _go_on(hand: Hand, mode: str, words: str, given: Mapping[str, Any] | None, version: Version | None) -> Decision:
    if given is not None and (version is None or version < TAKES_EDITED_PLANS):
        hand.screen.say("  This Claude Code takes an edited plan only as feedback: it will ask again with it.")
        feedback = f"The user edited the plan. Use exactly this one:\n\n{given['plan']}"
        return Decision(Deny(feedback), "your version, as feedback", way="revise")
    update = {"type": "setMode", "mode": mode, "destination": "session"}
    way = "keep_edits" if mode == "acceptEdits" else "keep_ask"
    return Decision(Allow(updated_input=given, updated_permissions=[update]), f"approved: {words}", way=way)


def _draw(hand: Hand, question: Question, plan: str | None, granted: Sequence[AllowedPrompt] | None = None) -> None:
    screen = hand.screen
    screen.lines(["", screen.paint("amber", f"{screen.look.glyphs.asks} Plan to review")])
    if plan is None:
        screen.say("    Claude gave no plan text.")
    else:
        for line in plan.rstrip("\n").split("\n"):
            screen.lines(f"    {piece}" for piece in screen.wrapped(line, screen.look.width - 5))
    wishes = [f"{one.get('tool')}: {one.get('prompt')}" for one in _wishes(question)]
    if granted:
        screen.say("  It asks to be allowed, for this session (t ticks what you grant):")
        for number, one in enumerate(granted, 1):
            rule = one.rule or "mere words, no rule can be made of them"
            screen.say(f"    {number}  {screen.letters(f'{one.tool}: {one.prompt}')}   {screen.letters(rule)}")
    elif wishes:
        screen.say(f"  It asks to be allowed (going on grants none of it): {screen.letters(' · '.join(wishes))}")
    screen.lines(f"  {screen.key(key, words)}" for key, words in CHOICES[0 if plan is not None else 1 :])
    rest = [(key, words) for key, words in REST if key != "e" or plan is not None]
    tick = [("t", "grant what it asks for")] if any(one.rule for one in granted or ()) else []
    screen.lines(screen.keys([*([("o", "not yet, an outline first")] if granted is not None else []), *tick, *rest]))


def _wishes(question: Question) -> list[Mapping[str, Any]]:
    listed = question.input.get("allowedPrompts")
    return [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
