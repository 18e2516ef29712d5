"""What a turn cost, by difference: the CLI reports totals for the process. Refuses to sum them."""

from __future__ import annotations

from math import isfinite


class CostMeter:
    """Fed with each result's total. A resumed 2.1.326 goes on from the stored total, or from 0 after SIGKILL."""

    __slots__ = ("_fed", "spent", "total")

    def __init__(self, known_total: float = 0.0) -> None:
        self.total = known_total
        self.spent = 0.0
        self._fed = False

    def turn(self, reported: float | None) -> float:
        """The cost since the last report."""
        if reported is None or not isfinite(reported) or reported < 0:
            return 0.0
        self._fed = True
        cost = reported - self.total if reported >= self.total else reported
        self.total = reported
        self.spent += cost
        return cost

    def starts_at_zero(self) -> None:
        """This CLI never goes on from a stored total: what was known before is not part of its first report."""
        if not self._fed:
            self.total = 0.0

    def reset(self) -> None:
        """``/clear``: the CLI begins to count anew."""
        self.total = 0.0
