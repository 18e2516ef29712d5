"""Signals of a run: ^C once interrupts the turn, twice stops claude; TERM and HUP stop it too. Refuses to leave it running."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from ..errors import RopewalkError
from .keys import Keyboard
from .screen import Screen

TWICE = 2.0
"""Seconds within which a second ^C means the process, not the turn."""

FAREWELLS = (signal.SIGTERM, signal.SIGHUP)


class Interruptible(Protocol):
    """A turn that can be interrupted."""

    async def interrupt(self) -> Any: ...


class Interrupts:
    """Owns the signal handlers while a run lasts, and the one request that it makes of the CLI."""

    def __init__(self, screen: Screen, keyboard: Keyboard | None, clock: Callable[[], float]) -> None:
        self._screen, self._keyboard, self._clock = screen, keyboard, clock
        self._body: asyncio.Task[object] | None = None
        self._asking: asyncio.Task[None] | None = None
        self._last: float | None = None
        self.client: Interruptible | None = None
        """Set while a turn runs: what a first ^C interrupts."""
        self.parting = "stopping claude"
        """Said when it is not the turn alone that ends."""
        self.stopping = False
        self.signal: int | None = None

    async def __aenter__(self) -> Interrupts:
        loop = asyncio.get_running_loop()
        self._body = asyncio.current_task()
        loop.add_signal_handler(signal.SIGINT, self.pressed)
        for number in FAREWELLS:
            loop.add_signal_handler(number, self._farewell, number)
        loop.add_signal_handler(signal.SIGWINCH, self._screen.resized)
        if self._keyboard is not None:
            loop.add_signal_handler(signal.SIGCONT, self._keyboard.again)
        return self

    async def __aexit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGCONT, signal.SIGWINCH, *FAREWELLS):
            loop.remove_signal_handler(number)
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking

    def pressed(self) -> None:
        """^C."""
        if self._keyboard is not None and self._keyboard.is_lent:
            return
        now, last = self._clock(), self._last
        self._last = now
        unheard = self._asking is not None and not self._asking.done()
        if self.client is None or unheard or (last is not None and now - last <= TWICE):
            self._screen.say(f"\n  {self.parting}")
            self.stop()
            return
        self._screen.say("\n  interrupting the turn; ^C again stops claude")
        self._asking = asyncio.get_running_loop().create_task(self._interrupt(self.client))

    async def _interrupt(self, client: Interruptible) -> None:
        try:
            await client.interrupt()
        except RopewalkError as error:
            self._screen.say(f"  the interrupt was not heard: {str(error).splitlines()[0]}; ^C stops claude")

    def _farewell(self, number: int) -> None:
        self.signal = number
        self.stop()

    def stop(self) -> None:
        """End the run: what it surrounds is cancelled and closes the CLI."""
        self.stopping = True
        if self._body is not None:
            self._body.cancel()
