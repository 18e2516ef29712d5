"""How many turns may run and how many processes may live, counted in one place. Refuses to count a person's wait."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable


class Slots:
    """Turns take a place while the model or a tool works; whoever finds none is called when one is free, first come first."""

    def __init__(self, turns: int, processes: int) -> None:
        self.turns, self.processes = turns, processes
        self._running: set[str] = set()
        self._alive: set[str] = set()
        self._waiting: OrderedDict[str, Callable[[], None]] = OrderedDict()

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def alive(self) -> int:
        return len(self._alive)

    def take(self, session: str, when_free: Callable[[], None]) -> bool:
        """A place for a turn; False: ``when_free`` is called once when there may be one."""
        if session in self._running:
            return True
        if len(self._running) >= self.turns:
            self._waiting[session] = when_free
            return False
        self._waiting.pop(session, None)
        self._running.add(session)
        return True

    def hold(self, session: str) -> None:
        """A turn goes on after a person's answer, or began by itself: it can't be refused, so the limit may be passed."""
        self._running.add(session)

    def give_back(self, session: str) -> None:
        """The turn ended, waits for a person, or its process is gone. Harmless when repeated."""
        if session in self._running:
            self._running.discard(session)
            self._call_next()

    def born(self, process: str) -> bool:
        """A process is about to be started; False: there are too many."""
        if len(self._alive) >= self.processes and process not in self._alive:
            return False
        self._alive.add(process)
        return True

    def reaped(self, process: str) -> None:
        """It has gone: not when somebody called stop, but when nothing of it is left."""
        self._alive.discard(process)

    def _call_next(self) -> None:
        while self._waiting and len(self._running) < self.turns:
            session, when_free = self._waiting.popitem(last=False)
            when_free()
            if session in self._running:
                continue
