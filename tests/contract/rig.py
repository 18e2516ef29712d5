"""A transport and the CLI behind it, played by the test: what each implementation gives to the contract suite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from ropewalk.transports.base import Receiver, Transport
from ropewalk.transports.ladder import Graces

GRACES = Graces(terminate=0.3, survivors=0.3, quiet=0.2, quiet_at_most=0.6)
"""Short ones: a test that waits for a rung should not take seconds."""


class Rig(ABC):
    """``transport`` is there from the beginning and not started; the CLI's verbs may be used after ``start``.

    The CLI reads its input only when told to (``hear``), ends with code 0 when its input is closed, and dies on TERM;
    ``disobey`` changes that.
    """

    transport: Transport

    @abstractmethod
    def __init__(self, folder: Path) -> None:
        """``folder`` is empty, and nobody else's."""

    async def start(self, receiver: Receiver) -> None:
        """Start the transport, and have the CLI at hand. The default is for those that need nothing more."""
        await self.transport.start(receiver)

    @abstractmethod
    async def say(self, data: bytes, chunk: int | None = None) -> None:
        """Have the CLI write these bytes, in pieces of ``chunk``; returns when it has written them all."""

    @abstractmethod
    async def hear(self, count: int) -> bytes:
        """The next ``count`` bytes of the CLI's input, as it reads them."""

    @abstractmethod
    async def hear_end(self) -> bytes:
        """Read the CLI's input to its end; what came before it. The CLI then lives on."""

    @abstractmethod
    async def disobey(self, *rungs: str) -> None:
        """Live on after ``input closed``, or ``terminate``."""

    @abstractmethod
    async def exit(self, code: int, stderr: Sequence[str] = ()) -> None:
        """Have the CLI end, with these last lines on its stderr."""

    async def close(self) -> None:
        """After the test: nothing may be left. Called also when ``start`` was never called."""
        await self.transport.stop(patience=0)
