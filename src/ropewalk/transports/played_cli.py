"""A CLI played by hand: says what a test tells it to, tells what it heard. The far side of ``memory``. No process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

from ropewalk.transports.ladder import INPUT_CLOSED, TERMINATE


class Stage(Protocol):
    """Where a played CLI appears (``memory.MemoryTransport``)."""

    @property
    def unheard(self) -> int: ...
    def coming(self, piece: bytes | bool) -> None: ...
    def exited(self, code: int | None, stderr: tuple[str, ...]) -> None: ...
    def pump(self) -> None: ...


class MemoryCli:
    """The CLI's side. Unless told otherwise it reads all that comes, exits with 0 when its input is closed and 143 on TERM."""

    def __init__(self, *, chunk: int | None = None, obeys: Iterable[str] = (INPUT_CLOSED, TERMINATE)) -> None:
        self.chunk = chunk
        """Hand over what is said in pieces of at most so many bytes."""
        self.obeys = set(obeys)
        """The rungs of a stop at which it ends. ``{}``: only KILL ends it."""
        self.input_closed = False
        self._reading = True
        self._wanted = 0
        self._heard = bytearray()
        self._news = asyncio.Event()

    def plays_for(self, transport: Stage) -> None:
        self._transport = transport

    # Speaking

    def say(self, data: bytes) -> None:
        """Write to its stdout. Said before the start, it is heard then; nothing can be said after ``exit``."""
        size = self.chunk or len(data) or 1
        for at in range(0, len(data), size):
            self._transport.coming(data[at : at + size])

    @property
    def unheard(self) -> int:
        """Bytes that it said and the receiver has not taken: grows while that one has paused."""
        return self._transport.unheard

    def link(self, up: bool) -> None:
        """Lose the link, or have it again, as a CLI that dials in does."""
        self._transport.coming(up)

    def exit(self, code: int | None = 0, stderr: Iterable[str] = ()) -> None:
        """End. Heard after everything that was said."""
        self._transport.exited(code, tuple(stderr))

    # Hearing

    def read_on(self, reading: bool = True) -> None:
        """``False``: read its stdin only as far as ``hear`` asks for; the rest stays with the sender."""
        self._reading = reading
        self._transport.pump()

    async def hear(self, count: int) -> bytes:
        """The next ``count`` bytes of its stdin, as soon as they are there; fewer when the input is closed first."""
        await self._read_until(lambda: len(self._heard) >= count, count)
        heard = bytes(self._heard[:count])
        del self._heard[:count]
        return heard

    async def hear_line(self) -> bytes:
        """The next line of its stdin with its line end; b"" when the input is closed."""
        await self._read_until(lambda: b"\n" in self._heard)
        end = self._heard.find(b"\n") + 1 or len(self._heard)
        return await self.hear(end)

    async def hear_end(self) -> bytes:
        """What is left of its stdin, when the input is closed."""
        await self._read_until(lambda: False)
        return await self.hear(len(self._heard))

    async def _read_until(self, enough: Callable[[], bool], at_most: int = sys.maxsize) -> None:
        self._wanted = at_most
        self._transport.pump()
        while not enough() and not self.input_closed:
            self._news.clear()
            await self._news.wait()
        self._wanted = 0

    # What the transport calls

    @property
    def room(self) -> int:
        """How many bytes it would read now."""
        return sys.maxsize if self._reading else max(0, self._wanted - len(self._heard))

    def takes(self, data: bytes) -> None:
        self._heard += data
        self._news.set()

    def sees_input_end(self) -> None:
        self.input_closed = True
        self._news.set()
        if INPUT_CLOSED in self.obeys:
            self.exit(0)
