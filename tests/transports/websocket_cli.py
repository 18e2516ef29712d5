"""A CLI's side of a link, played by a test: dials with ``websockets``, posts plain HTTP, or speaks raw bytes. Tests nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from ropewalk.transports.websocket.admission import Admission, posting_path
from ropewalk.transports.websocket.link import Link
from ropewalk.transports.websocket.listener import Listener
from tests.contract.listening import GUARD, until

TOKEN, PATH = "a-token-of-this-session", "/v1/ws/s1"


@dataclass
class Hearer:
    """An audience that remembers; ``on_come`` is called from within ``link_came``."""

    heard: bytearray = field(default_factory=bytearray)
    links: list[str] = field(default_factory=list)
    on_come: Sequence[bytes] = ()
    house: House | None = None

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def link_came(self, again: bool) -> None:
        self.links.append("again" if again else "came")
        for line in self.on_come if again else ():
            assert self.house is not None
            self.house.send(line)

    def link_went(self, why: str) -> None:
        self.links.append(f"went: {why}")

    def confirmed(self) -> None: ...

    def connection_gone(self) -> None: ...

    async def hears(self, data: bytes) -> None:
        await until(lambda: len(self.heard) >= len(data), f"{data[:80]!r}; heard {bytes(self.heard[-80:])!r}")
        assert self.heard == data


@dataclass
class House:
    """A listener, its link, who hears it, and the ways in."""

    listener: Listener
    link: Link
    audience: Hearer
    port: int

    def send(self, lines: bytes) -> None:
        self.link.send(lines)
        self.listener.flush()

    def dial(self, token: str = TOKEN, path: str = PATH, **headers: str) -> connect:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named |= {"Authorization": f"Bearer {token}"} if token else {}
        return connect(f"ws://127.0.0.1:{self.port}{path}", additional_headers=named, ping_interval=None, proxy=None)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Raw]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**26)
        try:
            yield Raw(reader, writer)
        finally:
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def post(self, *events: object, token: str = TOKEN, body: bytes | None = None) -> int:
        async with self.connection() as raw:
            return await raw.post(*events, token=token, body=body)


@dataclass
class Raw:
    """A connection byte by byte."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    head: bytes = b""

    async def post(self, *events: object, token: str = TOKEN, body: bytes | None = None) -> int:
        """Post events (or just any body); the status of the answer."""
        body = json.dumps({"events": events}).encode() if body is None else body
        self.writer.write(post_head(len(body), token) + body)
        return await self.status()

    async def status(self) -> int:
        """The status of the next answer; its head is kept, its body read."""
        async with asyncio.timeout(GUARD):
            self.head = await self.reader.readuntil(b"\r\n\r\n")
            length = self.head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            await self.reader.readexactly(int(length or 0))
        return int(self.head.split(b" ")[1])

    async def is_cut(self) -> bool:
        """Wait until the other side has closed."""
        async with asyncio.timeout(GUARD):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True


def post_head(length: int | None, token: str = TOKEN, more: str = "") -> bytes:
    size = "" if length is None else f"Content-Length: {length}\r\n"
    return (
        f"POST {posting_path(PATH)} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\n{size}{more}\r\n".encode()
    )


class DeafCli:
    """A link whose other side does only what it is told: no pong, no close by itself."""

    def __init__(self, raw: Raw, protocol: ClientProtocol) -> None:
        self._raw, self._protocol = raw, protocol

    @classmethod
    async def dial(cls, raw: Raw, port: int) -> DeafCli:
        protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}{PATH}"), max_size=None)
        request = protocol.connect()
        request.headers["Authorization"] = f"Bearer {TOKEN}"
        protocol.send_request(request)
        raw.writer.write(b"".join(protocol.data_to_send()))
        protocol.receive_data(await raw.reader.readuntil(b"\r\n\r\n"))
        assert protocol.handshake_exc is None
        protocol.events_received()
        return cls(raw, protocol)

    async def frames(self, opcode: Opcode, count: int = 1) -> list[bytes]:
        """Read until so many frames of this kind have come; their payloads. Answers nothing."""
        found: list[bytes] = []
        async with asyncio.timeout(GUARD):
            while len(found) < count:
                self._protocol.receive_data(await self._raw.reader.read(65536))
                self._protocol.data_to_send()
                events = [event for event in self._protocol.events_received() if isinstance(event, Frame)]
                found += [bytes(event.data) for event in events if event.opcode is opcode]
        return found

    def send(self, payload: bytes) -> None:
        self._protocol.send_text(payload)
        self._raw.writer.write(b"".join(self._protocol.data_to_send()))

    def pong(self, payload: bytes) -> None:
        self._protocol.send_pong(payload)
        self._raw.writer.write(b"".join(self._protocol.data_to_send()))

    def drop(self) -> None:
        self._raw.writer.transport.abort()


@asynccontextmanager
async def open_house(beat: float = 20.0) -> AsyncIterator[House]:
    audience = Hearer()
    link = Link(Admission(TOKEN, PATH, frozenset({"127.0.0.1", "localhost"})))
    listener = Listener(link, audience, beat=beat)
    house = audience.house = House(listener, link, audience, await listener.open("127.0.0.1", 0))
    try:
        yield house
    finally:
        listener.close()
        await until(lambda: not listener.connections, "connections to be cut")


async def abort(cli: ClientConnection) -> None:
    """As a network does: no close frame."""
    cli.transport.abort()
    await cli.wait_closed()
