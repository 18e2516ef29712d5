"""Writes on their way to one CLI: each key once, in order, one in the pipe at a time. A CLI that does not read costs a bound.

What has not been begun can be taken back. Order of acts: the key goes to disk, then the bytes into the pipe, then it is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ropewalk.errors import RopewalkError, SessionGone, UsageError
from ropewalk.runner.keys import Keys, check_key
from ropewalk.transports.base import Transport
from ropewalk.transports.frames import LARGEST_LINE

LIMIT = LARGEST_LINE
"""Bytes that may wait for one CLI."""


class Outbox:
    """``on_written(key)`` when the CLI's pipe took all of it; ``on_unwritten(key, why)`` when nothing of it will be written."""

    def __init__(
        self,
        keys: Keys,
        transport: Transport,
        on_written: Callable[[str], None],
        on_unwritten: Callable[[str, str], None],
    ) -> None:
        self._keys, self._transport = keys, transport
        self._on_written, self._on_unwritten = on_written, on_unwritten
        self._waiting: dict[str, bytes] = {}
        self._size = 0
        self._begun: str | None = None
        self._draining: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def waiting(self) -> int:
        return len(self._waiting) + (self._begun is not None)

    def write(self, key: str, data: bytes) -> None:
        if key in self._keys:
            if key != self._begun:
                self._on_written(key)
        elif key not in self._waiting:
            if (why := self._refusal(key, data)) is not None:
                self._on_unwritten(key, why)
                return
            self._waiting[key] = data
            self._size += len(data)
            self._hand_over()

    def unwrite(self, key: str) -> bool:
        """Whether it was still here, and now is nowhere."""
        data = self._waiting.pop(key, None)
        self._size -= len(data or b"")
        return data is not None

    def close_input(self) -> None:
        """After all that waits."""
        self._closing = True
        self._close_if_empty()

    def end(self, why: str) -> None:
        """The CLI is gone. One that was begun stays unknown: nothing is told of it."""
        waiting, self._waiting, self._size = self._waiting, {}, 0
        for key in waiting:
            self._on_unwritten(key, why)
        self._keys.close()

    def frozen(self) -> list[tuple[str, bytes]]:
        """What waits, for a re-exec."""
        return list(self._waiting.items())

    def thaw(self, waiting: list[tuple[str, bytes]], begun: str | None) -> None:
        """Go on where an earlier program of this process stopped. The rest of the one that was begun is in the pipe's queue."""
        self._waiting.update(waiting)
        self._size += sum(len(data) for _, data in waiting)
        self._begun = begun
        self._after_send()

    @property
    def closing(self) -> bool:
        return self._closing

    @property
    def begun(self) -> str | None:
        return self._begun

    async def aclose(self) -> None:
        if self._draining is not None:
            self._draining.cancel()
            await asyncio.wait({self._draining})

    def _refusal(self, key: str, data: bytes) -> str | None:
        try:
            check_key(key)
        except UsageError as error:
            return str(error)
        if self._transport.end is not None:
            return self._transport.end.why
        if self._closing:
            return "the CLI's input is closed: it finishes its work and ends"
        if self._size + self._transport.unsent + len(data) > LIMIT and self.waiting:
            return f"the CLI does not read its input: {self._size + self._transport.unsent} bytes wait for it already"
        return None

    def _hand_over(self) -> None:
        while self._waiting and self._begun is None:
            key, data = next(iter(self._waiting.items()))
            del self._waiting[key]
            self._size -= len(data)
            try:
                self._keys.add(key)
                self._transport.send(data)
            except OSError as error:
                self._on_unwritten(key, f"the runner can't note it on its disk: {error.strerror or error}")
                continue
            except RopewalkError as error:
                self._on_unwritten(key, str(error))
                continue
            self._begun = key
            self._after_send()
        self._close_if_empty()

    def _after_send(self) -> None:
        if self._transport.unsent == 0:
            self._taken()
        elif self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain(), name="handing over a write")

    async def _drain(self) -> None:
        try:
            await self._transport.drain()
        except SessionGone:
            return
        finally:
            self._draining = None
        self._taken()
        self._hand_over()

    def _taken(self) -> None:
        key, self._begun = self._begun, None
        if key is not None:
            self._on_written(key)

    def _close_if_empty(self) -> None:
        if self._closing and not self.waiting and self._transport.end is None:
            self._transport.close_input()
