"""Requests to a hub over HTTP, each with a name of its own, repeated under that name while the hub is away. Refuses redirects.

Neither proxies nor .netrc of the environment are used: a hub's token goes to the hub alone.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar

import httpx
import msgspec

from ..errors import HubError, HubUnreachable, RopewalkError, UsageError
from .ids import new_id
from .remote_errors import error_said, may_pass, said_in

T = TypeVar("T")
BASE = "/api/v1"
FIRST, LONGEST = 0.1, 2.0
"""Seconds before the first repeat, and at most between two; doubled each time, with chance so that many don't come together."""
CONNECT = 5.0
ANSWER = 30.0
"""Seconds that the hub may take for an answer; what waits for a CLI says how much longer."""


class Where(msgspec.Struct):
    """Where a hub is and what opens its door. ``find`` is asked again when it is gone: it may come back at another port."""

    url: str
    token: str
    find: Callable[[], tuple[str, str]] | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise UsageError(f"{self.url!r} is no address of a hub; write http://127.0.0.1:7077")
        self.url = self.url.rstrip("/")

    def look_again(self) -> None:
        if self.find is not None:
            try:
                url, self.token = self.find()
            except HubUnreachable:
                return
            self.url = url.rstrip("/")


def pause(tries: int, longest: float = LONGEST, first: float = FIRST) -> float:
    """Seconds before the next try."""
    whole = min(first * 2.0 ** min(tries, 20), longest)
    return whole * random.uniform(0.5, 1.0)


class Calls:
    """One HTTP client. Use it inside ``async with``, or ``close`` it."""

    def __init__(self, where: Where, patience: float, tls: ssl.SSLContext | None = None) -> None:
        self._where, self._patience = where, patience
        limits = httpx.Limits(max_connections=100)
        self._http = httpx.AsyncClient(
            verify=tls if tls is not None else True, limits=limits, follow_redirects=False, trust_env=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, into: type[T], **query: Any) -> T:
        given = {name: _word(value) for name, value in query.items() if value is not None}
        return _typed(await self._ask("GET", path, query=given), into)

    async def text(self, path: str, **query: str) -> bytes:
        """An answer that is no JSON."""
        return await self._ask("GET", path, query=query)

    async def look(self, path: str, asked: Mapping[str, Any], into: type[T]) -> T:
        """A look whose question is a body: nothing is done by it, so it has no name."""
        return _typed(await self._ask("POST", path, content=json.dumps(asked).encode()), into)

    async def pieces(self, path: str, **query: Any) -> AsyncIterator[bytes]:
        """A long answer as it comes. Not asked for again: part of it may have been given on already."""
        given = {name: _word(value) for name, value in query.items() if value is not None}
        heads = {"authorization": f"Bearer {self._where.token}"}
        try:
            async with self._http.stream("GET", f"{self._where.url}{BASE}{path}", params=given, headers=heads) as answer:
                if answer.status_code >= 300:
                    raise error_said(answer.status_code, said_in(await answer.aread()))
                async for piece in answer.aiter_bytes():
                    yield piece
        except httpx.TransportError as error:
            raise unreachable(self._where.url, error) from None

    async def do(self, method: str, path: str, command: Any, into: type[T], within: float = 0.0) -> T:
        """Carry out a command. It gets a ``client_id`` if it has none, so that a repeat is the same command."""
        body = {name: value for name, value in msgspec.to_builtins(command).items() if value is not None}
        named = body.setdefault("client_id", new_id())
        # A body on DELETE is lost by some proxies: there the name goes with the head.
        heads = {"client-id": named} if method == "DELETE" else {}
        content = b"" if method == "DELETE" else msgspec.json.encode(body)
        return _typed(await self._ask(method, path, content=content, heads=heads, within=within), into)

    async def _ask(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, content: bytes = b"",
        heads: Mapping[str, str] | None = None, within: float = 0.0,
    ) -> bytes:  # fmt: skip
        end, tries = time.monotonic() + self._patience, 0
        while True:
            try:
                status, body = await self._once(method, path, query or {}, content, heads or {}, within)
                if status < 300:
                    return body
                said = said_in(body)
                failure = error_said(status, said)
                if not may_pass(status, said):
                    raise failure
            except httpx.TransportError as error:
                failure = unreachable(self._where.url, error)
            wait = pause(tries)
            if time.monotonic() + wait > end:
                raise failure
            tries += 1
            await asyncio.sleep(wait)
            self._where.look_again()

    async def _once(
        self, method: str, path: str, query: Mapping[str, str], content: bytes, heads: Mapping[str, str], within: float
    ) -> tuple[int, bytes]:
        whole = {"authorization": f"Bearer {self._where.token}", **heads}
        if content:
            whole["content-type"] = "application/json"
        timeout = httpx.Timeout(min(ANSWER, self._patience) + within, connect=min(CONNECT, self._patience))
        url = f"{self._where.url}{BASE}{path}"
        try:
            answer = await self._http.request(method, url, params=dict(query), content=content, headers=whole, timeout=timeout)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
            raise UsageError(f"{self._where.url!r} is no address of a hub: {error}") from None
        return answer.status_code, answer.content


def unreachable(url: str, error: Exception) -> RopewalkError:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return HubUnreachable(f"no hub answers at {url} ({said}); start one with `ropewalk serve`, or check the address")


def _typed(body: bytes, into: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=into)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise HubError(f"the hub's answer can't be read ({error}); is it another version?") from None


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
