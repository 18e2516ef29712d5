"""Runs the measures, contender after contender, round after round (A B C A B C …). Refuses to judge: it returns figures.

Each measure of each contender is a fresh process. Interleaving lets a noisy minute of the machine fall on all of them alike.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.corpus import hard_lines, plain_line, write_corpus
from bench.prepare import BUILD, ROOT, FakeCli, PeerHome, say

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything; ``FULL`` is what the table is made from, ``QUICK`` shows only that it all runs."""

    lines: int
    rounds: int
    questions: int
    interrupts: int
    settle: float
    clients: int
    imports: int
    patience: float
    """Seconds to wait for an interrupt's answer before it counts as none."""


FULL = Size(lines=200_000, rounds=7, questions=5_000, interrupts=200, settle=0.5, clients=200, imports=9, patience=10.0)
QUICK = Size(lines=5_000, rounds=1, questions=300, interrupts=10, settle=0.3, clients=10, imports=1, patience=2.0)


@dataclass(slots=True)
class Course:
    """Who runs, on what, and all the figures so far: ``figures[measure][contender]`` is a list with one entry a round."""

    size: Size
    cli: FakeCli
    source: Path
    """Where ropewalk is imported from."""
    pythons: dict[str, Path]
    figures: dict[str, dict[str, list[Figures]]] = field(default_factory=dict)

    def run(self) -> None:
        """Every measure, interleaved."""
        corpus = str(write_corpus(BUILD))
        stream = {"corpus": corpus, "lines": self.size.lines}
        self._check(corpus)
        self._reads(stream)
        core = max(os.sched_getaffinity(0))
        self._measure("ask", "ask", self.size.rounds, {"questions": self.size.questions, "core": core})
        self._interrupts(corpus)
        self._measure("idle", "idle", min(3, self.size.rounds), {"warm": 20, "clients": self.size.clients})
        self._imports()
        self._hard()

    def _check(self, corpus: str) -> None:
        """Before anything is timed: the same lines give every contender the same messages and the same characters."""
        self._measure("check", "check", 1, {"corpus": corpus, "lines": 20_000})
        self._measure("check lazy", "check", 1, {"corpus": corpus, "lines": 20_000, "lazy": True})
        told = {name: (runs[0]["messages"], runs[0]["chars"]) for name, runs in self.figures["check"].items()}
        lazy = {name: (runs[0]["messages"], runs[0]["chars"]) for name, runs in self.figures["check lazy"].items()}
        if len({*told.values(), *lazy.values()}) > 1:
            raise RuntimeError(f"the contenders do not see the same: typed {told}, lazily typed {lazy}")

    def _reads(self, stream: Figures) -> None:
        """Typed and lazily typed in the same rounds. The peer has one way only, so its figure stands for both."""
        say(f"read, typed and lazily: {self.size.rounds} round{'s' * (self.size.rounds > 1)}")
        for _ in range(self.size.rounds):
            for contender in self.pythons:
                typed = self._one(contender, "read", stream)
                self._keep("read", contender, typed)
                self._keep(
                    "lazy", contender, typed if contender == "peer" else self._one(contender, "read", {**stream, "lazy": True})
                )

    def _interrupts(self, corpus: str) -> None:
        given = {"corpus": corpus, "settle": self.size.settle, "repeat": self.size.interrupts, "patience": self.size.patience}
        self._measure("interrupt 80", "interrupt", self.size.rounds, {**given, "unread": 80})
        self._measure("interrupt 5000", "interrupt", self.size.rounds, {**given, "unread": 5_000})

    def _imports(self) -> None:
        say(f"import: {self.size.imports} round{'s' * (self.size.imports > 1)}")
        for _ in range(self.size.imports):
            for name, python in self.pythons.items():
                bare, loaded = _fresh(python, "pass", self.source), _fresh(python, IMPORTS[name], self.source)
                net = {"wall": loaded["wall"] - bare["wall"], "cpu": loaded["cpu"] - bare["cpu"], "bare": bare["wall"]}
                self._keep("import", name, net)

    def _hard(self) -> None:
        for word, line in hard_lines().items():
            path = BUILD / f"hard-{os.getpid()}.jsonl"
            path.write_bytes(plain_line("before") + line + plain_line("after"))
            given = {"corpus": str(path), "lines": 3, "patience": 30}
            self._measure(f"hard {word}", "hard", 1, given, leave_out="limit")  # it has no second reader, and says so
            path.unlink()

    def _measure(self, name: str, measure: str, rounds: int, given: Figures, leave_out: str = "") -> None:
        say(f"{name}: {rounds} round{'s' * (rounds > 1)}")
        for _ in range(rounds):
            for contender in self.pythons:
                if contender != leave_out and not self._is_hopeless(name, contender):
                    self._keep(name, contender, self._one(contender, measure, given))

    def _is_hopeless(self, name: str, contender: str) -> bool:
        """It did not answer within the patience of an earlier round: once is enough to know."""
        return any(run.get("us", 0) is None for run in self.figures.get(name, {}).get(contender, []))

    def _keep(self, name: str, contender: str, figures: Figures) -> None:
        self.figures.setdefault(name, {}).setdefault(contender, []).append(figures)

    def _one(self, contender: str, measure: str, given: Figures) -> Figures:
        order = json.dumps({**given, "cli": [str(self.cli.path)]})
        argv = [str(self.pythons[contender]), "-m", "bench.one", contender, measure, order]
        done = subprocess.run(
            argv, cwd=ROOT, env=environment(self.source), text=True, capture_output=True, timeout=180, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{contender} failed at {measure}:\n{done.stderr[-3000:]}")
        figures: Figures = json.loads(done.stdout.splitlines()[-1])
        if done.stderr:
            figures["stderr"] = done.stderr[-2000:]
        return figures


IMPORTS = {
    "peer": "from claude_agent_sdk import ClaudeSDKClient, ClaudeAgentOptions",
    "limit": "import asyncio, msgspec",
    "ours": "from ropewalk import Client, ClientOptions",
}


def contenders(peer: PeerHome | None) -> dict[str, Path]:
    """Who runs and with which Python, in the order of each round."""
    own = Path(sys.executable)
    pythons = {"peer": peer.python} if peer else {}
    return {**pythons, "limit": own, "ours": own}


def environment(source: Path) -> dict[str, str]:
    """Ours, with the bench and the library's source importable, and without what would change how a contender runs."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "PYTHON", "ROPEWALK"))}
    return {**kept, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONWARNINGS": "ignore"}


def _fresh(python: Path, code: str, source: Path) -> Figures:
    """A fresh interpreter that runs ``code``: wall and CPU seconds of its whole life."""
    began = perf_counter()
    process = subprocess.Popen([str(python), "-c", code], cwd="/", env=environment(source))
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{python} -c {code!r} failed with {process.returncode}")
    return {"wall": perf_counter() - began, "cpu": used.ru_utime + used.ru_stime}
