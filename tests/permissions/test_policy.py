"""What must be resolved before a verdict, what a verdict carries, and how long it may take on hostile patterns."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ropewalk.permissions.policy import decide, needs
from ropewalk.permissions.request import Context, Request
from ropewalk.permissions.rulebook import Rulebook
from ropewalk.permissions.rules import parse_rule
from ropewalk.permissions.secrets import TAG, built_in


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        (Request("Read", {"file_path": "src/a"}, "/p"), ["/p/src/a"]),
        (Request("Write", {"file_path": "/x/link/../a"}, "/p"), ["/x/link/../a"]),
        (Request("Read", {"file_path": "~/a"}, "/p"), ["/home/mia/a"]),
        (Request("Grep", {"pattern": "x"}, "/p"), ["/p/."]),
        (Request("Glob", {"pattern": "/etc/*"}, "/p"), ["/p/.", "/etc/*"]),
        (Request("Bash", {"command": "cd src && cat a > ../b"}, "/p"), ["/p/src", "/p/src/a", "/p/src/../b"]),
        (Request("Bash", {"command": "ls 2>&1"}, "/p"), []),
        (Request("WebFetch", {"url": "https://a.b"}, "/p"), []),
        (Request("Read", {"file_path": "a\0b"}, "/p"), []),
        (Request("Read", {}, "/p"), []),
        (Request("Bash", {}, "/p"), []),
    ],
)
def test_the_names_to_resolve_are_told_as_they_are_written(request_: Request, paths: list[str]) -> None:
    """*ours*: not normalised, since ``link/..`` is not where it seems; with the folders that rules begin at."""
    found = list(needs(request_, home="/home/mia", root="/p", folders=("/opt",)).paths)
    assert found[:3] == ["/p", "/home/mia", "/opt"]
    assert sorted(found[3:]) == sorted(paths)


def test_a_command_is_allowed_by_what_the_machine_says_of_its_files() -> None:
    """*ours*: the way from needs to verdict."""
    request = Request("Bash", {"command": "cd src && git status > out.txt"}, "/p")
    rules = [parse_rule("Bash(git status:*)", "allow"), parse_rule("Edit(src/**)", "allow")]
    plain = {path: path for path in needs(request).paths}
    assert decide(request, rules, Context(resolved=plain)).behavior == "allow"
    assert decide(request, rules, Context(resolved={**plain, "/p/src": "/etc"})).behavior == "ask"
    assert decide(request, rules, Context(resolved={**plain, "/p/src/out.txt": "/etc/passwd"})).behavior == "ask"
    assert decide(request, rules, Context(resolved={**plain, "/p/src/out.txt": "/p/.env"})).behavior == "ask"
    assert decide(request, [*rules, *built_in()], Context(resolved={**plain, "/p/src/out.txt": "/p/.env"})).behavior == "deny"


def test_each_part_has_its_own_verdict_and_reason() -> None:
    """*ours*"""
    rules = [*built_in(), parse_rule("Bash(git diff:*)", "allow", id="r1"), parse_rule("Bash(curl:*)", "deny", id="r2")]
    verdict = decide(Request("Bash", {"command": "cd src && git diff | curl x 2>&1 > out"}, "/p"), rules)
    assert [(part.kind, part.behavior, part.rule) for part in verdict.parts] == [
        ("command", "allow", None),
        ("command", "allow", "r1"),
        ("command", "deny", "r2"),
        ("redirect", "allow", None),
        ("redirect", "ask", None),
    ]
    assert verdict.rule == "r2" and verdict.because.endswith("denied by Bash(curl:*)")


def test_a_command_that_may_read_a_secret_is_tagged() -> None:
    """*ours*: asked with a tag where nobody knows what the program does with it."""
    verdict = decide(Request("Bash", {"command": "foo --config=.env && ls"}, "/p"), [*built_in(), parse_rule("Bash", "allow")])
    assert verdict.behavior == "ask" and verdict.tags == (TAG,) and verdict.parts[0].tags == (TAG,)


@pytest.mark.parametrize("tool", ["ExitPlanMode", "EnterPlanMode", "AskUserQuestion"])
def test_no_rule_allows_what_only_people_answer(tool: str) -> None:
    """*seed*: always to a person, whatever the rules say; also for a rule that was made without being checked."""
    forged = replace(parse_rule(tool, "ask"), behavior="allow")
    verdict = decide(Request(tool, {}, "/p"), [forged])
    assert verdict.behavior == "ask" and "only a person" in verdict.because


def test_a_change_of_rules_is_effective_at_once() -> None:
    """*ours*: nothing that was decided is kept; only commands taken apart are."""
    request = Request("Bash", {"command": "ls"}, "/p")
    allow, deny = parse_rule("Bash(ls)", "allow"), parse_rule("Bash(ls)", "deny")
    assert [decide(request, rules).behavior for rules in ([allow], [allow, deny], [allow], [])] == [
        "allow",
        "deny",
        "allow",
        "ask",
    ]


def test_a_context_of_another_request_is_not_taken_for_this_one() -> None:
    """*ours*: what is kept between names of one request does not outlive it."""
    book = Rulebook([parse_rule("Read(src/**)", "allow"), parse_rule("Read(/x/**)", "allow")])
    here, there = Context(root="/p"), Context(root="/q")
    for _ in range(2):
        assert decide(Request("Read", {"file_path": "/p/src/a"}, "/p"), book, here).behavior == "allow"
        assert decide(Request("Read", {"file_path": "/p/src/a"}, "/q"), book, here).behavior == "ask"
        assert decide(Request("Read", {"file_path": "/q/x/a"}, "/q"), book, there).behavior == "allow"
        assert decide(Request("Read", {"file_path": "/q/x/a"}, "/q"), book, here).behavior == "ask"


@pytest.mark.parametrize(
    "glob", ["**/" * 60 + "x", "*a" * 120 + "b", "**/*a*/" * 30 + "z", "[a-z]*" * 80 + "!", "?*" * 100 + "~"]
)
def test_no_pattern_takes_more_than_a_moment(glob: str) -> None:
    """*ours*: an expression that tries everything would not end before the test's own deadline."""
    path = "/".join(["a" * 60] * 60)
    for behavior in ("allow", "deny"):
        rules = [parse_rule(f"Read({glob})", behavior)]
        assert decide(Request("Read", {"file_path": path}, "/p"), rules).behavior == "ask"
