"""What may be granted with an answer, and the rules that come of it. Refuses rules that were not on the card.

Nothing is granted wider than it was shown: no rule for a whole tool, none that has no say in what was asked.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import Conflict, UsageError
from ..events import commands as c
from ..events import views as v
from ..events.commands import Principal
from ..permissions.policy import decide
from ..permissions.request import Verdict
from ..permissions.rulebook import Rulebook
from ..permissions.rules import Rule, parse_rule
from ..permissions.suggest import offers
from ..permissions.tags import tagged
from ..store.rows import RuleRow
from .inforce import row_of
from .verdicts import Subject, part_view

if TYPE_CHECKING:
    from .session import Session


def judged(view: v.QuestionView, subject: Subject, verdict: Verdict, book: Rulebook) -> None:
    """What the rules say of it, and what could be granted, onto the card."""
    verdict = tagged(subject.request, verdict, subject.context)
    view.parts = [part_view(part) for part in verdict.parts]
    view.tags, view.because, view.because_rule = list(verdict.tags), verdict.because, verdict.rule
    found = offers(subject.request, book, subject.context)
    view.once_only_because = found.once_only_because
    if view.only_people:
        view.once_only_because = view.once_only_because or "only a person answers this, each time"
        return
    steps = [
        v.Step(rules=list(step.rules), warning=step.warning, still_asked_because=step.still_asked_because) for step in found.steps
    ]
    if steps:
        first = list(steps[0].rules)
        view.offers = [v.Offer(scope="session", rules=first, steps=steps)]
        if not view.no_always:
            view.offers.append(v.Offer(scope="folder", places=[view.cwd], rules=first, steps=steps))


def granted(session: Session, who: Principal, view: v.QuestionView, subject: Subject, remember: c.Remember) -> list[RuleRow]:
    """The rows of the rules that this answer makes; not stored yet."""
    if view.once_only_because:
        raise Conflict(f"this can be allowed once only: {view.once_only_because}", code="once_only")
    if view.no_always and remember.scope != "session":
        raise Conflict("Claude Code wants no lasting rule for this: allow it once, or for this session", code="once_only")
    place = _place(session, remember)
    shown = {text for offer in view.offers for step in offer.steps for text in step.rules}
    rules = [_rule(text, remember, place, subject, text in shown) for text in dict.fromkeys(remember.rules)]
    now = session.world.clock()
    return [
        row_of(
            rule,
            RuleRow(
                id=session.world.new_id(), behavior="allow", tool=rule.tool, by=who.name, door=who.door, question=view.id,
                session=session.id, turn=session.known.turn if remember.turn else None, because=view.line, created_at=now,
                ends_at=now + remember.for_seconds if remember.for_seconds else None, uses_left=remember.uses,
            ),
        )
        for rule in rules
    ]  # fmt: skip


def _place(session: Session, remember: c.Remember) -> str:
    if remember.scope == "session":
        return session.id
    if remember.scope == "everywhere":
        return ""
    place = os.path.normpath(os.path.expanduser(remember.place or session.row.cwd))
    if place != session.row.cwd and not f"{session.row.cwd}/".startswith(f"{place.rstrip('/')}/"):
        raise UsageError(f"{place} is not the session's folder, nor one above it; the rule would not hold here")
    return place


def _rule(text: str, remember: c.Remember, place: str, subject: Subject, shown: bool) -> Rule:
    """``shown``: it was offered. Of the two names of a linked file neither has a say alone."""
    rule = parse_rule(text, "allow", scope=remember.scope, place=place)
    if rule.pattern is None and not (rule.tool.startswith("mcp__") and rule.tool == subject.request.tool):
        raise UsageError(f"{text} is for every use of {rule.tool}: that is made among the rules, never on a card")
    if not shown and text not in decide(subject.request, Rulebook((rule,)), subject.context).rules:
        raise UsageError(f"{text} has no say in what is asked here: make it among the rules, if it is meant")
    return rule
