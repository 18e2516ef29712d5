"""Rules tried on what was asked before: more allowed, fewer, and where people said otherwise. Changes nothing, saves nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from .policy import decide
from .request import Context, Request, Verdict
from .rulebook import Rulebook
from .rules import Rule


class Past(Struct, frozen=True):
    """One recorded request, and what came of it where a person decided."""

    request: Request
    context: Context = Context()
    decided: Literal["allow", "deny", ""] = ""
    by: str = ""
    ref: str = ""
    """Which one it was, for a link."""


class Difference(Struct, frozen=True):
    past: Past
    before: Verdict
    after: Verdict


class Trial(Struct, frozen=True):
    """``conflicts`` are among the others: the rules now answer, and not as a person did."""

    total: int
    more: tuple[Difference, ...] = ()
    fewer: tuple[Difference, ...] = ()
    denied: tuple[Difference, ...] = ()
    conflicts: tuple[Difference, ...] = ()

    def words(self) -> str:
        return (
            f"{len(self.more)} more allowed, {len(self.fewer)} fewer, {len(self.denied)} more denied of {self.total}; "
            f"{len(self.conflicts)} against what people decided"
        )


def tried(before: Rulebook | Iterable[Rule], after: Rulebook | Iterable[Rule], past: Sequence[Past]) -> Trial:
    """What would change if the rules were ``after`` instead of ``before``."""
    old, new = Rulebook.of(before), Rulebook.of(after)
    found = [
        Difference(one, was, now)
        for one in past
        if (was := decide(one.request, old, one.context)).behavior != (now := decide(one.request, new, one.context)).behavior
    ]
    return Trial(
        len(past),
        more=tuple(one for one in found if one.after.behavior == "allow"),
        fewer=tuple(one for one in found if one.before.behavior == "allow"),
        denied=tuple(one for one in found if one.after.behavior == "deny"),
        conflicts=tuple(one for one in found if _conflict(one)),
    )


def tried_one(rule: Rule, rules: Rulebook | Iterable[Rule], past: Sequence[Past]) -> Trial:
    """What one rule more would change."""
    book = Rulebook.of(rules)
    return tried(book, Rulebook((*book.rules, rule)), past)


def matches(rule: Rule, past: Sequence[Past]) -> tuple[Past, ...]:
    """The requests that this rule has a say in, alone: what a card shows before it is granted."""
    alone = Rulebook((rule,))
    key = rule.id or rule.text
    return tuple(one for one in past if key in decide(one.request, alone, one.context).rules)


def _conflict(one: Difference) -> bool:
    return bool(one.past.decided) and one.after.behavior != "ask" and one.after.behavior != one.past.decided
