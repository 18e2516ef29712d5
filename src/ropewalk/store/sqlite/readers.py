"""A few threads that read, each with a connection of its own. Refuses to let one question take for ever: each has a cap."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from ropewalk.errors import StoreUnavailable
from ropewalk.store.sqlite.connections import reader
from ropewalk.store.sqlite.sickness import diagnose

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 3
CAP_SECONDS = 10.0
STEPS_BETWEEN_LOOKS = 5_000
"""SQLite's own steps between two looks at the clock: about 0.1 ms."""


class Readers:
    """``run`` from the loop. ``shut`` from the writer's thread: every connection is closed, and opened anew on need."""

    def __init__(self, path: Path, on_damage: Callable[[str], None]) -> None:
        self._path, self._on_damage = path, on_damage
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ropewalk-read")
        # One is opened at once and kept: while it is open SQLite does not rebuild what it knows of the log, and so never
        # finds there again what a failed commit had left.
        self._free = [reader(path)]
        self._out = 0
        self._changed = threading.Condition()

    async def run(self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        """Answer it in a thread. Raises ``StoreUnavailable``."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: self._answer(question, *args, **named))

    def _answer(self, question: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **named: P.kwargs) -> T:
        try:
            connection = self._take()
            try:
                with_cap(connection, CAP_SECONDS)
                return question(connection, *args, **named)
            finally:
                self._give_back(connection)
        except sqlite3.Error as error:
            state, why = diagnose(error, str(self._path))
            if state == "corrupt":
                self._on_damage(why)
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                why = f"the answer took longer than {CAP_SECONDS:.0f} s; ask for less"
            raise StoreUnavailable(why, state) from error

    def _take(self) -> sqlite3.Connection:
        with self._changed:
            self._out += 1
            if self._free:
                return self._free.pop()
        try:
            return reader(self._path)
        except BaseException:
            with self._changed:
                self._out -= 1
                self._changed.notify_all()
            raise

    def _give_back(self, connection: sqlite3.Connection) -> None:
        connection.set_progress_handler(None, 0)
        with self._changed:
            self._out -= 1
            self._free.append(connection)
            self._changed.notify_all()

    def shut(self) -> None:
        """Close them all; waits for those that are answering, which is bounded by the cap."""
        with self._changed:
            self._changed.wait_for(lambda: not self._out, CAP_SECONDS)
            while self._free:
                self._free.pop().close()

    def close(self) -> None:
        self._threads.shutdown(wait=True)
        self.shut()


def with_cap(connection: sqlite3.Connection, seconds: float) -> None:
    """Interrupt what this connection does after so long."""
    until = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > until, STEPS_BETWEEN_LOOKS)
