"""As much of WebSocket as the bench needs, cheap enough not to be what is measured. Refuses fragments and extensions."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterator

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accepted(head: bytes) -> bytes:
    """What a server answers to this head."""
    found = re.search(rb"(?i)sec-websocket-key: *(\S+)", head)
    assert found is not None
    key = base64.b64encode(hashlib.sha1(found[1] + GUID).digest())
    said = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: "
    return said + key + b"\r\n\r\n"


def upgrade(host: str, path: str, token: str) -> bytes:
    """What a client says first."""
    key = base64.b64encode(os.urandom(16)).decode()
    said = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    said += [f"Sec-WebSocket-Key: {key}", f"Authorization: Bearer {token}"]
    return "\r\n".join([*said, "", ""]).encode()


def frame(payload: bytes, *, opcode: int = 1, mask: bool = False) -> bytes:
    """A whole frame; a client's is masked, here with zeros."""
    size, bit = len(payload), 0x80 if mask else 0
    if size < 126:
        head = bytes((0x80 | opcode, bit | size))
    elif size < 1 << 16:
        head = bytes((0x80 | opcode, bit | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | opcode, bit | 127)) + size.to_bytes(8, "big")
    return head + (b"\0\0\0\0" if mask else b"") + payload


def frames(heard: bytearray) -> Iterator[bytes]:
    """Take the payloads of all whole text frames out of what was heard; others are skipped. Ours mask with zeros only."""
    at = 0
    while len(heard) - at >= 2:
        opcode, masked, size, start = heard[at] & 15, heard[at + 1] & 0x80, heard[at + 1] & 0x7F, at + 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            if len(heard) - start < wide:
                break
            size, start = int.from_bytes(heard[start : start + wide], "big"), start + wide
        start += 4 if masked else 0
        if len(heard) - start < size:
            break
        at = start + size
        if opcode == 1:
            yield bytes(heard[start:at])
    del heard[:at]
