"""What a proof is: a blow with a name, how often it is struck, and how to strike it some more. Refuses to know any of them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from .tally import Tally

Run = Callable[["Order"], Coroutine[Any, Any, None]]


@dataclass
class Order:
    """``count`` more blows from ``first`` on, into ``tally``; ``saved`` is called after each, and may stop it by raising."""

    seed: int
    first: int
    count: int
    tally: Tally
    saved: Callable[[], None]
    say: Callable[[str], None]
    keep: bool = False
    """Leave the folders of houses in which something was wrong."""
    full: bool = False
    mode: str = ""

    def name(self, number: int) -> str:
        return f"seed {self.seed} blow {number}"


@dataclass(frozen=True)
class Proof:
    """``counts``: in a plain run, in a full one. ``shows``: promises that its invariants bear on, beside all others."""

    name: str
    words: str
    counts: tuple[int, int]
    run: Run
    shows: tuple[str, ...] = ()
    sample: int = 1
    """Blows in the tests' small sample."""
    judged: Callable[[Tally], None] | None = None
    """What only all blows together can show; adds to the tally that it is given."""
    alone: bool = False
    """It measures time: no other proof runs beside it."""
    seconds: float = 4.0
    """About how long a blow takes."""
