"""Figures of the hub in, the table out: what stands beside it, what was wanted and reached. Refuses to round in our favour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.table import CROWDED, Row, spread

Runs = dict[str, list[dict[str, Any]]]
Figures = dict[str, Runs]
Value = Callable[[dict[str, Any]], float]


@dataclass(frozen=True, slots=True)
class Kind:
    """How one row is made. ``bound`` is of the ratio to ``against``; without that, of our figure itself in ``unit``."""

    what: str
    measure: str
    value: Value
    unit: str
    against: str = ""
    bound: float | None = None
    at_least: bool = False
    beside: str = ""
    """Shown in the column of the prototype, where that is another contender than ``against``."""
    why_not: str = ""
    waits: bool = False
    """Wall time of several processes: at the mercy of whatever else runs."""

    def wanted(self) -> str:
        if self.bound is None:
            return "–"
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.bound:g}× {NAMES[self.against]}" if self.against else f"{sign} {self.bound:g} {self.unit}"

    def met(self, found: float) -> bool:
        assert self.bound is not None
        return found >= self.bound if self.at_least else found <= self.bound


NAMES = {"limit": "the prototype", "raw": "raw", "uvicorn": "bare uvicorn", "sockets": "raw"}

EVENTS = (
    "the prototype keeps and tells the line itself; the hub hears it from a runner that spools it, types and translates it, "
    "keeps line and event with their checks, knows how the session stands. Its threads share one interpreter lock: CPU adds up"
)
WAITS = "a line passes one more process than in the prototype; where others want the cores, each of them waits for its turn"

KINDS = (
    Kind("events/s, 1 session, 1 listener", "flow 1 session", lambda run: run["events"], "k", "limit", 0.5, True,
         why_not=EVENTS, waits=True),
    Kind("… events/s with tools (5 events for 3 lines)", "flow 1 session, tools", lambda run: run["events"], "k", "limit"),
    Kind("… lines/s with tools", "flow 1 session, tools", lambda run: run["lines"], "k", "limit"),
    Kind("… hub CPU per event", "flow 1 session", lambda run: run["cpu"]["hub"], "µs", "limit"),
    Kind("… runner CPU per event", "flow 1 session", lambda run: run["cpu"].get("runner", 0.0), "µs"),
    Kind("events/s, 50 sessions, 50 listeners", "flow 50 sessions", lambda run: run["events"], "k", "limit", 0.5, True,
         why_not=EVENTS, waits=True),
    Kind("line out of the CLI → listener, 1 × 200/s, p50", "latency 1 × 200/s", lambda run: run["p50"], "ms", "limit", 3,
         why_not=WAITS, waits=True),
    Kind("… p99", "latency 1 × 200/s", lambda run: run["p99"], "ms", "limit"),
    Kind("line out of the CLI → listener, 50 × 40/s, p50", "latency 50 × 40/s", lambda run: run["p50"], "ms", "limit", 3,
         why_not=WAITS, waits=True),
    Kind("… p99", "latency 50 × 40/s", lambda run: run["p99"], "ms", "limit"),
    Kind("CPU per delivered live event, 100 listeners, coalesced", "fan-out", lambda run: run["us"], "µs", "raw", 2.5,
         why_not="reading, translating and gathering are in it too; raw only sends"),
    Kind("memory per listener at 1,000", "memory per listener", lambda run: run["bytes"], "KiB", "uvicorn", 2, beside="sockets"),
    Kind("hub memory, 1,000 asleep sessions, 10^6 events", "asleep", lambda run: run["rss"], "MB", bound=150),
    Kind("list answer, 100 sessions of 1,000, p50", "asleep", lambda run: run["list 100"]["p50"], "ms", bound=50),
    Kind("list answer, all 1,000 sessions, p50", "asleep", lambda run: run["list 1000"]["p50"], "ms", bound=50,
         why_not="a page is 100 sessions; all thousand in one answer are most of a megabyte of JSON"),
    Kind("list answer, 1,000 open questions with their cards, p50", "asleep", lambda run: run["questions"]["p50"], "ms",
         bound=50),
    Kind("start after kill -9 in a flood, until it answers a list", "asleep", lambda run: run["start"], "s", bound=3),
)  # fmt: skip

SCALE = {"k": 1e3, "MB": 1e6, "KiB": 1024.0, "µs": 1.0, "ms": 1.0, "s": 1.0}


def rows(figures: Figures, crowding: float) -> list[Row]:
    return [_row(kind, figures.get(kind.measure, {}), crowding) for kind in KINDS]


def _row(kind: Kind, runs: Runs, crowding: float) -> Row:
    if "ours" not in runs:
        return Row(kind.what, "–", "–", "–", "–", kind.wanted(), "not measured")
    ours = [kind.value(run) for run in runs["ours"]]
    shown = {name: spread([kind.value(run) for run in found], SCALE[kind.unit], kind.unit) for name, found in runs.items()}
    ratio = _ratio(kind, ours, runs[kind.against]) if kind.against else None
    return Row(
        kind.what, shown.get(kind.beside, "–"), shown.get(kind.against, "–"), shown["ours"],
        f"{ratio:.2f}×" if ratio is not None else "–", kind.wanted(), _verdict(kind, ours, ratio, crowding),
    )  # fmt: skip


def _ratio(kind: Kind, ours: list[float], theirs: list[dict[str, Any]]) -> float:
    return median(mine / kind.value(run) for mine, run in zip(ours, theirs, strict=True))


def _verdict(kind: Kind, ours: list[float], ratio: float | None, crowding: float) -> str:
    if kind.bound is None:
        return "–"
    found = ratio if ratio is not None else median(ours) / SCALE[kind.unit]
    if kind.met(found):
        return "reached"
    busy = f" (the machine was busy: {crowding:.2f}× its CPU time)" if kind.waits and crowding > CROWDED else ""
    return f"not reached{busy}: {found:.3g} where {kind.bound:g} is wanted" + (f"; {kind.why_not}" if kind.why_not else "")


def crowding(figures: Figures) -> float:
    """Wall over CPU time of the prototype's flood, which hardly waits: more than on an idle machine when others took its core."""
    runs = figures.get("flow 1 session", {}).get("limit", [])
    return median(1e6 / run["lines"] / run["cpu"]["hub"] for run in runs) if runs else 1.0
