"""Offers for one request, and rules learnt from what people keep approving: never wider than shown, never a whole tool."""

from __future__ import annotations

from typing import Any

import pytest

from ropewalk.permissions.learnt import learnt
from ropewalk.permissions.request import Context, Request
from ropewalk.permissions.rules import parse_rule
from ropewalk.permissions.secrets import built_in
from ropewalk.permissions.suggest import offers
from ropewalk.permissions.tried import Past

CONTEXT = Context(root="/p", home="/home/mia")


def _request(tool: str, given: Any) -> Request:
    key = {"Bash": "command", "WebFetch": "url"}.get(tool, "file_path")
    return Request(tool, given if isinstance(given, dict) else {key: given}, "/p")


OFFERED: list[tuple[str, Any, list[list[str]]]] = [
    (
        "Bash",
        "npm run migrate -- --env local",
        [["Bash(npm run migrate -- --env local)"], ["Bash(npm run migrate:*)"], ["Bash(npm:*)"]],
    ),
    ("Bash", "git push origin main", [["Bash(git push origin main)"], ["Bash(git push:*)"], ["Bash(git:*)"]]),
    ("Bash", "ls -l > /tmp/x", [["Bash(ls -l)", "Edit(//tmp/x)"], ["Bash(ls:*)", "Edit(//tmp/x)"]]),
    ("Bash", "cd src && foo", [["Bash(foo)"], ["Bash(foo:*)"]]),
    ("Bash", "rm -rf build", [["Bash(rm -rf build)"]]),
    ("Bash", "curl https://a.b", [["Bash(curl https://a.b)"]]),
    ("Edit", "/p/src/a.py", [["Edit(src/a.py)"], ["Edit(src/*)"], ["Edit(src/**)"]]),
    ("Write", "/p/a*.py", [["Edit(a\\*.py)"]]),
    ("Read", "/opt/lib/x/y", [["Read(//opt/lib/x/y)"], ["Read(//opt/lib/x/*)"], ["Read(//opt/lib/x/**)"]]),
    ("Read", "/home/mia/notes.md", [["Read(~/notes.md)"]]),
    ("Grep", {"pattern": "x", "path": "src"}, [["Read(src/**)"]]),
    ("WebFetch", "https://api.tax.example/v2?x=1", [["WebFetch(domain:api.tax.example)"]]),
    ("WebFetch", "http://localhost:3000/", [["WebFetch(domain:localhost:3000)"]]),
    ("mcp__linear__create_issue", {}, [["mcp__linear__create_issue"]]),
    ("Task", {"subagent_type": "Explore"}, [["Task(Explore)"]]),
]


@pytest.mark.parametrize(("tool", "given", "steps"), OFFERED)
def test_offers_go_from_narrow_to_wide_with_their_exact_text(tool: str, given: Any, steps: list[list[str]]) -> None:
    """*ours*: the card shows the rule before anything is granted."""
    found = offers(_request(tool, given), built_in(), CONTEXT)
    assert [list(step.rules) for step in found.steps] == steps
    assert all(not step.still_asked_because for step in found.steps)


@pytest.mark.parametrize(
    ("tool", "given", "because"),
    [
        ("Bash", "eval x", "so only once"),
        ("Bash", "ls 'unclosed", "so only once"),
        ("Bash", "$x", "so only once"),
        ("Bash", "GIT_SSH=./x git fetch", "GIT_SSH"),
        ("Bash", "foo .env", "secret"),
        ("Bash", "foo <<< x", "the text given to it"),
        ("Bash", "", "so only once"),
        ("Bash", {}, "so only once"),
        ("Read", ".env", "nothing is to be granted: denied by"),
        ("Read", {}, "can't be told"),
        ("WebFetch", "https://a@b.c/", "user's name"),
        ("WebSearch", {"query": "x"}, "every use of WebSearch"),
        ("TodoWrite", {}, "every use of TodoWrite"),
        ("NewTool", {}, "not known to ropewalk yet"),
        ("ExitPlanMode", {}, "only a person"),
        ("AskUserQuestion", {}, "only a person"),
        ("EnterPlanMode", {}, "only a person"),
    ],
)
def test_where_nothing_can_be_offered_it_says_why(tool: str, given: Any, because: str) -> None:
    """*ours*"""
    found = offers(_request(tool, given), built_in(), CONTEXT)
    assert found.steps == () and because in found.once_only_because


def test_a_dialog_is_never_offered_as_a_rule() -> None:
    """*ours*: only a person answers it, each time."""
    found = offers(Request("mcp__a__b", {}, "/p", interaction=True), [], CONTEXT)
    assert found.steps == () and "only a person" in found.once_only_because


def test_a_whole_program_carries_a_warning() -> None:
    """*ours*"""
    *narrow, wide = offers(_request("Bash", "npm run build"), [], CONTEXT).steps
    assert wide.warning == "This also allows npm with any arguments." and not any(step.warning for step in narrow)


def test_an_offer_that_would_not_be_enough_says_so() -> None:
    """*ours*: a rule that says ask still asks."""
    found = offers(_request("Bash", "git push"), [parse_rule("Bash(git push:*)", "ask", made_by="Mia")], CONTEXT)
    assert all("asked because of Bash(git push:*) (Mia)" in step.still_asked_because for step in found.steps) and found.steps


def test_a_file_behind_a_link_is_offered_by_both_of_its_names() -> None:
    """*ours*: allow needs both."""
    context = Context(root="/p", home="/home/mia", resolved={"/p": "/p", "/p/out/a": "/data/out/a"})
    steps = offers(_request("Write", "/p/out/a"), [], context).steps
    assert steps[0].rules == ("Edit(out/a)", "Edit(//data/out/a)") and not steps[0].still_asked_because


def _past(command: str, decided: Any = "allow", times: int = 1) -> list[Past]:
    return [Past(_request("Bash", command), CONTEXT, decided, "Mia")] * times


def test_what_people_keep_approving_becomes_the_narrowest_rule() -> None:
    """*ours*: rules that would have answered it, never wider than what was approved."""
    past = [
        *_past("npm run lint", times=5),
        *_past("git push origin main", times=3),
        *_past("ls -l", times=2),
        *_past("eval x", times=9),
    ]
    assert [(one.rules, one.times) for one in learnt(past, built_in())] == [
        (("Bash(npm run lint)",), 5),
        (("Bash(git push origin main)",), 3),
    ]


def test_nothing_is_learnt_that_rules_answer_or_that_somebody_denied() -> None:
    """*ours*"""
    past = [*_past("npm run lint", times=5), *_past("npm run deploy", times=4), *_past("npm run deploy", "deny")]
    assert [one.rules for one in learnt(past, built_in())] == [("Bash(npm run lint)",)]
    assert learnt(past, [parse_rule("Bash(npm run:*)", "allow")]) == ()
    assert learnt(_past("npm run lint", "", times=9), []) == ()
