"""As much of HTTP/1.1 as a CLI's client speaks. Bounded: refuses long heads and bodies; knows nothing of models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 256 * 1024 * 1024
"""Above the longest line that we let pass (64 MiB) with room for a history of such."""


class BadRequest(Exception):
    """The peer does not speak as we do; answered with 400 and the end of the connection."""


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request of this connection; None when the peer has gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise BadRequest("the head is too long") from None
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest("not an HTTP/1.1 request")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    return Request(words[0], words[1], headers, await read_body(reader, headers))


async def read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return await read_chunks(reader)
    size = number(headers.get("content-length", "0"), 10)
    return await reader.readexactly(size)


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := number((await short_line(reader)).partition(";")[0], 16):
        if len(body) + size > BODY_LIMIT:
            raise BadRequest("the body is too long")
        body += await reader.readexactly(size)
        await short_line(reader)
    while (await short_line(reader)).strip():  # trailers
        continue
    return bytes(body)


async def short_line(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readline()).decode("latin-1")
    except ValueError:
        raise BadRequest("a line of a chunk's head is too long") from None


def number(words: str, base: int) -> int:
    try:
        size = int(words.strip(), base)
    except ValueError:
        raise BadRequest("a length is no number") from None
    if not 0 <= size <= BODY_LIMIT:
        raise BadRequest("the body is too long")
    return size


def head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def send_json(writer: asyncio.StreamWriter, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
    content = json.dumps(body).encode()
    named = {"content-type": "application/json", "content-length": str(len(content)), **(headers or {})}
    writer.write(head(status, named) + content)
    await writer.drain()


class EventStream:
    """A chunked ``text/event-stream`` answer."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def open(self, headers: Mapping[str, str]) -> None:
        named = {"content-type": "text/event-stream", "cache-control": "no-cache", "transfer-encoding": "chunked", **headers}
        self._writer.write(head(200, named))
        await self._writer.drain()

    async def send(self, words: bytes) -> None:
        self._writer.write(b"%x\r\n%b\r\n" % (len(words), words))
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()
