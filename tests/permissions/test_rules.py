"""How rules are written: what is refused says how to write it, and nothing malformed becomes wider."""

from __future__ import annotations

from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Context, Request
from ropewalk.permissions.rules import parse_rule
from ropewalk.permissions.secrets import GLOBS, STARTERS, built_in
from tests.demand import demand
from tests.permissions.corpus_rows import rows

REFUSED = {row["text"]: row["says"] for row in rows("malformed")}
"""A rule to allow by → words of the sentence that refuses it."""

REQUESTS = [
    Request(tool, given, "/p")
    for tool, given in (
        ("Bash", {"command": "ls"}), ("Bash", {"command": "gh pr list"}), ("Bash", {"command": "rm -rf /"}), ("mcp__a__b", {}),
        ("Read", {"file_path": "a"}), ("Edit", {"file_path": "/x"}), ("WebFetch", {"url": "https://a.b/"}), ("NewTool", {}),
        ("ExitPlanMode", {}),
    )
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_a_malformed_rule_is_refused_with_a_sentence_that_says_how_to_write_it(text: str) -> None:
    """claude-code-action 1350: an unclosed ``Bash(gh:*`` became plain ``Bash``."""
    with pytest.raises(UsageError, match="is not taken") as refused:
        parse_rule(text, "allow")
    assert REFUSED[text] in str(refused.value)
    assert "\n" not in str(refused.value) and not any(ord(char) < 32 for char in str(refused.value))


@pytest.mark.parametrize("wrong", [None, 7, ["Bash"], b"Bash"])
def test_what_is_no_text_is_no_rule(wrong: Any) -> None:
    """*ours*"""
    with pytest.raises(UsageError, match="is a text"):
        parse_rule(wrong, "allow")


def test_behaviour_and_scope_are_checked() -> None:
    """*ours*"""
    for more in (
        {"scope": "somewhere"},
        {"scope": "folder"},
        {"scope": "session"},
        {"place": "/x"},
        {"scope": "folder", "place": "x"},
    ):
        with pytest.raises(UsageError):
            parse_rule("Bash(ls)", "allow", **more)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="deny, ask or allow"):
        parse_rule("Bash(ls)", "permit")  # type: ignore[arg-type]


def test_a_rule_that_people_may_deny_by_is_taken() -> None:
    """*ours*: a policy may deny what only people may allow."""
    for tool in ("ExitPlanMode", "EnterPlanMode", "AskUserQuestion"):
        assert decide(Request(tool, {}, "/p"), [parse_rule(tool, "deny")]).behavior == "deny"


def test_rules_hold_in_their_scope_only() -> None:
    """*ours*: everywhere, a folder with all below it, one session."""
    request = Request("Bash", {"command": "ls"}, "/p/web")

    def behavior(session: str = "", **scope: Any) -> str:
        return decide(request, [parse_rule("Bash(ls)", "allow", **scope)], Context(session=session)).behavior

    assert behavior() == "allow"
    assert behavior(scope="folder", place="/p") == "allow"
    assert behavior(scope="folder", place="/p/web") == "allow"
    assert behavior(scope="folder", place="/p/w") == "ask"
    assert behavior(scope="folder", place="/p/web/x") == "ask"
    assert behavior("s1", scope="session", place="s1") == "allow"
    assert behavior("s2", scope="session", place="s1") == "ask"
    assert behavior("", scope="session", place="s1") == "ask"


def test_a_narrow_scope_does_not_soften_a_wide_one() -> None:
    """*ours*: deny beats ask beats allow, whatever the scope."""
    request = Request("Bash", {"command": "ls"}, "/p")
    here = parse_rule("Bash(ls)", "allow", scope="folder", place="/p")
    assert decide(request, [here, parse_rule("Bash(ls:*)", "deny")]).behavior == "deny"
    assert decide(request, [parse_rule("Bash(ls:*)", "ask"), here]).behavior == "ask"


def test_the_reason_names_the_rule_and_who_made_it() -> None:
    """*ours*: FACES' "why was this allowed?"."""
    request = Request("Bash", {"command": "git push"}, "/p")
    verdict = decide(request, [parse_rule("Bash(git push:*)", "allow", id="r1", made_by="Mia")])
    assert verdict.because == "allowed by Bash(git push:*) (Mia)" and verdict.rule == "r1" and verdict.rules == ("r1",)
    assert decide(request, []).because == "no rule matches"


def test_built_in_rules_are_listed_and_each_can_be_switched_off() -> None:
    """Secrets are denied at any depth by default (*ours*); an admin decides."""
    everything = built_in()
    assert len({rule.id for rule in everything}) == len(everything) == 2 * len(GLOBS) + len(STARTERS)
    assert all(rule.source == "built_in" and rule.behavior in ("deny", "ask") for rule in everything)
    for id in GLOBS:
        assert len(built_in([id])) == len(everything) - 2
        assert len(built_in([f"built-in:{id}:read"])) == len(everything) - 1
    assert all(len(built_in([id])) == len(everything) - 1 for id in STARTERS)
    with pytest.raises(UsageError, match="no built-in rule is called nonsense"):
        built_in(["nonsense"])


@demand("004-40")
def test_no_default_allows_anything() -> None:
    """*ours*: without rules of people everything is asked, and Bash is in no default set."""
    assert [decide(request, built_in()).behavior for request in REQUESTS] == ["ask"] * len(REQUESTS)
    assert decide(REQUESTS[0], [*built_in(), parse_rule("Bash", "allow")]).behavior == "allow"
