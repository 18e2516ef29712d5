"""Sockets written by hand: for peers that do what no library would. Knows just enough of HTTP and WebSocket to misbehave."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import struct
from urllib.parse import urlsplit

from .house import House


def address(house: House) -> tuple[str, int]:
    found = urlsplit(house.url)
    return str(found.hostname), int(found.port or 80)


def head(house: House, path: str, token: str | None, **more: str) -> bytes:
    """A GET with these headers."""
    host, port = address(house)
    headers = {"Host": f"{host}:{port}", **({"Authorization": f"Bearer {token}"} if token else {}), **more}
    rows = [f"GET {path} HTTP/1.1", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(rows) + "\r\n\r\n").encode()


def upgrade(house: House, token: str | None) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return head(
        house, "/api/v1/live", token, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Version="13", Sec_WebSocket_Key=key
    )


def frame(
    payload: bytes, *, opcode: int = 1, fin: bool = True, masked: bool = True, reserved: int = 0, size: int | None = None
) -> bytes:
    """Legal by default; ``size`` lies about the length."""
    length = len(payload) if size is None else size
    first = (0x80 if fin else 0) | reserved | opcode
    bit = 0x80 if masked else 0
    if length < 126:
        begin = struct.pack("!BB", first, bit | length)
    elif length < 1 << 16:
        begin = struct.pack("!BBH", first, bit | 126, length)
    else:
        begin = struct.pack("!BBQ", first, bit | 127, length)
    if not masked:
        return begin + payload
    mask = os.urandom(4)
    return begin + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class Peer:
    """One connection. ``small``: with a tiny buffer for what comes in, so that a peer that does not read is soon full."""

    def __init__(self, house: House, *, small: bool = False) -> None:
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.setblocking(False)
        self._address = address(house)

    async def open(self, first: bytes) -> Peer:
        await asyncio.get_running_loop().sock_connect(self.socket, self._address)
        await self.send(first)
        return self

    async def send(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def receive(self, within: float = 10.0) -> bytes:
        """What comes next; empty at the end."""
        try:
            return await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self.socket, 65536), within)
        except ConnectionResetError:
            return b""

    async def answered(self, within: float = 10.0) -> bytes:
        """The head of the answer, and what came with it."""
        found = b""
        while b"\r\n\r\n" not in found:
            part = await self.receive(within)
            if not part:
                break
            found += part
        return found

    async def ended(self, within: float) -> bytes | None:
        """All that came up to its end; None when it did not end in time."""
        found = b""
        try:
            async with asyncio.timeout(within):
                while part := await self.receive(within):
                    found += part
        except TimeoutError:
            return None
        return found

    def close(self) -> None:
        self.socket.close()
