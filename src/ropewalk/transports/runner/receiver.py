"""Who hears a CLI behind a runner, and what a start answers. Only shapes: no link, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ropewalk.transports.base import End


@dataclass(frozen=True, slots=True)
class Started:
    """Names one process of one machine for ever."""

    pid: int
    start_time: int
    """In clock ticks since the machine's start."""
    boot_id: str


class LinesReceiver(Protocol):
    """One CLI's hearer. Called from the event loop; must neither block nor raise."""

    def lines(self, first: int, data: bytes) -> None:
        """Whole lines, numbered ``first``, ``first + 1`` …; ``data`` ends with a line feed. No number twice, none left out."""

    def dropped(self, first: int, count: int, size: int, beginning: bytes, why: str) -> None:
        """These lines can't be given: one too long (``size`` bytes so far), or some that the disk lost (``size`` 0)."""

    def written(self, key: str) -> None:
        """This write was handed to the CLI's input as a whole. May be told again after the link was lost."""

    def unwritten(self, key: str, why: str) -> None:
        """This write was refused, and nothing of it has reached the CLI."""

    def rung(self, name: str) -> None:
        """A stop took this rung."""

    def held(self, why: str) -> None:
        """The runner does not read the CLI's output at the moment (spool full, disk full); '' when it does again."""

    def ended(self, end: End, last: int) -> None:
        """Exactly once, after all its lines; ``last`` is the number of the last one."""
