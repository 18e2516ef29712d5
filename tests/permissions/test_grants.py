"""Grants end by time, count, turn or session, whichever comes first; nothing here looks at a clock."""

from __future__ import annotations

from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.permissions.grants import Grant, after, granted, live, rules_of, used, why_ended
from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Request
from ropewalk.permissions.rules import parse_rule

RULE = parse_rule("Bash(npm run migrate:*)", "allow", id="g1")
REQUEST = Request("Bash", {"command": "npm run migrate -- --env local"}, "/p")


def _grant(**ends: Any) -> Grant:
    return granted(RULE, **ends)


@pytest.mark.parametrize(
    ("ends", "now", "turn", "session", "why"),
    [
        ({}, 0.0, "t1", "s1", ""),
        ({"ends_at": 100.0}, 99.9, "t1", "s1", ""),
        ({"ends_at": 100.0}, 100.0, "t1", "s1", "its time is over"),
        ({"ends_at": float("nan")}, 0.0, "t1", "s1", "its time is over"),
        ({"uses": 1}, 0.0, "t1", "s1", ""),
        ({"session": "s1"}, 0.0, "t9", "s1", ""),
        ({"session": "s1"}, 0.0, "t1", "s2", "it was for another session"),
        ({"session": "s1"}, 0.0, "t1", "", "it was for another session"),
        ({"session": "s1", "turn": "t1"}, 0.0, "t1", "s1", ""),
        ({"session": "s1", "turn": "t1"}, 0.0, "t2", "s1", "its turn is over"),
        ({"session": "s1", "turn": "t1"}, 0.0, "", "s1", "its turn is over"),
        ({"session": "s1", "ends_at": 5.0, "uses": 3}, 5.0, "t1", "s1", "its time is over"),
    ],
)
def test_a_grant_holds_until_its_first_end(ends: dict[str, Any], now: float, turn: str, session: str, why: str) -> None:
    """*ours*"""
    grant = _grant(**ends)
    assert why_ended(grant, now, turn, session) == why
    assert live(grant, now, turn, session) == (why == "")


def test_a_counted_grant_is_used_up() -> None:
    """*ours*: each use gives a new grant; the old one is not changed."""
    two = _grant(uses=2)
    one, none = used(two), used(used(two))
    assert (two.uses_left, one.uses_left, none.uses_left) == (2, 1, 0)
    assert live(one, 0, "", "") and why_ended(none, 0, "", "") == "it is used up"
    assert used(none).uses_left == 0


def test_one_request_is_one_use_however_many_parts_it_has() -> None:
    """*ours*"""
    grants = (_grant(uses=2), granted(parse_rule("Bash(ls)", "allow", id="g2"), uses=1))
    request = Request("Bash", {"command": "npm run migrate && npm run migrate x"}, "/p")
    verdict = decide(request, rules_of(grants, 0, "", ""))
    assert verdict.behavior == "allow" and verdict.rules == ("g1",)
    assert [grant.uses_left for grant in after(grants, verdict.rules)] == [1, 1]


def test_an_ended_grant_answers_nothing() -> None:
    """*ours*"""
    grants = (_grant(ends_at=10.0),)
    assert decide(REQUEST, rules_of(grants, 9.0, "", "")).behavior == "allow"
    assert decide(REQUEST, rules_of(grants, 10.0, "", "")).behavior == "ask"


def test_only_permission_is_granted_and_a_count_begins_at_one() -> None:
    """*ours*"""
    with pytest.raises(UsageError, match="says deny"):
        granted(parse_rule("Bash(ls)", "deny"))
    for ends in ({"uses": 0}, {"turn": "t1"}):
        with pytest.raises(UsageError):
            _grant(**ends)
