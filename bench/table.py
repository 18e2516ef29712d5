"""Figures in, the table out: what was measured, what was wanted, whether it was reached. Refuses to round in our favour.

A ratio is the median over the rounds of (ours ÷ theirs in that round); a figure is a median with its least and greatest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

Figures = dict[str, dict[str, list[dict[str, Any]]]]
Value = Callable[[dict[str, Any]], float]


@dataclass(frozen=True, slots=True)
class Aim:
    """One bound on one ratio of ours to another contender (or to another measure of our own)."""

    against: str
    bound: float
    at_least: bool = False

    def words(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}× {'the prototype' if self.against == 'limit' else self.against}"

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.at_least else ratio <= self.bound


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is printed, and as it goes into the JSON file."""

    what: str
    peer: str
    limit: str
    ours: str
    ratios: str
    wanted: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Kind:
    """How one row is made from the figures."""

    what: str
    measure: str
    value: Value
    unit: str
    aims: tuple[Aim, ...]
    why_not: str
    """What is known about why it is not reached, printed only then."""
    tail: bool = False
    """Of the slowest cases, so at the mercy of whatever else runs."""


CROWDED = 1.15
UNITS = {"k": 1e3, "MB": 1e6, "KiB": 1024.0, "µs": 1.0, "ms": 1e-3}


def rate(run: dict[str, Any]) -> float:
    return float(run["messages"] / run["cpu"])


KINDS = (
    Kind("messages per CPU-second, typed", "read", rate, "k", (Aim("peer", 6, True), Aim("limit", 0.8, True)),
         "the product adds state, turns and the tolerant reader to every line"),
    Kind("… per second of wall time, typed", "read", lambda run: run["messages"] / run["wall"], "k", (), ""),
    Kind("messages per CPU-second, lazily typed", "lazy", rate, "k", (Aim("peer", 10, True),),
         "the product still looks at every line for what changes its state"),
    Kind("peak memory while reading (VmHWM)", "read", lambda run: run["peak"], "MB", (Aim("peer", 0.5),),
         "most of it is the interpreter and the modules that are imported"),
    Kind("permission round trip, one core: p50", "ask", lambda run: run["p50"], "µs", (Aim("peer", 0.35),),
         "no turn of the loop is left in it; what the product checks and keeps for each question is half of its time"),
    Kind("permission round trip, one core: p99", "ask", lambda run: run["p99"], "µs", (Aim("peer", 0.5),),
         "no turn of the loop is left in it; what the product checks and keeps for each question is half of its time", tail=True),
    Kind("permission round trip, one core: CPU", "ask", lambda run: run["cpu"], "µs", (Aim("peer", 0.3),),
         "no turn of the loop is left in it; what the product checks and keeps for each question is half of its time"),
    Kind("import time beyond a bare interpreter", "import", lambda run: run["cpu"], "ms", (Aim("peer", 0.2), Aim("limit", 1.5)),
         "look at `python -X importtime -c 'from ropewalk import Client'` for what is imported too early"),
    Kind("memory per idle client beyond its process", "idle", lambda run: run["bytes"], "KiB", (Aim("peer", 1),),
         "each client keeps a process, three pipes, a connection and its tables"),
)  # fmt: skip


def crowding(figures: Figures) -> float:
    """Wall time over CPU time of readers that never wait: 1 on an idle machine, more when others took their core away."""
    runs = [run for one in figures.get("read", {}).values() for run in one]
    return median(run["wall"] / run["cpu"] for run in runs) if runs else 1.0


def rows(figures: Figures) -> list[Row]:
    """The whole table, in the order of the targets' own."""
    crowded = crowding(figures) > CROWDED
    made = [_row(kind, figures.get(kind.measure, {}), crowded=crowded) for kind in KINDS]
    at = next(index for index, row in enumerate(made) if row.what.startswith("import"))
    return [*made[:at], _interrupts(figures), *_hard(figures), *made[at:]]


def _row(kind: Kind, runs: dict[str, list[dict[str, Any]]], *, crowded: bool) -> Row:
    shown = {name: _spread([kind.value(run) for run in runs[name]], kind.unit) for name in runs}
    ratios = {name: _ratio(kind.value, runs, name) for name in ("peer", "limit") if {name, "ours"} <= runs.keys()}
    told = ", ".join(f"{ratio:.2f}× {'prototype' if name == 'limit' else name}" for name, ratio in ratios.items())
    return Row(
        kind.what, shown.get("peer", "–"), shown.get("limit", "–"), shown.get("ours", "–"), told or "–",
        " and ".join(aim.words() for aim in kind.aims) or "–", _blurred(kind, _verdict(kind, ratios), crowded),
    )  # fmt: skip


def _blurred(kind: Kind, verdict: str, crowded: bool) -> str:
    """The slowest hundredth of a crowded machine is mostly other programs' doing: such a tail proves nothing, either way."""
    return f"can't tell, the machine was busy ({verdict})" if crowded and kind.tail else verdict


def _verdict(kind: Kind, ratios: dict[str, float]) -> str:
    known = [(aim, ratios[aim.against]) for aim in kind.aims if aim.against in ratios]
    if not kind.aims:
        return "–"
    if len(known) < len(kind.aims):
        return "not measured"
    if all(aim.met(ratio) for aim, ratio in known):
        return "reached"
    missed = ", ".join(f"{ratio:.3g} where {aim.bound:g} is wanted" for aim, ratio in known if not aim.met(ratio))
    return f"not reached: {missed}; {kind.why_not}"


def _ratio(value: Value, runs: dict[str, list[dict[str, Any]]], against: str) -> float:
    return median(value(ours) / value(theirs) for ours, theirs in zip(runs["ours"], runs[against], strict=False))


def _spread(values: list[float], unit: str) -> str:
    return spread(values, UNITS[unit], unit)


def spread(values: list[float], scale: float, unit: str) -> str:
    """The median with its least and greatest."""
    least, middle, most = (_digits(value / scale) for value in (min(values), median(values), max(values)))
    return f"{middle} {unit}" if len(values) == 1 else f"{middle} {unit} ({least}–{most})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def _interrupts(figures: Figures) -> Row:
    few, many = figures.get("interrupt 80", {}), figures.get("interrupt 5000", {})
    words = {name: f"{_answered(few, name)} → {_answered(many, name)}" for name in many}
    times = [(a["us"], b["us"]) for a, b in zip(few.get("ours", []), many.get("ours", []), strict=False)]
    if not times:
        told, verdict = "–", "not measured"
    elif any(b is None for _, b in times):
        told, verdict = "–", "not reached: no answer"
    else:
        ratio = median(b / a for a, b in times)
        told = f"{ratio:.2f}× its own with 80"
        verdict = "reached" if ratio <= 2 else "not reached: the answer queues behind what is unread"
    return Row(
        "interrupt: 80 unread → 5,000 unread", words.get("peer", "–"), words.get("limit", "–"), words.get("ours", "–"), told,
        "≤ 2× its own time with 80 unread", verdict,
    )  # fmt: skip


def _answered(runs: dict[str, list[dict[str, Any]]], name: str) -> str:
    times = [run["us"] for run in runs.get(name, [])]
    return "no answer" if not times or None in times else _spread(times, "µs")


def _hard(figures: Figures) -> list[Row]:
    return [_hard_row(name, runs) for name, runs in figures.items() if name.startswith("hard ")]


def _hard_row(name: str, runs: dict[str, list[dict[str, Any]]]) -> Row:
    told = {contender: hard_words(one[0]) for contender, one in runs.items()}
    ours = told.get("ours")
    verdict = "not measured" if ours is None else "reached" if ours == ALL_WELL else f"not reached: {ours}"
    return Row(
        name.removeprefix("hard "), told.get("peer", "–"), "–", ours or "–", "–", "session lives, nothing lost", verdict
    )  # fmt: skip


ALL_WELL = "lives, nothing lost"


def hard_words(run: dict[str, Any]) -> str:
    """What became of a plain line, a hard one and a plain one after it; the result that ends the stream is the fourth message."""
    lost = 4 - len(run["seen"])
    if run["end"] == "dies":
        return f"reader ends ({run['error']}), {lost} of 4 lost"
    if run["error"]:
        return f"raises {run['error']}, {lost} of 4 lost; reading on works"
    if lost:
        return f"lives, {lost} of 4 lost in silence"
    return ALL_WELL if run["seen"][1][2] else "lives, the block is dropped in silence"


HEAD = ("", "peer", "limit prototype", "ropewalk", "ratio", "to reach", "verdict")


def printed(made: list[Row], head: tuple[str, ...] = HEAD) -> str:
    """The table as text; it is a Markdown table too."""
    cells = [head]
    cells += [(row.what, row.peer, row.limit, row.ours, row.ratios, row.wanted, row.verdict) for row in made]
    widths = [max(len(line[column]) for line in cells) for column in range(6)]
    lines = [f"| {' | '.join(text.ljust(width) for text, width in zip(line, [*widths, 0], strict=True))} |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in [*widths, 7]) + "|")
    return "\n".join(lines)
