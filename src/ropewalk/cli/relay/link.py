"""Says when the hub is lost and when it is back, with how long it took. Refuses to say it twice."""

from __future__ import annotations

from collections.abc import Callable

from ..screen import Screen
from ..statuses import span


class Link:
    """Told by ``Remote``; ticked once a second."""

    def __init__(self, screen: Screen, clock: Callable[[], float]) -> None:
        self._screen, self._clock = screen, clock
        self._lost: float | None = None

    def told(self, up: bool) -> None:
        if not up and self._lost is None:
            self._lost = self._clock()
            if not self._screen.look.live:
                self._screen.say("ropewalk: lost the hub, trying")
            self.tick()
        elif up and self._lost is not None:
            spent, self._lost = self._clock() - self._lost, None
            self._screen.say(self._screen.paint("dim", f"  the hub is back after {span(spent)}; nothing was lost"))

    def tick(self) -> bool:
        """Whether it is lost; then that is what the line that passes says."""
        if self._lost is None:
            return False
        self._screen.status(f"lost {span(self._clock() - self._lost)}, trying")
        return True
