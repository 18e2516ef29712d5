"""How long a verdict takes: commands, files and hosts against five hundred rules. Measures in this process; nothing else runs.

The rules are made from a seed and mixed: programs, folders, hosts, deny beside allow, and the built-in ones.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from bench import prepare
from bench.report import Report, machine
from bench.table import Row, spread
from ropewalk.permissions import policy
from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Context, Request
from ropewalk.permissions.rulebook import Rulebook
from ropewalk.permissions.rules import Rule, parse_rule
from ropewalk.permissions.secrets import built_in
from ropewalk.permissions.shell import taken_apart
from ropewalk.permissions.tried import Past, tried_one

RULES = 500
LINES = 5
"""Seconds for 10,000 requests."""
COLUMNS = ("", "beside it", "without rules", "ropewalk", "ratio", "to reach", "verdict")
CWD, CONTEXT = "/home/mia/shop", Context(root="/home/mia/shop", home="/home/mia")
COMMANDS = (
    "git status --short && git diff HEAD~1 -- src/a.py | head -20",
    "npm run lint && npm run test -- --watch=false 2>&1 | tail -50",
    "cd src && cat a.py b.py | head -5; git status",
    "ruff check . && mypy src && pytest -q tests/test_total.py > out/log.txt 2>&1",
)
ALLOW = ("git status:*", "git diff:*", "npm run:*", "head:*", "tail:*", "cat:*", "ruff:*", "mypy:*", "pytest:*")


def rules(count: int = RULES) -> tuple[Rule, ...]:
    """The built-in rules and so many others."""
    own = [f"Bash({text})" for text in ALLOW] + ["Edit(out/**)", "Read(src/**)", "WebFetch(domain:docs.example.com)"]
    kinds = (
        "Bash(tool{} sub:*)",
        "Edit(src/mod{}/**)",
        "Read(//opt/pkg{}/**)",
        "WebFetch(domain:h{}.example.com)",
        "mcp__s{}__t",
    )
    made = [parse_rule(text, "allow") for text in own]
    made += [
        parse_rule(kinds[at % len(kinds)].format(at), ("allow", "deny", "allow", "ask")[at // len(kinds) % 4])
        for at in range(count - len(made))
    ]
    return (*built_in(), *made)


def full() -> Report:
    return _run(rounds=5, times=2000, lines=10_000)


def quick() -> Report:
    return _run(rounds=1, times=100, lines=500)


def _run(rounds: int, times: int, lines: int) -> Report:
    began, book = perf_counter(), Rulebook(rules())
    figures: dict[str, list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for name, call in _measures(book).items():
            figures.setdefault(name, []).append(_timed(call, times))
        figures.setdefault("lines", []).append(_lines(lines))
        figures.setdefault("past", []).append(_past(book))
    about = {**machine(), "source": prepare.revision(), "rules": len(book.rules), "seconds": perf_counter() - began}
    words = (
        f"Verdicts of ropewalk {about['source']} · Python {about['python']}, {about['cores']} cores, {about['seconds']:.0f} s · "
        f"{about['rules']} rules\nFigures are medians of the rounds (least–greatest)."
    )
    return Report(
        "bench-verdicts", about, words, _rows(figures, lines), {name: {"ours": runs} for name, runs in figures.items()}, COLUMNS
    )


def _measures(book: Rulebook) -> dict[str, Callable[[int], Any]]:
    asked = [Request("Bash", {"command": command}, CWD) for command in COMMANDS]
    fresh = [[Request("Bash", {"command": f"{command} x{at}"}, CWD) for at in range(512)] for command in COMMANDS]
    file, host = Request("Read", {"file_path": "src/a.py"}, CWD), Request("WebFetch", {"url": "https://docs.example.com/x"}, CWD)

    def anew(at: int) -> Any:
        if at % 2048 == 0:
            policy.forget()
        return decide(fresh[at % 4][at // 4 % 512], book, CONTEXT)

    return {
        "anew": anew,
        "again": lambda at: decide(asked[at % 4], book, CONTEXT),
        "apart": lambda at: taken_apart(COMMANDS[at % 4]),
        "file": lambda at: decide(file, book, CONTEXT),
        "host": lambda at: decide(host, book, CONTEXT),
    }


def _timed(call: Callable[[int], Any], times: int) -> dict[str, Any]:
    took = []
    for at in range(times):
        start = perf_counter()
        call(at)
        took.append((perf_counter() - start) * 1e6)
    return {"p50": median(took), "p99": quantiles(took, n=100)[98]}


def _lines(count: int) -> dict[str, Any]:
    """``ropewalk rules test --jsonl`` from its start to its end: each line with rules of its own."""
    texts = [
        json.dumps({
            "tool": "Bash", "input": {"command": f"{COMMANDS[at % 4]} x{at}"}, "cwd": CWD,
            "rules": {"allow": [f"Bash({text})" for text in ALLOW], "deny": [f"Bash(tool{at % 50}:*)"]},
        })
        for at in range(count)
    ]  # fmt: skip
    words = [sys.executable, "-m", "ropewalk", "rules", "test", "--jsonl"]
    start = perf_counter()
    done = subprocess.run(words, input="\n".join(texts).encode(), capture_output=True, check=True)
    took = perf_counter() - start
    told = [json.loads(line)["behavior"] for line in done.stdout.splitlines()]
    if len(told) != count or told.count("allow") == 0:
        raise RuntimeError(f"{count} lines were answered by {len(told)}, {told.count('allow')} of them allowed")
    return {"all": took}


def _past(book: Rulebook) -> dict[str, Any]:
    past = [Past(Request("Bash", {"command": f"{COMMANDS[at % 4]} x{at}"}, CWD), CONTEXT) for at in range(1000)]
    start = perf_counter()
    tried_one(parse_rule("Bash(npm:*)", "deny"), book, past)
    return {"all": (perf_counter() - start) * 1e3}


def _rows(figures: dict[str, list[dict[str, Any]]], lines: int) -> list[Row]:
    def row(what: str, measure: str, key: str, unit: str, most: float | None, beside: str = "–") -> Row:
        values = [run[key] for run in figures[measure]]
        middle = median(values)
        wanted, verdict = ("–", "–") if most is None else (f"≤ {most:g} {unit}", "reached" if middle <= most else "not reached")
        return Row(what, "–", beside, spread(values, 1.0, unit), "–", wanted, verdict)

    apart = f"{median(run['p50'] for run in figures['apart']):.0f} µs to take it apart"
    return [
        row("compound command, never seen before: p50", "anew", "p50", "µs", 200, apart),
        row("… p99", "anew", "p99", "µs", None),
        row("compound command, taken apart already: p50", "again", "p50", "µs", None),
        row("a command taken apart: p50", "apart", "p50", "µs", 100),
        row("a file: p50", "file", "p50", "µs", None),
        row("a host: p50", "host", "p50", "µs", None),
        row(f"rules test --jsonl: {lines:,} requests, rules in each", "lines", "all", "s", LINES if lines == 10_000 else None),
        row("one rule tried on 1,000 past requests", "past", "all", "ms", None),
    ]
