"""What a hub offers besides "once", in words: the exact rules, where they hold and until when, what they matched. Pure.

Refuses to leave out a past denial, a warning, or another question that a grant would answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from ...events.views import Matches, Offer, QuestionView, Step
from ...sessions.figures import count
from ..home import home_path
from ..screen import Screen

KEYS = {"s": "session", "A": "folder"}
"""Key → scope of the offer that it takes."""

MOST = 20
"""Rules with one answer."""


def offers_of(view: QuestionView) -> dict[str, Offer]:
    """By key. None where this can be allowed once only."""
    if view.once_only_because:
        return {}
    found = {offer.scope: offer for one in view.offers if (offer := replace(one, steps=few(one.steps))).steps}
    return {key: found[scope] for key, scope in KEYS.items() if scope in found}


def few(steps: Sequence[Step]) -> list[Step]:
    """Those that one answer can carry, and a person can read."""
    return [step for step in steps if len(step.rules) <= MOST]


def note_of(view: QuestionView) -> str:
    """Why less is offered than elsewhere; empty where nothing is missing."""
    if view.only_people:
        return ""
    if view.once_only_because:
        return f"Once only: {view.once_only_because.removesuffix(', so only once')}."
    if view.offers and not offers_of(view):
        return f"Once only: it would take {len(view.offers[0].steps[-1].rules)} rules, more than are granted at once ({MOST})."
    if view.no_always:
        return "Claude Code wants no lasting rule for this."
    return ""


def place_of(scope: str, place: str) -> str:
    """Where the rules will hold, and until when."""
    if scope == "session":
        return "for this session, until it ends"
    where = "everywhere" if scope == "everywhere" else f"in {home_path(place)}"
    return f"always {where}, until somebody ends it"


def matched(found: Matches | None) -> str:
    """What they would have had a say in."""
    if found is None:
        return ""
    if not found.total:
        return f"matches none of the last {found.of}" if found.of else "nothing was asked before"
    if found.total == 1:
        came = "denied" if found.denied else "allowed"
    else:
        came = f"{found.denied} of them denied" if found.denied else "all allowed"
    return f"matches {found.total} of the last {found.of}, {came}"


def matched_line(screen: Screen, found: Matches | None) -> str:
    """Red where a person said no to some of them."""
    words = matched(found)
    return screen.paint("red" if found is not None and found.denied else "dim", words)


def doubts(screen: Screen, step: Step) -> list[str]:
    """What a person should know about this width."""
    said = [step.warning] if step.warning else []
    if step.still_asked_because:
        said.append(f"It would still be asked: {step.still_asked_because}")
    return [screen.paint("amber", f"{screen.look.glyphs.warns} {screen.letters(one)}") for one in said]


def granting(
    screen: Screen, rules: Sequence[str], where: str, step: Step, others: Mapping[str, str], indent: str = "  "
) -> list[str]:
    """Everything that is read before the ``y``. ``others``: open questions by id, a line each."""
    lines = [f"Grants, {screen.letters(where)}:", *(f"  {screen.paint('bold', screen.letters(rule))}" for rule in rules)]
    if step.matches is not None:
        lines.append(matched_line(screen, step.matches))
    elif not step.warning:
        lines.append(screen.paint("dim", "what they would have matched before is not known now"))
    lines += doubts(screen, step)
    if step.also_answers:
        lines.append(f"Also answers {count(len(step.also_answers), 'other open question')}:")
        lines += [f"  {screen.letters(others.get(one, one))}" for one in step.also_answers]
    return [f"{indent}{line}" for line in lines]


def these(rules: Sequence[str]) -> str:
    return "Grant this rule?" if len(rules) == 1 else f"Grant these {len(rules)} rules?"
