"""Rules that would have answered what people keep approving. Never wider than what was approved: the narrowest offer or none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from .rulebook import Rulebook
from .rules import Rule, parse_rule
from .suggest import offers
from .tried import Past, matches

KEEPS = 3
"""Approved so often, it is kept approving."""


class Learnt(Struct, frozen=True):
    """``rules`` together would have answered so many requests. For hosts and MCP tools no rule is narrower than they are."""

    rules: tuple[str, ...]
    times: int
    example: Past


def learnt(past: Sequence[Past], rules: Rulebook | Iterable[Rule], least: int = KEEPS) -> tuple[Learnt, ...]:
    """The most useful first. What somebody ever denied is not suggested."""
    book = Rulebook.of(rules)
    approved: dict[tuple[str, ...], list[Past]] = {}
    for one in past:
        if one.decided == "allow":
            steps = offers(one.request, book, one.context).steps
            if steps and not steps[0].still_asked_because:
                approved.setdefault(steps[0].rules, []).append(one)
    denied = [one for one in past if one.decided == "deny"]
    found = [Learnt(texts, len(ones), ones[-1]) for texts, ones in approved.items() if len(ones) >= least]
    return tuple(sorted((one for one in found if not _denied(one, denied)), key=lambda one: (-one.times, one.rules)))


def _denied(one: Learnt, denied: Sequence[Past]) -> bool:
    return any(matches(parse_rule(text, "allow"), denied) for text in one.rules)
