"""Who waits until bytes are handed over: each is woken when its own are, or fails when nobody will take them. Holds no bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Handover:
    """``wait`` for the bytes that are queued now; ``took`` as the other side takes them; ``fail`` when it is gone."""

    __slots__ = ("_taken", "_waiting")

    def __init__(self) -> None:
        self._taken = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    async def wait(self, queued: int) -> None:
        """Return when ``queued`` more bytes were taken: later ones are not waited for. Raises what ``fail`` was given."""
        if queued:
            taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((self._taken + queued, taken))
            await taken

    def took(self, count: int) -> None:
        self._taken += count
        while self._waiting and self._waiting[0][0] <= self._taken:
            taken = self._waiting.pop(0)[1]
            if not taken.done():  # its waiter may have been cancelled
                taken.set_result(None)

    def fail(self, why: Callable[[], Exception]) -> None:
        waiting, self._waiting = self._waiting, []
        for _, taken in waiting:
            if not taken.done():
                taken.set_exception(why())
