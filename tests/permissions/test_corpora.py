"""The corpora: requests with rules and the verdict that must come, by class. Each row can fail by itself; a test is a class."""

from __future__ import annotations

from typing import Any

import pytest

from tests.permissions.corpus_rows import attacks, by_class, rows, verdict_of, wrong

CORPORA = ("places", "rules", "commands")


@pytest.mark.parametrize("found", by_class("places"))
def test_files_and_hosts_are_judged_as_they_must_be(found: list[dict[str, Any]]) -> None:
    """Published holes (prefixes, links, hosts by their start) and *ours*."""
    assert wrong(found) == []


@pytest.mark.parametrize("found", by_class("rules"))
def test_rules_mean_what_they_say_and_nothing_wider(found: list[dict[str, Any]]) -> None:
    """Claude Code's own words for rules (*seed*), read more strictly (*ours*)."""
    assert wrong(found) == []


@pytest.mark.parametrize("found", by_class("commands"))
def test_whole_commands_are_judged_as_they_must_be(found: list[dict[str, Any]]) -> None:
    """Published holes of shell rules, and plain commands that must not be asked (*ours*)."""
    assert wrong(found) == []


@pytest.mark.parametrize("kind", attacks(), ids=lambda kind: f"{kind['class']}-{kind['expect']}".replace(" ", "-"))
def test_no_attack_is_allowed_and_everyday_work_is(kind: dict[str, Any]) -> None:
    """Published holes of others, and two thousand commands of an attacker who knows the shells and the programs (*ours*)."""
    shared = {name: kind[name] for name in ("expect", "allow", "deny")}
    assert wrong([{"command": command, **shared} for command in kind["commands"]]) == []


def test_the_corpora_are_as_large_as_promised() -> None:
    """*ours*: at least 100 files and hosts, 150 rules, 300 commands, 100 of them allowed."""
    commands = [row for name in CORPORA for row in rows(name) if "command" in row]
    assert len(rows("places")) >= 100
    assert len(rows("rules")) >= 150
    assert len({(row["command"], str(row.get("allow")), str(row.get("deny"))) for row in commands}) >= 300
    assert sum(row["expect"] == "allow" for row in rows("commands")) >= 100


def test_every_verdict_of_the_corpora_says_why_in_one_short_line() -> None:
    """*ours*: a reason that nobody can read is none."""
    for name in CORPORA:
        for row in rows(name):
            verdict = verdict_of(row)
            for because in (verdict.because, *(part.because for part in verdict.parts)):
                assert because and "\n" not in because and len(because) <= 300, (row, because)


def test_the_whole_is_as_strict_as_its_strictest_part() -> None:
    """*ours*"""
    order = ("deny", "ask", "allow")
    for row in rows("commands") + rows("rules"):
        verdict = verdict_of(row)
        assert all(order.index(part.behavior) >= order.index(verdict.behavior) for part in verdict.parts), row
