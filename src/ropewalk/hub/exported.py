"""A session as one file that stands alone: its events as JSON lines, as one JSON object, or as a text to read.

Given piece by piece: a session of a million events is never held at once. Refuses what comes after the moment it was asked for.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable
from typing import Any, Protocol

import msgspec

from ..errors import UsageError
from ..events.views import SessionView

PAGE = 1000
FORMS = {"jsonl": "application/x-ndjson", "json": "application/json", "md": "text/markdown; charset=utf-8"}
Told = list[tuple[int, bytes]]


class Events(Protocol):
    """Where they are read from."""

    async def events(self, session: str, after: int, limit: int) -> Told: ...


async def exported(store: Events, session: SessionView, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
    """(file name, content type, its pieces). The first page is read now: a disk that can't be read is told before any piece."""
    if form not in FORMS:
        raise UsageError(f"format is one of {', '.join(FORMS)}")
    pages = _pages(store, session, await store.events(session.id, 0, PAGE))
    pieces = {"jsonl": _lines, "json": _object, "md": _text}[form](session, pages)
    return f"ropewalk-{session.id}.{form}", FORMS[form], pieces


async def _pages(store: Events, session: SessionView, page: Told) -> AsyncIterator[list[bytes]]:
    while page and page[0][0] <= session.last_seq:
        after = page[-1][0]
        yield [body for seq, body in page if seq <= session.last_seq]
        page = await store.events(session.id, after, PAGE)


async def _lines(session: SessionView, pages: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    async for page in pages:
        yield b"\n".join(page) + b"\n"


async def _object(session: SessionView, pages: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    yield b'{"session":%b,"events":[' % msgspec.json.encode(session)
    between = b""
    async for page in pages:
        yield between + b",".join(page)
        between = b","
    yield b"]}"


async def _text(session: SessionView, pages: AsyncIterator[list[bytes]]) -> AsyncIterator[bytes]:
    yield f"# {session.title or session.id}\n{session.cwd} · ${session.cost_usd:.2f}\n\n".encode()
    async for page in pages:
        words = [f"{line}\n" for body in page for line in _words(msgspec.json.decode(body))]
        yield "".join(words).encode()


def _words(event: dict[str, Any]) -> Iterable[str]:
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(event.get("at", 0))))
    match event.get("kind"):
        case "prompt_queued":
            return (f"## {event.get('by') or 'Prompt'}, {at}", "", str(event.get("text", "")), "")
        case "text":
            return (str(event.get("text", "")), "")
        case "tool_started":
            return (f"- **{event.get('tool')}** {event.get('title', '')}",)
        case "question_closed":
            return (f"- question {event.get('fate')}: {event.get('behavior') or ''} {event.get('by') or ''}".rstrip(),)
        case "turn_ended":
            return ("", f"*Done, ${float(event.get('cost_usd', 0)):.2f}, {at}*", "")
    return ()
