"""What a turn cost, by difference: the CLI reports totals for the process. Refuses to sum them."""

from __future__ import annotations


class CostMeter:
    """Fed with each result's total. A resumed 2.1.326 goes on from the stored total, or from 0 after SIGKILL; older ones start at 0."""

    __slots__ = ("spent", "total")

    def __init__(self, known_total: float = 0.0) -> None:
        self.total = known_total
        self.spent = 0.0

    def turn(self, reported: float | None) -> float:
        """The cost since the last report."""
        if reported is None:
            return 0.0
        cost = reported - self.total if reported >= self.total else reported
        self.total = reported
        self.spent += cost
        return cost

    def reset(self) -> None:
        """``/clear``: the CLI begins to count anew."""
        self.total = 0.0
