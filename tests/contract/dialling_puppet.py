"""The puppet for links: dials the ``--sdk-url`` that it is given, speaks WebSocket by hand, does what a Unix socket tells it.

It looks at its link only when told to, but for what stands first in it: a ping is answered, a close ends it. Needs nothing of us.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import sys
from typing import Any
from urllib.parse import urlsplit

TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA


class Wire:
    """A WebSocket client's frames. Its mask is all zeros, which is legal and leaves the payload as it is."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)  # no more than a pipe holds
        self.socket.connect((parts.hostname, parts.port))
        self.socket.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode()
        )
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += self._exactly(1)
        assert b" 101 " in answer, answer

    def send(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        length = struct.pack("!B", 0x80 | size) if size < 126 else struct.pack("!BQ", 0xFF, size)
        if 126 <= size < 65536:
            length = struct.pack("!BH", 0xFE, size)
        self.socket.sendall(bytes([0x80 | opcode]) + length + bytes(4) + payload)

    def first(self) -> int | None:
        """The opcode of the frame that comes next, without taking it; None when the link is gone."""
        head = self.socket.recv(1, socket.MSG_PEEK)
        return head[0] & 0xF if head else None

    def take(self) -> tuple[int, bytes]:
        head = self._exactly(2)
        size = head[1]
        if size >= 126:
            size = int.from_bytes(self._exactly(2 if size == 126 else 8), "big")
        return head[0] & 0xF, self._exactly(size)

    def _exactly(self, count: int) -> bytes:
        pieces = []
        while count:
            piece = self.socket.recv(min(count, 1 << 20))
            if not piece:
                os._exit(98)
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)


class Puppet:
    def __init__(self, control: socket.socket, wire: Wire) -> None:
        self._control, self._wire = control, wire
        self._heard = b""
        self._obeys_end, self._closed = True, False

    def run(self) -> None:
        orders = self._control.makefile("rb")
        while True:
            watched = [self._control] if self._blocked() else [self._control, self._wire.socket]
            if self._control in select.select(watched, [], [])[0]:
                line = orders.readline()
                if not line:
                    os._exit(99)
                self._control.sendall(json.dumps(self._obey(json.loads(line))).encode() + b"\n")

    def _blocked(self) -> bool:
        """Deal with what stands first in the link, if that needs nobody's order. True: something is there that does."""
        while select.select([self._wire.socket], [], [], 0)[0]:
            first = self._wire.first()
            if first == PING:
                self._wire.send(PONG, self._wire.take()[1])
            elif first == CLOSE and self._obeys_end:
                os._exit(0)
            else:
                return True
        return False

    def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order:
            case {"do": "say", "hex": text, "chunk": chunk}:
                data = bytes.fromhex(text)
                size = chunk or len(data) or 1
                for at in range(0, len(data), size):
                    self._wire.send(TEXT, data[at : at + size])
            case {"do": "hear", "count": count}:
                return {"hex": self._hear(count).hex()}
            case {"do": "hear_end"}:
                self._obeys_end = False
                return {"hex": self._hear(None).hex()}
            case {"do": "disobey", "rungs": rungs}:
                self._obeys_end = self._obeys_end and "input closed" not in rungs
                if "terminate" in rungs:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case {"do": "exit", "code": code, "stderr": lines}:
                os.write(2, "".join(f"{line}\n" for line in lines).encode())
                os._exit(code)
        return {}

    def _hear(self, count: int | None) -> bytes:
        while not self._closed and (count is None or len(self._heard) < count):
            opcode, payload = self._wire.take()
            if opcode == PING:
                self._wire.send(PONG, payload)
            elif opcode == CLOSE:
                self._closed = True
            else:
                self._heard += payload
        end = len(self._heard) if count is None else count
        heard, self._heard = self._heard[:end], self._heard[end:]
        return heard


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(sys.argv[1])
        url = sys.argv[2].removeprefix("--sdk-url=")
        Puppet(control, Wire(url, os.environ["CLAUDE_CODE_SESSION_ACCESS_TOKEN"])).run()
