"""Reads the corpora: what is asked with which rules, and the verdict that must come. Decides nothing by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Context, Request, Verdict
from ropewalk.permissions.rulefile import rules_from_lists
from ropewalk.permissions.secrets import built_in

FOLDER = Path(__file__).with_name("corpus")
CWD, HOME = "/home/mia/shop", "/home/mia"
ALSO = {"not allow": ("ask", "deny")}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines() if line.strip()]


def attacks() -> list[dict[str, Any]]:
    """Classes of commands that share their rules: what attackers try, and what people do every day beside rules that deny."""
    found: list[dict[str, Any]] = json.loads((FOLDER / "attacks.json").read_text("utf-8"))
    return found


def by_class(name: str) -> list[ParameterSet]:
    """The rows of each class as one test: hundreds of tiny tests cost more to collect than to run."""
    sorted_in: dict[str, list[dict[str, Any]]] = {}
    for row in rows(name):
        sorted_in.setdefault(row["class"], []).append(row)
    return [pytest.param(found, id=kind.replace(" ", "-")) for kind, found in sorted_in.items()]


def verdict_of(row: dict[str, Any]) -> Verdict:
    tool = row.get("tool", "Bash")
    given = row["input"] if "input" in row else {"command": row["command"]}
    request = Request(tool, given, row.get("cwd", CWD), row.get("interaction", False))
    context = Context(root=CWD, home=HOME, resolved=row.get("resolved"), folders=tuple(row.get("folders", ())))
    lists = {key: row[key] for key in ("allow", "ask", "deny") if key in row}
    return decide(request, (*built_in(row.get("off", ())), *rules_from_lists(lists)), context)


def wrong(found: list[dict[str, Any]]) -> list[str]:
    """What came out other than it must, one line each."""
    wrong = []
    for row in found:
        verdict = verdict_of(row)
        if verdict.behavior not in ALSO.get(row["expect"], (row["expect"],)):
            asked = row.get("command", row.get("input"))
            wrong.append(f"{asked!r} is {verdict.behavior}, must be {row['expect']} ({row.get('why', '')}): {verdict.because}")
    return wrong
