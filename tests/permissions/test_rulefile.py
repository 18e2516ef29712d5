"""Rules out of texts: our file, lists in a request, the CLI's own settings for show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.errors import UsageError
from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Request
from ropewalk.permissions.rulefile import rules_from_lists, rules_from_settings, rules_from_toml
from ropewalk.permissions.secrets import built_in

FILE = """
[rules]
allow = ["Bash(git diff:*)", "Read(src/**)"]
ask = ["Bash(git push:*)"]
deny = ["WebFetch(domain:evil.example)"]

[[folder]]
path = "/home/mia/shop"
allow = ["Edit(src/**)"]

[built_in]
off = ["env"]
"""


def test_a_file_holds_rules_for_everywhere_and_for_folders() -> None:
    """*ours*"""
    found = rules_from_toml(FILE, "rules.toml")
    assert [(rule.behavior, rule.text, rule.scope, rule.place) for rule in found.rules] == [
        ("deny", "WebFetch(domain:evil.example)", "everywhere", ""),
        ("ask", "Bash(git push:*)", "everywhere", ""),
        ("allow", "Bash(git diff:*)", "everywhere", ""),
        ("allow", "Read(src/**)", "everywhere", ""),
        ("allow", "Edit(src/**)", "folder", "/home/mia/shop"),
    ]
    assert all(rule.source == "file" and rule.made_by == "rules.toml" for rule in found.rules)
    assert found.off == ("env",) and len(built_in(found.off)) == len(built_in()) - 2
    assert rules_from_toml("").rules == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rules", "no TOML"),
        ('[rule]\nallow = ["Bash(ls)"]', "means nothing here"),
        ("[rules]\nallow = 'Bash(ls)'", "is a list"),
        ("[rules]\npermit = []", "deny, ask or allow"),
        ("[rules]\nallow = [7]", "is a text"),
        ("rules = 3", "write [rules]"),
        ("[folder]\npath = '/x'", "[[folder]]"),
        ("[[folder]]\nallow = []", "has a path"),
        ("[[folder]]\npath = 'x'\nallow = ['Bash(ls)']", "absolute path"),
        ("[built_in]\noff = ['nonsense']", "no built-in rule is called nonsense"),
        ("[built_in]\non = ['env']", "by their ids"),
        ('[rules]\nallow = ["Bash(gh:*", "Bash(ls)", "bash(x)"]', "'Bash(gh:*' is not taken"),
        ('[rules]\nallow = ["Bash(gh:*", "Bash(ls)", "bash(x)"]', "'bash(x)' is not taken"),
    ],
)
def test_a_file_with_a_mistake_is_not_taken_and_says_all_that_is_wrong(text: str, says: str) -> None:
    """*ours*: half a file would be other rules than the person wrote."""
    with pytest.raises(UsageError) as refused:
        rules_from_toml(text, "rules.toml")
    assert says in str(refused.value)


def test_rules_given_with_a_request_are_judged_beside_the_built_in_ones() -> None:
    """*ours*: the lists of ``rules test``."""
    rules = rules_from_lists({"allow": ["Bash(git diff:*)", "Read"], "deny": ["Bash(rm:*)"]})
    verdicts = [
        decide(Request(tool, given, "/p"), (*built_in(), *rules)).behavior
        for tool, given in (("Bash", {"command": "git diff"}), ("Bash", {"command": "rm x"}), ("Read", {"file_path": ".env"}))
    ]
    assert verdicts == ["allow", "deny", "deny"]


SETTINGS: dict[str, Any] = {
    "permissions": {
        "allow": ["Bash(npm run lint)", "Bash(npm run test *)", "Read(~/.zshrc)", "mcp__linear", 7],
        "deny": ["Bash(curl:*)"],
        "ask": "Bash(git push:*)",
        "defaultMode": "acceptEdits",
        "additionalDirectories": ["../docs/", 3],
    },
    "hooks": {},
}


def test_the_clis_own_settings_are_shown_with_what_we_would_not_take() -> None:
    """*seed*: the CLI applies its own rules before it asks; they are shown, never applied by us."""
    shown = rules_from_settings(json.dumps(SETTINGS), ".claude/settings.json")
    assert [(rule.behavior, rule.text, rule.source) for rule in shown.rules] == [
        ("deny", "Bash(curl:*)", "cli"),
        ("allow", "Bash(npm run lint)", "cli"),
        ("allow", "Read(~/.zshrc)", "cli"),
        ("allow", "mcp__linear", "cli"),
    ]
    assert [(behavior, text) for behavior, text, _ in shown.not_read] == [("allow", "Bash(npm run test *)"), ("allow", "7")]
    assert shown.mode == "acceptEdits" and shown.folders == ("../docs/",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"permissions": []}', "[" * 100_000])
def test_what_is_no_settings_file_is_refused(text: str) -> None:
    """*ours*"""
    with pytest.raises(UsageError, match=r"x\.json"):
        rules_from_settings(text, "x.json")


def test_settings_without_permissions_are_empty() -> None:
    """*ours*"""
    assert rules_from_settings("{}", "x.json").rules == ()
