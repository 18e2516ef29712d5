"""Rules that end: by time, by count, with the turn or the session. Pure: clock and turn are given; counting makes a copy."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from ..errors import UsageError
from .rules import Rule


class Grant(Struct, frozen=True):
    """A rule with an end. Of several ends the first one counts; without any it ends when somebody takes it back."""

    rule: Rule
    ends_at: float | None = None
    """Seconds since 1970, by the hub's clock. It has ended at that moment."""
    uses_left: int | None = None
    turn: str = ""
    """The turn that it ends with."""
    session: str = ""
    """The session that it ends with, and the only one that it holds in."""


def granted(rule: Rule, *, ends_at: float | None = None, uses: int | None = None, turn: str = "", session: str = "") -> Grant:
    """The grant, checked. Raises `UsageError`: only allow is granted, and a count begins at one."""
    if rule.behavior != "allow":
        raise UsageError(f"a grant allows something: {rule.text} says {rule.behavior}")
    if uses is not None and uses < 1:
        raise UsageError("a grant is for one use or more")
    if turn and not session:
        raise UsageError("a grant for a turn names its session too")
    return Grant(rule, ends_at, uses, turn, session)


def why_ended(grant: Grant, now: float, turn: str, session: str) -> str:
    """Why it does not hold for this session, in this turn, now; empty while it does."""
    if grant.session and grant.session != session:
        return "it was for another session"
    if grant.turn and grant.turn != turn:
        return "its turn is over"
    if grant.uses_left is not None and grant.uses_left < 1:
        return "it is used up"
    # Written this way round so that a time that is no number has ended, too.
    if grant.ends_at is not None and not now < grant.ends_at:
        return "its time is over"
    return ""


def live(grant: Grant, now: float, turn: str, session: str) -> bool:
    return not why_ended(grant, now, turn, session)


def rules_of(grants: Iterable[Grant], now: float, turn: str, session: str) -> tuple[Rule, ...]:
    """The rules of those that hold: what to give to `decide` besides the lasting ones."""
    return tuple(grant.rule for grant in grants if live(grant, now, turn, session))


def used(grant: Grant) -> Grant:
    """The same grant with one use less; it may be the last. Keep this one instead."""
    return grant if grant.uses_left is None else replace(grant, uses_left=max(0, grant.uses_left - 1))


def after(grants: Iterable[Grant], rules: Collection[str]) -> tuple[Grant, ...]:
    """All of them after one request that the ``rules`` of a verdict answered: a request is one use, whatever its parts."""
    return tuple(used(grant) if (grant.rule.id or grant.rule.text) in rules else grant for grant in grants)
