"""One connection to a runner: frames both ways over a Unix socket. Does not know what they mean; ``link`` does.

What it keeps for a runner that does not read is bounded.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from time import monotonic
from typing import cast

from ropewalk.errors import LinkBroken
from ropewalk.transports.frames import LARGEST_PAYLOAD, Frame, FrameReader, FromRunner, encode, from_runner
from ropewalk.transports.runner.socket_path import reachable
from ropewalk.turns import SLICE, after_others

UNREAD = 2 * LARGEST_PAYLOAD
"""Bytes kept for a runner that does not read (a stopped one); past it a write fails."""


class Dialled(asyncio.Protocol):
    """``on_frame`` is called from the loop for each frame; ``lost`` is done with the reason when the connection has ended."""

    def __init__(self, on_frame: Callable[[FromRunner, bytes], None]) -> None:
        self._on_frame = on_frame
        self._reader: FrameReader[FromRunner] = FrameReader(from_runner)
        self._transport: asyncio.Transport | None = None
        self._why = ""
        self._waiting: deque[Iterator[tuple[FromRunner, bytes]]] = deque()
        self.lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.heard = 0
        """Counts what came, so that silence can be seen."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)  # uvloop's are not, by class

    def data_received(self, data: bytes) -> None:
        self.heard += 1
        self._waiting.append(self._reader.feed(data))
        if len(self._waiting) == 1:
            self._go_on()

    def _go_on(self) -> None:
        """Hand frames over for a moment, then let others have the loop: an interrupt must not wait behind a flood."""
        loop = asyncio.get_running_loop()
        until = monotonic() + SLICE
        try:
            while self._waiting and not self.lost.done():
                for frame, payload in self._waiting[0]:
                    self._on_frame(frame, payload)
                    if self.lost.done() or monotonic() > until:
                        break
                else:
                    self._waiting.popleft()
                    continue
                self._later(loop)
                return
        except LinkBroken as error:
            self.abort(str(error))
            return
        if self._transport is not None and not self.lost.done():
            self._transport.resume_reading()

    def _later(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self.lost.done() and self._transport is not None:
            self._transport.pause_reading()
            after_others(loop, self._go_on)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(self._why or (f"the runner's socket broke: {exc}" if exc else "the runner has gone"))

    def send(self, frame: Frame, payload: bytes = b"") -> None:
        """Never blocks. Raises ``LinkBroken`` when there is nobody, or nobody who reads."""
        if self._transport is None or self.lost.done():
            raise LinkBroken(self._why or "the runner has gone")
        if self._transport.get_write_buffer_size() + len(payload) > UNREAD:
            raise LinkBroken("the runner does not read what it is sent")
        self._transport.write(encode(frame, payload))

    def abort(self, why: str) -> None:
        """End it now; nothing of it is heard any more."""
        self._why = self._why or why
        if not self.lost.done():
            self.lost.set_result(self._why)
        if self._transport is not None:
            self._transport.abort()


async def dial(socket: str, on_frame: Callable[[FromRunner, bytes], None]) -> Dialled:
    """Raises ``OSError`` when nobody listens there."""
    loop = asyncio.get_running_loop()
    with reachable(socket) as path:
        _, dialled = await loop.create_unix_connection(lambda: Dialled(on_frame), path)
    return dialled
