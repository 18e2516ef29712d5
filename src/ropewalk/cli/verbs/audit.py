"""``audit``: verdicts as a table, as JSON lines or as CSV. Refuses to change or to sum up anything."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import NamedTuple, get_args

from ...errors import UsageError
from ...events import commands as c
from ...events.views import VerdictView
from ..asked import check_choice
from ..codes import DONE
from ..moments import moment
from ..statuses import clock
from ..table import draw
from ..which import checked, short_ids
from .asking import Asking

SHOWN = 50
"""Lines of the table, unless asked otherwise."""
STYLES = {"deny": "red", "allow": "green"}
HEADS = ("TIME", "ID", "TOOL", "WHAT", "SAID", "BECAUSE")
TODAY = 20 * 3600.0
"""Seconds after which a time is shown with its day."""
ITSELF = "Claude Code itself: "


class Wanted(NamedTuple):
    """The filters, as typed."""

    session: str | None = None
    tool: str | None = None
    verdict: str | None = None
    because: str | None = None
    by: str | None = None
    door: str | None = None
    text: str | None = None
    since: str | None = None
    until: str | None = None
    wildcard: bool = False
    outside: bool = False


async def audit(asking: Asking, wanted: Wanted, *, last: int | None, csv: bool) -> int:
    asked = await _filter(asking, wanted)
    if csv:
        if last is not None or asking.as_json or asking.ids_only:
            raise UsageError("--csv is the whole audit as a file: leave -n, --json and -q out, or narrow it by its filters")
        rest = b""
        async for piece in asking.remote.export_audit(asked):
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                asking.screen.bytes(line)
        return DONE
    most = last if last is not None or asking.as_json else SHOWN
    views = _views(asking, asked, most)
    if asking.as_json or asking.ids_only:
        async for view in views:
            asking.object(view) if asking.as_json else asking.screen.row(view.id)
        return DONE
    _table(asking, [view async for view in views], short_ids(one.id for one in await asking.remote.list(limit=1000)))
    return DONE


async def _filter(asking: Asking, wanted: Wanted) -> c.AuditFilter:
    """Raises ``UsageError`` for what can't be meant."""
    if wanted.verdict is not None:
        check_choice("verdict", wanted.verdict, ("allow", "deny"))
    if wanted.because is not None:
        check_choice("because", wanted.because, get_args(c.Kind))
    now = time.time()
    since, until = (moment(text, now) if text is not None else None for text in (wanted.since, wanted.until))
    session = wanted.session
    if session is not None:
        session = (await asking.session(session)).id if session in (".", "-") else checked(session)
    return c.AuditFilter(
        session=session, tool=wanted.tool, behavior=wanted.verdict, because=wanted.because, who=wanted.by, door=wanted.door,  # type: ignore[arg-type]
        text=wanted.text, since=since, until=until, wildcard=wanted.wildcard, outside=wanted.outside,
    )  # fmt: skip


async def _views(asking: Asking, asked: c.AuditFilter, most: int | None) -> AsyncIterator[VerdictView]:
    left, cursor = most, ""
    while left is None or left > 0:
        page = await asking.remote.audit(asked, limit=min(left or 1000, 1000), cursor=cursor or None)
        for view in page.items:
            yield view
        left = left - len(page.items) if left is not None else None
        if page.next is None:
            return
        cursor = str(page.next)


def _table(asking: Asking, views: list[VerdictView], ids: dict[str, str]) -> None:
    if not views:
        asking.screen.row("Nothing of that kind was allowed or denied.")
        return
    now = time.time()
    rows = [
        (when(view.at, now), ids.get(view.session, view.session[:4]), view.tool, thing_of(view), view.behavior, because_of(view))
        for view in views
    ]
    draw(asking.screen, HEADS, rows, [STYLES[view.behavior] for view in views], spare=(1, 2))


def when(at: float, now: float) -> str:
    return clock(at) if now - at < TODAY else clock(at, "%Y-%m-%d %H:%M")


def thing_of(view: VerdictView) -> str:
    """Without the verb, which the tool's name says."""
    verb, colon, thing = view.what.partition(": ")
    return thing if colon and thing else verb


def because_of(view: VerdictView) -> str:
    if view.because_kind == "person":
        return f"by {view.by}, {view.door}" + (f": {view.message}" if view.message and view.behavior == "deny" else "")
    if view.because_kind == "cli":
        return f"claude itself: {view.because.removeprefix(ITSELF)}" if view.because.startswith(ITSELF) else view.because
    return view.because
