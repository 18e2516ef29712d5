"""What the proofs found, added up: by fault, and by promise. Can be written down and read again."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from .check import Findings


@dataclass
class Tally:
    """Of one fault. ``blows``: how many were struck. ``worst``: seconds (or another measure) by what was measured."""

    blows: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    doubled: Counter[str] = field(default_factory=Counter)
    worst: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def struck(self) -> int:
        """Blows that are behind us: struck, or left out where the system does not allow them."""
        return self.blows + self.counts["left out"]

    def measure(self, what: str, value: float) -> None:
        self.worst[what] = max(value, self.worst.get(what, 0.0))

    def add(self, findings: Findings, seed: str, *, counts: bool = True) -> None:
        """``counts=False``: the same things were counted before, only what is wrong is new."""
        if counts:
            self.counts += findings.counts
        self.lost += findings.lost
        self.doubled += findings.doubled
        self.wrong += [f"[{seed}] {words}" for words in findings.wrong]

    def fail(self, promise: str, words: str, seed: str) -> None:
        self.lost[promise] += 1
        self.wrong.append(f"[{seed}] {promise}: {words}")

    def merge(self, other: Tally) -> None:
        self.blows += other.blows
        self.counts += other.counts
        self.lost += other.lost
        self.doubled += other.doubled
        self.wrong += other.wrong
        for what, value in other.worst.items():
            self.measure(what, value)

    def as_object(self) -> dict[str, Any]:
        return {
            "blows": self.blows, "counts": dict(self.counts), "lost": dict(self.lost), "doubled": dict(self.doubled),
            "worst": self.worst, "wrong": self.wrong,
        }  # fmt: skip

    @classmethod
    def from_object(cls, kept: dict[str, Any]) -> Tally:
        return cls(
            kept["blows"], Counter(kept["counts"]), Counter(kept["lost"]), Counter(kept["doubled"]), dict(kept["worst"]),
            list(kept["wrong"]),
        )  # fmt: skip
