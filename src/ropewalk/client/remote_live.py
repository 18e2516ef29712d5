"""Events of a session as they happen, over a WebSocket that may break. Refuses gaps and repeats: each seq once, in order."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from functools import cache
from typing import Any

import msgspec
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI, WebSocketException

from ..errors import UsageError
from ..events.events import AnyEvent, Event, Unrecognised
from .remote_calls import BASE, Where, pause, unreachable
from .remote_errors import Said, error_said, may_pass, said_in

FIRST, LONGEST = 0.3, 10.0
"""Seconds between tries after a break, doubling."""
HEARTBEAT = 5.0
"""A hub that is silent for this long, and does not answer a ping for as long again, is gone."""

OnLink = Callable[[bool], None]
"""Told False when the link to the hub broke, True when it is back."""


class Frame(msgspec.Struct):
    """What comes over the socket, as far as events go."""

    session: str = ""
    events: list[msgspec.Raw] = []
    live: list[msgspec.Raw] = []
    problem: Said | None = None


class _Direct(connect):
    """A redirect is an error: a hub never sends anybody elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


async def attached(
    where: Where, session: str, after: int, *, live: bool, patience: float, on_link: OnLink, tls: ssl.SSLContext | None
) -> AsyncGenerator[Event, None]:
    """Events after ``after``, for ever. Goes on over breaks; raises when the first connection fails, or the hub says no."""
    line = Line(after)
    met, broken, tries, began = False, False, 0, time.monotonic()
    while True:
        try:
            async with _open(where, tls) as socket:
                await socket.send(msgspec.json.encode({"subscribe": session, "after": line.last}).decode())
                if broken:
                    on_link(True)
                met, broken = True, False
                async for message in socket:
                    tries = 0
                    for event in line.take(session, _bytes(message), live):
                        yield event
                failure: Exception = ConnectionError("the hub closed the connection")
        except InvalidStatus as error:
            failure = error
            status, said = error.response.status_code, said_in(bytes(error.response.body or b""))
            if not may_pass(status, said):
                raise error_said(status, said) from None
        except InvalidURI:
            raise UsageError(f"{where.url!r} is no address of a hub") from None
        except (OSError, TimeoutError, InvalidHandshake, WebSocketException, Gap) as error:
            failure = error
        if not broken and met:
            on_link(False)
            broken = True
        wait = pause(tries, LONGEST, FIRST)
        if not met and time.monotonic() + wait > began + patience:
            raise unreachable(where.url, failure)
        tries += 1
        await asyncio.sleep(wait)
        where.look_again()


def _open(where: Where, tls: ssl.SSLContext | None) -> connect:
    url = "ws" + where.url.removeprefix("http") + BASE + "/live"
    return _Direct(
        url, additional_headers={"Authorization": f"Bearer {where.token}"}, proxy=None, compression=None, max_size=None,
        ping_interval=HEARTBEAT, ping_timeout=HEARTBEAT, open_timeout=HEARTBEAT, close_timeout=1.0,
        ssl=tls if where.url.startswith("https") else None,
    )  # fmt: skip


class Gap(Exception):
    """An event is missing: we ask again from the last one that we have."""


class Line:
    """Keeps count: what was told is not told again, what is missing is noticed."""

    def __init__(self, after: int) -> None:
        self.last = after

    def take(self, session: str, message: bytes, live: bool) -> Iterator[Event]:
        frame = msgspec.json.decode(message, type=Frame)
        if frame.problem is not None:
            raise error_said(frame.problem.status, frame.problem)
        if frame.session != session:
            return
        for raw in frame.events:
            event = read(bytes(raw))
            if event.seq <= self.last:
                continue
            if event.seq != self.last + 1:
                raise Gap(f"event {self.last + 1} is missing before {event.seq}")
            self.last = event.seq
            yield event
        if live:
            yield from (read(bytes(raw)) for raw in frame.live)


@cache
def _decoder() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(AnyEvent)


class _Kind(msgspec.Struct):
    kind: str = ""
    session: str = ""
    seq: int = 0
    at: float = 0.0


def read(body: bytes) -> Event:
    """An event; ``Unrecognised`` for a kind that this version does not know."""
    try:
        event: Event = _decoder().decode(body)
        return event
    except msgspec.ValidationError:
        known = msgspec.json.decode(body, type=_Kind)
        return Unrecognised(
            session=known.session, seq=known.seq, at=known.at, what=known.kind, raw=body.decode("utf-8", "replace")
        )


def _bytes(message: str | bytes) -> bytes:
    return message.encode() if isinstance(message, str) else message
