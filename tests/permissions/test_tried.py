"""Rules tried on the past before they are saved."""

from __future__ import annotations

from typing import Any

from ropewalk.permissions.request import Request
from ropewalk.permissions.rules import parse_rule
from ropewalk.permissions.tried import Past, matches, tried, tried_one


def _past(command: str, decided: Any = "", by: str = "") -> Past:
    return Past(Request("Bash", {"command": command}, "/p"), decided=decided, by=by, ref=command)


PAST = [
    _past("npm run lint", "allow", "Mia"),
    _past("npm run deploy", "deny", "Jo"),
    _past("npm run test"),
    _past("ls"),
    _past("rm x"),
]


def test_one_rule_more_shows_what_it_would_have_allowed_and_against_whom() -> None:
    """*ours*: FACES' "37 more allowed, 0 fewer, 2 of them you denied"."""
    trial = tried_one(parse_rule("Bash(npm run:*)", "allow"), [], PAST)
    assert [one.past.ref for one in trial.more] == ["npm run lint", "npm run deploy", "npm run test"]
    assert [(one.past.ref, one.past.by) for one in trial.conflicts] == [("npm run deploy", "Jo")]
    assert trial.fewer == () and trial.total == 5
    assert trial.words() == "3 more allowed, 0 fewer, 0 more denied of 5; 1 against what people decided"


def test_a_deny_rule_shows_what_would_no_longer_run() -> None:
    """*ours*"""
    before = [parse_rule("Bash(npm run:*)", "allow"), parse_rule("Bash(ls)", "allow")]
    trial = tried_one(parse_rule("Bash(npm:*)", "deny"), before, PAST)
    assert [one.past.ref for one in trial.fewer] == ["npm run lint", "npm run deploy", "npm run test"]
    assert [one.past.ref for one in trial.conflicts] == ["npm run lint"]
    assert trial.more == () and len(trial.denied) == 3


def test_a_set_of_rules_is_compared_with_another() -> None:
    """*ours*"""
    before, after = [parse_rule("Bash(ls)", "allow")], [parse_rule("Bash(rm x)", "allow")]
    trial = tried(before, after, PAST)
    assert [one.past.ref for one in trial.more] == ["rm x"] and [one.past.ref for one in trial.fewer] == ["ls"]
    assert trial.more[0].before.because == "no rule matches" and trial.more[0].after.rule == "Bash(rm x)"


def test_a_rule_that_changes_nothing_says_so() -> None:
    """*ours*"""
    rule = parse_rule("Bash(ls)", "allow")
    trial = tried_one(rule, [rule], PAST)
    assert (trial.more, trial.fewer, trial.conflicts) == ((), (), ())


def test_what_a_rule_is_about_is_found_among_the_past() -> None:
    """*ours*: "Matches 4 of the last 1000 requests"; parts count, too."""
    past = [*PAST, _past("ls && npm run lint"), _past("npm run lint && unknown")]
    found = matches(parse_rule("Bash(npm run lint:*)", "allow"), past)
    assert [one.ref for one in found] == ["npm run lint", "ls && npm run lint", "npm run lint && unknown"]
