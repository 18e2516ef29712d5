"""Runs the hub's measures, contender after contender, round after round. Refuses to judge: it returns figures.

Each measure of each contender has processes and a folder of its own. ``figures[measure][contender]`` has one entry a round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench.hub import measures
from bench.hub.house import Hub
from bench.hub.lines import write_text_lines, write_whole_lines
from bench.hub.measures import Figures
from bench.prepare import BUILD, FakeCli, say

MANY = 50


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything; ``FULL`` is what the table is made from, ``QUICK`` shows only that it all runs."""

    rounds: int
    lines: int
    """In one session; with fifty, as many in all."""
    seconds: float
    """Of each paced measure."""
    listeners: int
    fan: int
    sessions: int
    events: int


FULL = Size(rounds=5, lines=60_000, seconds=5.0, listeners=1000, fan=100, sessions=1000, events=1_000_000)
QUICK = Size(rounds=1, lines=3_000, seconds=0.5, listeners=50, fan=10, sessions=1000, events=10_000)


@dataclass(slots=True)
class Course:
    size: Size
    cli: FakeCli
    source: Path
    """Where ropewalk is imported from."""
    only: str = ""
    """Measures with this in their name, and no others."""
    figures: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)

    def run(self) -> None:
        measures.allow_many_sockets()
        whole, text = write_whole_lines(BUILD), write_text_lines(BUILD)
        size = self.size
        self._flow("1 session", 1, text, size.lines)
        self._flow("1 session, tools", 1, whole, size.lines)
        self._flow("50 sessions", MANY, text, size.lines // MANY)
        self._latency("1 × 200/s", 1, 200)
        self._latency("50 × 40/s", MANY, 40)
        self._rounds("fan-out", min(3, size.rounds), self._fan_out)
        self._rounds("memory per listener", min(3, size.rounds), self._per_listener)
        self._rounds("asleep", min(3, size.rounds), lambda: self._asleep(whole))

    def _flow(self, name: str, sessions: int, corpus: Path, lines: int) -> None:
        def measure(hub: Hub) -> Figures:
            return measures.flow(hub, f"bench:stream {corpus} {lines}", lines)

        self._both(f"flow {name}", sessions, measure)

    def _latency(self, name: str, sessions: int, rate: int) -> None:
        self._both(f"latency {name}", sessions, lambda hub: measures.latency(hub, rate, self.size.seconds))

    def _both(self, name: str, sessions: int, measure: Callable[[Hub], Figures]) -> None:
        def once() -> dict[str, Figures]:
            found = {}
            for contender in measures.CONTENDERS:
                with measures.opened(contender, self.source, self.cli.path, sessions) as hub:
                    found[contender] = measure(hub)
            return found

        self._rounds(name, self.size.rounds, once)

    def _rounds(self, name: str, rounds: int, once: Callable[[], dict[str, Figures]]) -> None:
        if self.only not in name:
            return
        say(f"hub, {name}: {rounds} round{'s' * (rounds > 1)}")
        for _ in range(rounds):
            for contender, found in once().items():
                self.figures.setdefault(name, {}).setdefault(contender, []).append(found)

    def _fan_out(self) -> dict[str, Figures]:
        return measures.fan_out(self.source, self.cli.path, self.size.fan, 400, self.size.seconds)

    def _per_listener(self) -> dict[str, Figures]:
        kinds = ("sockets", "uvicorn", "ours")
        return {kind: measures.per_listener(self.source, self.cli.path, kind, self.size.listeners) for kind in kinds}

    def _asleep(self, corpus: Path) -> dict[str, Figures]:
        return {"ours": measures.asleep(self.source, self.cli.path, self.size.sessions, self.size.events, corpus)}
