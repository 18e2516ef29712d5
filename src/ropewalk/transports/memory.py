"""A road without a process, towards a CLI that a test plays. Ships with the product; keeps the whole contract, starts nothing.

``memory_pair()`` gives the transport for a Client and the CLI's side for the test. As on the other roads, bytes are handed over
by the loop, never inside the call that said them; a CLI that does not read or does not obey can be played too.
"""

from __future__ import annotations

import asyncio
import signal
from collections import deque
from collections.abc import Callable, Iterable

from ropewalk.errors import LocalProtocolError
from ropewalk.transports.base import End, Receiver
from ropewalk.transports.ends import end_of, session_gone
from ropewalk.transports.handover import Handover
from ropewalk.transports.ladder import INPUT_CLOSED, TERMINATE, Graces, Ladder
from ropewalk.transports.played_cli import MemoryCli

NEVER_STARTED = End(None, "stopped before it was started")


class _Nobody:
    """The descendants of a CLI that is no process."""

    def note(self) -> list[int]:
        return []

    left = note

    def signal(self, number: int) -> None:
        """There is nobody to signal."""


class MemoryTransport:
    """``base.Transport`` towards a ``MemoryCli``. Made by ``memory_pair``."""

    pid = None

    def __init__(self, cli: MemoryCli, graces: Graces | None = None) -> None:
        self._cli, self._graces = cli, graces or Graces()
        self.end: End | None = None
        self.relatives = _Nobody()
        self._receiver: Receiver | None = None
        self._queue = bytearray()
        self._handover = Handover()
        self._closing = self._closed = self._paused = self._due = False
        self._coming: deque[bytes | bool] = deque()
        self._exit: tuple[int | None, tuple[str, ...]] | None = None
        self._ladder: Ladder | None = None

    @property
    def unsent(self) -> int:
        return len(self._queue)

    @property
    def unheard(self) -> int:
        return sum(len(piece) for piece in self._coming if isinstance(piece, bytes))

    async def start(self, receiver: Receiver) -> None:
        if self._receiver is not None:
            raise LocalProtocolError("this transport has been started already; make a new one for a new CLI")
        if self.end is not None:
            raise session_gone(self.end)
        self._receiver = receiver
        loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = loop.create_future()
        self._ended: asyncio.Future[None] = loop.create_future()
        self._ladder = Ladder(self, self._graces)
        if self._exit is not None:
            self.gone.set_result(None)
        self._deliver_soon()

    def send(self, data: bytes) -> None:
        self._check_started()
        if self._closing or self.end is not None:
            raise session_gone(self.end)
        self._queue += data
        self.pump()

    async def drain(self) -> None:
        self._check_started()
        if self.end is not None and self._queue:
            raise session_gone(self.end)
        await self._handover.wait(len(self._queue))

    def pause(self) -> None:
        self._check_started()
        self._paused = True

    def resume(self) -> None:
        self._check_started()
        self._paused = False
        self._deliver_soon()

    def close_input(self) -> None:
        self._check_started()
        self._closing = True
        self.pump()

    async def stop(self, *, patience: float = 10.0, on_rung: Callable[[str], None] | None = None) -> End:
        if self._ladder is None:
            self.end = NEVER_STARTED
            return self.end
        await self._ladder.climb(patience, on_rung)
        await asyncio.wait({self._ended})
        assert self.end is not None
        return self.end

    # What the ladder calls

    def signal(self, number: int) -> None:
        if number == signal.SIGKILL:
            self.exited(-signal.SIGKILL, ())
        elif TERMINATE in self._cli.obeys:
            self.exited(128 + number, ())

    def kill_now(self) -> None:
        self.signal(signal.SIGKILL)
        self._coming.clear()
        self._finish()

    # What the CLI's side calls

    def pump(self) -> None:
        """Hand over what waits, then the end of the input."""
        if self._exit is not None or self._closed:
            return
        taken = bytes(self._queue[: self._cli.room])
        if taken:
            del self._queue[: len(taken)]
            self._cli.takes(taken)
            self._handover.took(len(taken))
        if self._closing and not self._queue:
            self._closed = True
            self._cli.sees_input_end()

    def coming(self, piece: bytes | bool) -> None:
        if self._exit is not None:
            raise LocalProtocolError("this CLI has exited: it can't say anything")
        self._coming.append(piece)
        self._deliver_soon()

    def exited(self, code: int | None, stderr: tuple[str, ...]) -> None:
        if self._exit is not None:
            return
        self._exit = (code, stderr)
        if self._receiver is not None:
            self.gone.set_result(None)
        self._deliver_soon()

    # Towards the receiver, one thing a turn of the loop

    def _deliver_soon(self) -> None:
        if self._receiver is not None and not self._due and self.end is None:
            self._due = True
            asyncio.get_running_loop().call_soon(self._deliver)

    def _deliver(self) -> None:
        self._due = False
        assert self._receiver is not None
        if self._paused and self._exit is None:
            return
        if not self._coming:
            self._finish()
            return
        piece = self._coming.popleft()
        self._deliver_soon()
        if isinstance(piece, bytes):
            self._receiver.data_received(piece)
        else:
            self._receiver.link_changed(piece)

    def _finish(self) -> None:
        if self._exit is None or self.end is not None:
            return
        assert self._receiver is not None and self._ladder is not None
        code, stderr = self._exit
        self.end = end_of(code, stderr[-200:], "stopped" if self._ladder.begun else "")
        self._handover.fail(lambda: session_gone(self.end))
        self._ended.set_result(None)
        self._receiver.ended(self.end)

    def _check_started(self) -> None:
        if self._receiver is None:
            raise session_gone(self.end) if self.end else LocalProtocolError("this transport has not been started")


def memory_pair(
    *, chunk: int | None = None, obeys: Iterable[str] = (INPUT_CLOSED, TERMINATE), graces: Graces | None = None
) -> tuple[MemoryTransport, MemoryCli]:
    """A transport and the CLI behind it, which the caller plays: in pieces of ``chunk`` bytes, obeying these rungs of a stop."""
    cli = MemoryCli(chunk=chunk, obeys=obeys)
    transport = MemoryTransport(cli, graces)
    cli.plays_for(transport)
    return transport, cli
