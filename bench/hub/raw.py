"""What a socket costs when nothing stands behind it: ``python -m bench.hub.raw KIND {json}``. Refuses to know what it sends.

``sockets``  holds WebSocket connections as bare asyncio protocols; a line of input has it send ready frames to all, at a pace
``uvicorn``  holds them in an ASGI application that does nothing, on uvicorn as people start it for WebSockets
Says its port first; after a sending, the CPU seconds that it took.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
from typing import Any

from uvloop import new_event_loop

from bench.hub.ws import accepted, frame, frames


class Held(asyncio.Protocol):
    """One connection: upgraded, told that it is subscribed, sent to."""

    __slots__ = ("_all", "_in", "_open", "transport")

    def __init__(self, everyone: set[Any]) -> None:
        self._all, self._in, self._open = everyone, bytearray(), False

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._all.add(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._all.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self._in += data
        if not self._open and b"\r\n\r\n" in self._in:
            head, _, rest = bytes(self._in).partition(b"\r\n\r\n")
            self._in, self._open = bytearray(rest), True
            self.transport.write(accepted(head))
        for _ in frames(self._in) if self._open else ():
            self.transport.write(frame(b'{"subscribed":true}'))


async def sockets() -> None:
    loop, everyone = asyncio.get_running_loop(), set[Any]()
    server = await loop.create_server(lambda: Held(everyone), "127.0.0.1", 0)
    say({"port": server.sockets[0].getsockname()[1]})
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        given = json.loads(line)
        say({"cpu": await _send(everyone, given["count"], given["bytes"], given["every"])})


async def _send(everyone: set[Any], count: int, size: int, every: float) -> float:
    """CPU seconds for so many ready frames to each, one every so many seconds."""
    ready = frame(b"x" * (size - 4) + b"done")
    before = _cpu()
    for _ in range(count):
        for transport in everyone:
            transport.write(ready)
        await asyncio.sleep(every)
    return _cpu() - before


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def bare_app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "websocket":
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": '{"subscribed":true}'})


async def uvicorn() -> None:
    import uvicorn  # noqa: PLC0415 the other kind runs without it

    settings = uvicorn.Config(
        bare_app, port=0, ws="websockets-sansio", lifespan="off", log_level="error", ws_per_message_deflate=False
    )
    server = uvicorn.Server(settings)
    serving = asyncio.get_running_loop().create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    say({"port": server.servers[0].sockets[0].getsockname()[1]})
    await serving


def say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run({"sockets": sockets, "uvicorn": uvicorn}[sys.argv[1]]())
