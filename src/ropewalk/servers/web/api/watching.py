"""Watching: a session's events, its wire, what the composer and the side panel ask for."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from litestar import Request, Response
from litestar.params import QueryParameter
from litestar.response import Stream
from msgspec import Struct

from ....events.views import Page
from ..sse import MEDIA_TYPE, position_from, stream
from .route import After, Hub, Limit, Maybe, Name, Who, Words, get
from .sessions import SESSION

JSON = "application/json"


class EventPage(Struct):
    """Each item is an event, with its ``kind`` and its ``seq``. ``next``: give it as ``after`` to go on; null: that was all."""

    items: list[dict[str, Any]]
    next: int | None


class WireLine(Struct, omit_defaults=True):
    """A line as it went over the wire; ``base64`` where it is no UTF-8. ``cursor`` orders both directions."""

    cursor: int
    process: str
    dir: str
    n: int
    at: float
    line: str | None = None
    base64: str | None = None


class LinePage(Struct):
    items: list[WireLine]
    next: int | None


@get(f"{SESSION}/events", role="watch", answers=(EventPage, JSON))
async def list_events(hub: Hub, who: Who, session: Name, after: After = 0, limit: Limit = 500) -> Response[bytes]:
    """A page of the log, as it was stored."""
    found = await hub.events(who, session, after=after, limit=limit)
    more = _more(len(found) == limit, sum(len(body) for _, body in found))
    following = str(found[-1][0]).encode() if more else b"null"
    return Response(b'{"items":[' + b",".join(body for _, body in found) + b'],"next":' + following + b"}", media_type=JSON)


@get(f"{SESSION}/stream", role="watch", answers=(str, MEDIA_TYPE))
async def stream_events(hub: Hub, who: Who, session: Name, request: Request[Any, Any, Any], after: After = 0) -> Stream:
    """The log from ``after`` (or the header Last-Event-ID) on, then what happens, as server-sent events; ``id`` is the seq."""
    return await stream(hub, who, session, position_from(request.headers.get("last-event-id"), after), request.scope)


@get(f"{SESSION}/lines", role="watch", answers=(LinePage, JSON))
async def list_lines(
    hub: Hub, who: Who, session: Name, after: After = 0, limit: Limit = 500,
    direction: Annotated[Literal["in", "out"] | None, QueryParameter(name="dir")] = None,
) -> Response[bytes]:  # fmt: skip
    """What went over the wire, verbatim. ``after`` is the ``cursor`` of the last line that was read."""
    found = await hub.lines(who, session, after=after, direction=direction, limit=limit)
    items = [_line(*line) for line in found]
    more = _more(len(items) == limit, sum(len(line[5]) for line in found))
    page = LinePage(items, items[-1].cursor if more else None)
    return Response(msgspec.json.encode(page), media_type=JSON)


LARGE = 4 * 1024 * 1024


def _more(full: bool, size: int) -> bool:
    """A page of large items ends before its limit is reached: then there may be more as well."""
    return full or size > LARGE


def _line(cursor: int, process: str, direction: str, n: int, at: float, data: bytes) -> WireLine:
    try:
        return WireLine(cursor, process, direction, n, at, line=data.decode())
    except UnicodeDecodeError:
        return WireLine(cursor, process, direction, n, at, base64=base64.b64encode(data).decode())


@get(f"{SESSION}/commands", role="watch")
async def list_commands(hub: Hub, who: Who, session: Name) -> Page:
    """Slash commands, as its CLI listed them."""
    return Page(items=await hub.commands(who, session))


@get(f"{SESSION}/files", role="watch")
async def find_files(hub: Hub, who: Who, session: Name, q: Words = "") -> Page:
    """Files of its folder whose name has these letters."""
    return Page(items=list(await hub.files(who, session, q)))


@get(f"{SESSION}/changes", role="watch")
async def list_changes(hub: Hub, who: Who, session: Name, since: Maybe = None) -> dict[str, Any]:
    """What changed in its folder."""
    return await hub.changes(who, session, since=since)


@get(f"{SESSION}/export", role="watch", answers=(str, "application/octet-stream"))
async def export(
    hub: Hub, who: Who, session: Name, form: Annotated[Literal["jsonl", "json", "md"], QueryParameter(name="format")] = "md"
) -> Stream:
    """The whole session as one file."""
    name, _, pieces = await hub.export(who, session, form)
    attachment = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Stream(pieces, media_type="application/octet-stream", headers={"Content-Disposition": attachment})


WATCHING = [list_events, stream_events, list_lines, list_commands, find_files, list_changes, export]
