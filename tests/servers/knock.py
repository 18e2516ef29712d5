"""Raw knocks: bytes to a port and what comes back, frames by hand. Refuses a library's good manners: those are what is tested."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import struct
from contextlib import suppress
from typing import Any

GUARD = 30.0


async def raw(address: Any, *pieces: bytes, close: bool = False) -> bytes:
    """Send each piece, then read until the other side closes (or, with ``close``, we do)."""
    reader, writer = await asyncio.open_connection(address.host, address.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if close:
            writer.write_eof()
        async with asyncio.timeout(GUARD):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        await leave(writer)


async def leave(writer: asyncio.StreamWriter) -> None:
    """Gone at once, and nothing of it left for later."""
    writer.transport.abort()
    with suppress(OSError):
        await writer.wait_closed()


def request(address: Any, target: str = "/api/v1/me", *lines: str, method: str = "GET", host: str | None = None) -> bytes:
    """A request's head, with its Host unless ``host`` is empty."""
    named = f"{address.host}:{address.port}" if host is None else host
    head = [f"{method} {target} HTTP/1.1", *([f"Host: {named}"] if named else []), *lines, "", ""]
    return "\r\n".join(head).encode("latin-1")


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


class Socket:
    """A WebSocket client that does only what it is told. Answers no ping unless it reads."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes) -> None:
        self.reader, self.writer, self.head = reader, writer, head
        self.status = status_of(head)

    def send(self, message: Any) -> None:
        self.send_frame(0x81, json.dumps(message).encode())

    def send_frame(self, first: int, payload: bytes) -> None:
        size = len(payload)
        length = (
            bytes([0x80 | size])
            if size < 126
            else b"\xfe" + struct.pack("!H", size)
            if size < 1 << 16
            else b"\xff" + struct.pack("!Q", size)
        )
        self.writer.write(bytes([first]) + length + b"\0\0\0\0" + payload)

    async def frame(self) -> tuple[int, bytes]:
        """Opcode and payload of the next frame that is no ping; pings are answered."""
        async with asyncio.timeout(GUARD):
            while True:
                first, second = await self.reader.readexactly(2)
                size = second & 127
                if size == 126:
                    (size,) = struct.unpack("!H", await self.reader.readexactly(2))
                elif size == 127:
                    (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
                payload = await self.reader.readexactly(size)
                if first & 15 != 9:
                    return first & 15, payload
                self.send_frame(0x8A, payload)

    async def message(self) -> Any:
        opcode, payload = await self.frame()
        assert opcode == 1, (opcode, payload)
        return json.loads(payload)

    async def until(self, key: str) -> Any:
        """The next message that has this key."""
        while key not in (message := await self.message()):
            pass
        return message

    async def closed(self) -> tuple[int, str]:
        """Code and reason of the close frame; (0, "") when there was none."""
        try:
            while True:
                opcode, payload = await self.frame()
                if opcode == 8:
                    return int.from_bytes(payload[:2], "big"), payload[2:].decode()
        except (asyncio.IncompleteReadError, ConnectionResetError):
            return 0, ""

    async def close(self) -> None:
        await leave(self.writer)


async def socket(address: Any, *lines: str, target: str = "/api/v1/live", host: str | None = None, size: int = 0) -> Socket:
    """Knock with an upgrade; ``status`` says whether it was let in."""
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=size or 2**16)
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}")
    writer.write(request(address, target, *upgrade, *lines, host=host))
    async with asyncio.timeout(GUARD):
        head = await reader.readuntil(b"\r\n\r\n")
    return Socket(reader, writer, head)
