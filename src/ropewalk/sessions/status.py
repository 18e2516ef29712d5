"""What a session is doing, and the one thing that would help. Fed with events and facts; refuses clocks and guesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..events.events import Event, Status


class Standing(NamedTuple):
    """``why``: never empty, at most 60 characters, without a number that ticks. ``fix``: a verb, or empty."""

    status: Status
    why: str
    fix: str


class StatusBoard:
    """``clock``: seconds since 1970 → ``14:00`` in the hub's own time."""

    def __init__(self, clock: Callable[[float], str]) -> None:
        self._clock = clock

    def heed(self, event: Event) -> bool:
        """An event, durable or live, of this session. True: ``standing`` may be another now."""
        return False

    def starting(self, why: str = "") -> None:
        """A process is being started."""

    def ready(self) -> None:
        """It has answered our initialize."""

    def questions(self, count: int, line: str = "") -> None:
        """How many questions are open, and the oldest one in a line (``QuestionView.line``)."""

    def reachable(self, yes: bool, runner: str = "") -> None:
        """Whether its runner is heard."""

    def stalled(self, since: float | None) -> None:
        """The watcher's word: nothing was heard since then. None: heard again."""

    def passed(self, now: float) -> None:
        """Time went on: a limit that has been reset holds no more."""

    @property
    def standing(self) -> Standing:
        return Standing("idle", "no prompt yet", "")
