"""The patience with a CLI that has closed its output and lives. Refuses to end it itself: it only says when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Mute:
    """``end`` is called once, ``after`` seconds from ``begin`` (None: never), and says whether it did anything."""

    __slots__ = ("_after", "_end", "_timer", "ended_it")

    def __init__(self, after: float | None, end: Callable[[], bool]) -> None:
        self._after, self._end = after, end
        self._timer: asyncio.TimerHandle | None = None
        self.ended_it = False

    def begin(self) -> None:
        if self._after is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._after, self._due)

    def forget(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self.ended_it = self._end()
