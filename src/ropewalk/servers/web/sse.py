"""A session's events as server-sent events. Refuses a position that is no number; cuts off whoever does not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from litestar.response import Stream

from ...events.commands import Principal
from ...hub.calls import HubCalls
from .problems import Refusal
from .wire import EXTENSION, HttpWire

MEDIA_TYPE = "text/event-stream"
KEEP_ALIVE = 10.0
"""Seconds of silence after which a comment shows that both ends live; proxies drop what is silent for longer."""
GOODBYE = "hub restarting"
LAST = 2**53 - 1
"""What every program can count to in JSON."""


def position_from(header: str | None, after: int) -> int:
    """``Last-Event-ID``, which a browser sends when it comes back, before ``after``."""
    if not header:
        return after
    if not (header.isascii() and header.isdigit() and len(header) < 20 and int(header) <= LAST):
        raise Refusal(400, "wrong_position", "Last-Event-ID must be the number of the last event that was read.")
    return int(header)


class Reader:
    """One who reads. What it has not yet taken waits here, and in the connection's own buffer."""

    def __init__(self, wire: HttpWire) -> None:
        self._wire = wire
        self._waiting: list[bytes] = []
        self._size = 0
        self._more = asyncio.Event()
        self.ended = ""

    @property
    def backlog(self) -> int:
        return self._size + self._wire.backlog

    def told(self, session: str, events: list[tuple[int, bytes]]) -> None:
        self._add(b"".join([b"id: %d\ndata: %b\n\n" % (seq, body) for seq, body in events]))

    def live(self, session: str, events: list[bytes]) -> None:
        self._add(b"".join([b"event: live\ndata: %b\n\n" % body for body in events]))

    def cut(self, why: str) -> None:
        """It did not keep up: what waits is dropped with the connection, and the browser comes back with its last id."""
        self.ended = why
        self._waiting.clear()
        self._wire.abort()
        self._more.set()

    def part(self, why: str) -> None:
        """The hub goes: say so, after all that waits."""
        self.ended = why
        self._add(b"event: goodbye\ndata: %b\n\n" % why.encode())

    def _add(self, chunk: bytes) -> None:
        self._waiting.append(chunk)
        self._size += len(chunk)
        self._more.set()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        while True:
            try:
                async with asyncio.timeout(KEEP_ALIVE):
                    await self._more.wait()
            except TimeoutError:
                yield b": still here\n\n"
                continue
            self._more.clear()
            taken, self._waiting, self._size = self._waiting, [], 0
            if taken:
                yield b"".join(taken)
            if self.ended and not self._waiting:
                return


class Readers:
    """All that read by server-sent events now."""

    def __init__(self) -> None:
        self._readers: dict[Reader, str] = {}
        self._parting = False

    def __len__(self) -> int:
        return len(self._readers)

    def add(self, reader: Reader, token: str) -> None:
        self._readers[reader] = token
        if self._parting:
            reader.part(GOODBYE)

    def discard(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def cut_without(self, holds: Any) -> None:
        """Those whose token has ended hear no more."""
        for reader, token in list(self._readers.items()):
            if not holds(token):
                reader.cut("signed out")

    def part(self) -> None:
        """Now, and whoever was just about to come in."""
        self._parting = True
        for reader in list(self._readers):
            reader.part(GOODBYE)


async def stream(hub: HubCalls, who: Principal, session: str, after: int, scope: Any) -> Stream:
    """Subscribes first, so that what can't be read is a problem and no empty stream."""
    reader = Reader(scope["extensions"][EXTENSION])
    readers: Readers = scope["state"]["readers"]
    subscription = await hub.subscribe(who, session, after, reader)
    readers.add(reader, who.token)

    def leave() -> None:
        subscription.close()
        readers.discard(reader)

    # not in the iterator: one that was never begun, or is left at a yield, would not come to its end in time
    scope["state"]["leave"] = leave
    return Stream(reader.chunks(), media_type=MEDIA_TYPE)
