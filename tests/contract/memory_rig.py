"""The contract's view of ``transports.memory``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ropewalk.transports.ladder import INPUT_CLOSED
from ropewalk.transports.memory import memory_pair
from tests.contract.listening import until
from tests.contract.rig import GRACES, Rig

PIPE = 65536


class MemoryRig(Rig):
    def __init__(self, folder: Path) -> None:
        self.transport, self.cli = memory_pair(graces=GRACES)
        self.cli.read_on(False)

    async def say(self, data: bytes, chunk: int | None = None) -> None:
        self.cli.chunk = chunk
        self.cli.say(data)
        await until(lambda: self.cli.unheard <= PIPE, "the receiver to read")

    async def hear(self, count: int) -> bytes:
        return await self.cli.hear(count)

    async def hear_end(self) -> bytes:
        self.cli.obeys.discard(INPUT_CLOSED)
        return await self.cli.hear_end()

    async def disobey(self, *rungs: str) -> None:
        self.cli.obeys.difference_update(rungs)

    async def exit(self, code: int, stderr: Sequence[str] = ()) -> None:
        self.cli.exit(code, stderr)
