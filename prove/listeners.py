"""Listeners that note every event they are told, come back with their last number, and notice gaps and repeats at once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from zlib import crc32

import httpx
import websockets

from .house import House

Heard = Callable[[str, dict[str, object]], None]


class Told:
    """What one listener was told: session → seq → checksum of the bytes. ``wrong``: what came out of turn."""

    def __init__(self, name: str, heard: Heard | None = None) -> None:
        self.name = name
        self.seen: dict[str, dict[int, int]] = {}
        self.last: dict[str, int] = {}
        self.wrong: list[str] = []
        self.connects = 0
        self._heard = heard

    def note(self, session: str, event: dict[str, object]) -> None:
        seq = int(str(event["seq"]))
        last = self.last.get(session, 0)
        if seq != last + 1:
            self.wrong.append(f"{self.name} heard {seq} of {session} after {last}")
        self.last[session] = max(last, seq)
        self.seen.setdefault(session, {})[seq] = checksum(event)
        if self._heard is not None:
            self._heard(session, event)

    @property
    def count(self) -> int:
        return sum(map(len, self.seen.values()))


def checksum(event: dict[str, object]) -> int:
    """Of what it says: joined frames don't keep an event's own bytes."""
    return crc32(json.dumps(event, sort_keys=True).encode())


class Socket:
    """One live socket, any number of sessions, for as long as it is wanted."""

    def __init__(self, house: House, heard: Heard | None = None, name: str = "socket") -> None:
        self.house, self.told = house, Told(name, heard)
        self.sessions: list[str] = []
        self.connected_at = 0.0
        self._link: websockets.ClientConnection | None = None

    async def listen_to(self, session: str) -> None:
        self.sessions.append(session)
        if self._link is not None:
            with suppress(websockets.ConnectionClosed):
                await self._subscribe(self._link, session)

    async def _subscribe(self, link: websockets.ClientConnection, session: str) -> None:
        await link.send(json.dumps({"subscribe": session, "after": self.told.last.get(session, 0)}))

    async def run(self) -> None:
        while True:
            with suppress(websockets.WebSocketException, OSError, TimeoutError):
                await self._once()
            self._link = None
            await asyncio.sleep(0.03)

    async def _once(self) -> None:
        if not self.house.url:
            return
        url = f"ws{self.house.url.removeprefix('http')}/api/v1/live"
        headers = {"Authorization": f"Bearer {self.house.token}"}
        async with websockets.connect(url, additional_headers=headers, max_size=None, compression=None, proxy=None) as link:
            self.told.connects += 1
            self.connected_at = time.monotonic()
            self._link = link
            for session in list(self.sessions):
                await self._subscribe(link, session)
            async for message in link:
                said = json.loads(message)
                for event in said.get("events", ()):
                    self.told.note(said["session"], event)


class Stream:
    """Server-sent events of one session."""

    def __init__(self, house: House, session: str) -> None:
        self.house, self.session, self.told = house, session, Told("stream")

    async def run(self) -> None:
        async with httpx.AsyncClient(timeout=httpx.Timeout(10.0, read=20.0)) as http:
            while True:
                with suppress(httpx.HTTPError, OSError):
                    await self._once(http)
                await asyncio.sleep(0.03)

    async def _once(self, http: httpx.AsyncClient) -> None:
        headers = {"Authorization": f"Bearer {self.house.token}", "Last-Event-ID": str(self.told.last.get(self.session, 0))}
        async with http.stream("GET", f"{self.house.url}/api/v1/sessions/{self.session}/stream", headers=headers) as answer:
            if answer.status_code != 200:
                return
            self.told.connects += 1
            rest = b""
            async for chunk in answer.aiter_raw():
                *blocks, rest = (rest + chunk).split(b"\n\n")
                for block in blocks:
                    self._block(block)

    def _block(self, block: bytes) -> None:
        if not block.startswith(b"event:"):
            for line in block.split(b"\n"):
                if line.startswith(b"data: "):
                    self.told.note(self.session, json.loads(line[6:]))
