"""A hub that says exactly what a test wants, over real sockets: so that Remote meets bad answers. Refuses to be clever."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

CUT = (0, b"")
"""In place of an answer: the connection is closed when the request was read."""


@dataclass
class Asked:
    method: str
    path: str
    heads: dict[str, str]
    body: bytes

    @property
    def object(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass
class HttpHub:
    """Answers in the order given, the last one again and again. An answer: status, body as JSON or bytes, further heads."""

    answers: list[tuple[Any, ...]]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (asked := await _request(reader)) is not None:
                self.asked.append(asked)
                status, body, *heads = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if not status:
                    break
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                more = "".join(f"{name}: {value}\r\n" for one in heads for name, value in one.items())
                writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: {len(data)}\r\n{more}\r\n".encode() + data)
                await writer.drain()
        finally:
            writer.close()


async def _request(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode().rstrip("\r\n").split("\r\n")
    heads = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    method, path, _ = first.split(" ")
    return Asked(method, path, heads, await reader.readexactly(int(heads.get("content-length", 0))))


@asynccontextmanager
async def http_hub(*answers: tuple[Any, ...]) -> AsyncIterator[HttpHub]:
    hub = HttpHub(list(answers))

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await hub.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    hub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield hub
    finally:
        server.close()


Say = Callable[[ServerConnection, dict[str, Any]], Awaitable[None]]
"""One connection: given the socket and the first thing that was asked over it; returning closes it."""


@dataclass
class LiveHub:
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)


@asynccontextmanager
async def live_hub(*says: Say, port: int = 0) -> AsyncIterator[LiveHub]:
    """One function a connection; the last one serves all further ones."""
    hub, left = LiveHub(), list(says)

    async def one(socket: ServerConnection) -> None:
        assert socket.request is not None
        hub.heads.append({name.lower(): value for name, value in socket.request.headers.raw_items()})
        asked = json.loads(await socket.recv())
        hub.asked.append(asked)
        await (left.pop(0) if len(left) > 1 else left[0])(socket, asked)

    async with serve(one, "127.0.0.1", port) as server:
        hub.url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        yield hub


def told(*events: dict[str, Any], session: str = "s") -> str:
    return json.dumps({"session": session, "events": [{"session": session, **event} for event in events]})


def text(seq: int, words: str = "") -> dict[str, Any]:
    return {"kind": "text", "seq": seq, "text": words or f"word {seq}"}
