"""How many turns may run and how many processes may live, counted in one place. Refuses to count a person's wait.

Where all places are taken, an idle process gives way; where none is idle, whoever wants one is called when one has gone.
"""

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
        self._resting: dict[str, Callable[[], bool]] = {}  # processes that may be idle, the longest first
        self._leaving: set[str] = set()  # those that were put to sleep to make room
        self._for_a_place: OrderedDict[str, Callable[[], None]] = OrderedDict()  # sessions that want a process

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

    # -- processes

    def born(self, process: str) -> bool:
        """A process is about to be started; False: there are too many."""
        if len(self._alive) >= self.processes and process not in self._alive:
            return False
        self._alive.add(process)
        return True

    def found(self, process: str) -> None:
        """It lives since before: it is counted, whether or not there is a place."""
        self._alive.add(process)

    def reaped(self, process: str) -> None:
        """It has gone: not when somebody called stop, but when nothing of it is left. Whoever waited longest starts."""
        self._resting.pop(process, None)
        self._leaving.discard(process)
        self._alive.discard(process)
        while self._for_a_place and len(self._alive) < self.processes:
            _, when_free = self._for_a_place.popitem(last=False)
            when_free()

    def rests(self, process: str, give_way: Callable[[], bool]) -> None:
        """It has nothing to do since now. ``give_way``: put it to sleep for another; False when it is at work after all."""
        self._leaving.discard(process)
        self._resting.pop(process, None)
        self._resting[process] = give_way
        self._make_room()

    def wait_for_place(self, session: str, when_free: Callable[[], None]) -> bool:
        """``when_free`` is called once when a process has gone. True: one is put to sleep for it; False: none can be."""
        self._for_a_place.setdefault(session, when_free)
        self._make_room()
        return len(self._leaving) >= len(self._for_a_place)

    def wait_no_more(self, session: str) -> bool:
        """True: it has waited."""
        return self._for_a_place.pop(session, None) is not None

    def _make_room(self) -> None:
        """The longest idle goes first."""
        for process, give_way in list(self._resting.items()):
            if len(self._leaving) >= len(self._for_a_place):
                return
            if process not in self._leaving and give_way():
                self._leaving.add(process)

    def _call_next(self) -> None:
        while self._waiting and len(self._running) < self.turns:
            session, when_free = self._waiting.popitem(last=False)
            when_free()
            if session in self._running:
                continue
