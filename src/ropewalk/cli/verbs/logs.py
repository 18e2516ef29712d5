"""``logs``: a session's events, or its wire, as they were and as they come. Refuses to miss or repeat a line over a lost hub."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import aclosing, suppress

import msgspec

from ...client.remote import WireLine
from ...events import events as e
from ..relay.link import Link
from ..relay.wire import bytes_of
from ..safe import cut, one_line
from ..screen import Screen
from ..statuses import clock
from .asking import Asking
from .words import words_of

MANY = 500
LOOK_AGAIN = 0.5
"""Seconds between looks at the wire, which is not pushed."""


async def logs(asking: Asking, word: str, *, follow: bool, after: int, last: int | None, lines: bool) -> int:
    view = await asking.session(word)
    if lines:
        return await _wire(asking, view.id, after, follow)
    if last is not None:
        after = max(after, view.last_seq - last)
    if follow:
        return await _follow(asking, view.id, after)
    while events := await asking.remote.events(view.id, after, MANY):
        for event in events:
            _say(asking, event)
        after = events[-1].seq
    return 0


async def _follow(asking: Asking, session: str, after: int) -> int:
    link = Link(asking.screen, time.monotonic)
    asking.remote.on_link = link.told
    ticking = asyncio.get_running_loop().create_task(_tick(link))
    try:
        async with aclosing(asking.remote.attach(session, after)) as events:
            async for event in events:
                _say(asking, event)
    finally:
        ticking.cancel()
        with suppress(asyncio.CancelledError):
            await ticking
    return 0


async def _tick(link: Link) -> None:
    while True:
        link.tick()
        await asyncio.sleep(1.0)


def _say(asking: Asking, event: e.Event) -> None:
    if asking.as_json:
        asking.object(event)
    else:
        asking.screen.row(line_of(asking.screen, event))


def line_of(screen: Screen, event: e.Event) -> str:
    """``13:08:12  4813  question_closed   allowed once by Mia (page)``, on one row of a terminal."""
    kind = event.what if isinstance(event, e.Unrecognised) else str(event.__struct_config__.tag)
    style = {"failed": "red", "question_opened": "amber"}.get(kind, "")
    label = f"{kind:<18}"
    room = screen.look.width - 36 if sys.stdout.isatty() else 10_000
    words = cut(one_line(words_of(event), ascii_only=screen.look.ascii), max(20, room), screen.look.glyphs.dots)
    inner = "  " if event.parent else ""
    shown = screen.paint(style, label) if style else label
    return f"{screen.paint('dim', clock(event.at))}  {event.seq:>4}  {shown}  {inner}{words}".rstrip()


async def _wire(asking: Asking, session: str, after: int, follow: bool) -> int:
    while True:
        found = await asking.remote.lines(session, after, limit=MANY)
        for line in found:
            _say_line(asking, line)
            after = line.cursor
        if not found and not follow:
            return 0
        if not found:
            await asyncio.sleep(LOOK_AGAIN)


def _say_line(asking: Asking, line: WireLine) -> None:
    if asking.as_json:
        asking.object({name: value for name, value in msgspec.to_builtins(line).items() if value is not None})
        return
    whole = bytes_of(line).rstrip(b"\n")
    if sys.stdout.isatty():
        sign = ">" if line.dir == "in" else "<"
        asking.screen.row(f"{asking.screen.paint('dim', f'{line.cursor} {sign}')} {whole.decode('utf-8', 'replace')}")
    else:
        asking.screen.bytes(whole)
