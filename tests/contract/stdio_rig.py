"""The contract's view of ``transports.stdio``: a real process, told over a socket what to do."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ropewalk.transports.base import Receiver
from ropewalk.transports.launch import Launch
from ropewalk.transports.spawn import spawn
from ropewalk.transports.stdio import StdioTransport
from tests.contract.listening import GUARD
from tests.contract.rig import GRACES, Rig

PUPPET = Path(__file__).with_name("puppet.py")


class StdioRig(Rig):
    def __init__(self, folder: Path) -> None:
        self._socket = folder / "orders"
        self._dialled: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._orders: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._server: asyncio.AbstractServer | None = None
        words = ("-I", "-S", str(PUPPET), str(self._socket))
        self._launch = Launch((sys.executable,), words, str(folder), {})
        self.transport = StdioTransport(self._launch, graces=GRACES)

    async def start(self, receiver: Receiver) -> None:
        self._server = await asyncio.start_unix_server(lambda r, w: self._dialled.put_nowait((r, w)), self._socket, limit=2**26)
        await self.transport.start(receiver)
        self._orders = await asyncio.wait_for(self._dialled.get(), GUARD)

    async def say(self, data: bytes, chunk: int | None = None) -> None:
        await self._order(do="say", hex=data.hex(), chunk=chunk)

    async def hear(self, count: int) -> bytes:
        return bytes.fromhex((await self._order(do="hear", count=count))["hex"])

    async def hear_end(self) -> bytes:
        return bytes.fromhex((await self._order(do="hear_end"))["hex"])

    async def disobey(self, *rungs: str) -> None:
        await self._order(do="disobey", rungs=rungs)

    async def exit(self, code: int, stderr: Sequence[str] = ()) -> None:
        self._write({"do": "exit", "code": code, "stderr": stderr})

    async def close(self) -> None:
        await super().close()
        if self._orders is not None:
            self._orders[1].close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _order(self, **order: Any) -> dict[str, Any]:
        self._write(order)
        assert self._orders is not None
        answer: dict[str, Any] = json.loads(await asyncio.wait_for(self._orders[0].readline(), GUARD))
        return answer

    def _write(self, order: dict[str, Any]) -> None:
        assert self._orders is not None
        self._orders[1].write(json.dumps(order).encode() + b"\n")


class AdoptedRig(StdioRig):
    """The same, with a CLI that an earlier program of this process is said to have started (a runner that re-executed itself)."""

    async def start(self, receiver: Receiver) -> None:
        child = spawn(self._launch)
        assert child.popen is not None
        child.popen.returncode = 0  # forgotten: whoever adopts it has only its pid
        self.transport = StdioTransport(self._launch, graces=GRACES, child=child._replace(popen=None))
        await super().start(receiver)
