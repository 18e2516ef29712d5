"""``ropewalk``, ``ls``, ``inbox``: what needs a person, what is at work, what rests. Refuses to start or change anything."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...events.views import Page, QuestionView, SessionView
from ...sessions.figures import count, dollars
from ..home import home_path
from ..statuses import clock, fix_of, glyph_of, span, status_meant, title_of, why_of, word_of
from ..table import draw
from ..which import MANY, short_ids
from .asking import Asking

SOME = 10
"""Sessions at work that the overview lists."""


async def overview(asking: Asking) -> int:
    """Bare ``ropewalk``."""
    listed = await asking.remote.list(limit=MANY)
    groups = {group: [one for one in listed if one.group == group] for group in ("needs_you", "working", "quiet")}
    if asking.as_json:
        counts = {group: len(found) for group, found in groups.items()}
        asking.object({"counts": counts, "items": groups["needs_you"] + groups["working"]})
        return 0
    screen, shown = asking.screen, short_ids(one.id for one in listed)
    needs = "1 needs" if len(groups["needs_you"]) == 1 else f"{len(groups['needs_you'])} need"
    screen.row(f"{needs} you, {len(groups['working'])} at work, {len(groups['quiet'])} quiet")
    rows = groups["needs_you"] + groups["working"][:SOME]
    now = time.time()
    cells = [(_marked(asking, one, shown), title_of(one), span(now - one.status_at), why_of(one)) for one in rows]
    draw(screen, (), cells, [word_of(one.status).style for one in rows])
    first = groups["needs_you"][:1]
    hint = f"answer: ropewalk answer {shown[first[0].id]}     " if first else ""
    screen.row(screen.paint("dim", f"{hint}all: ropewalk ls" if listed else 'begin: ropewalk run "…"'))
    return 0


def _marked(asking: Asking, view: SessionView, shown: dict[str, str]) -> str:
    return f"{glyph_of(view, asking.screen.look.glyphs)} {shown[view.id]}"


async def ls(asking: Asking, *, status: str | None, text: str | None, tag: str | None, archived: bool, limit: int) -> int:
    listed = await asking.remote.list(
        status=status_meant(status) if status is not None else None, text=text, tag=tag, archived=archived, limit=limit
    )
    if asking.as_json:
        asking.object(Page(items=listed))
    elif asking.ids_only:
        for one in listed:
            asking.screen.row(one.id)
    elif listed:
        _table(asking, listed)
    else:
        asking.screen.row('no session; begin one: ropewalk run "…"' if status is None and text is None else "no such session")
    return 0


def _table(asking: Asking, listed: Sequence[SessionView]) -> None:
    screen, shown, now = asking.screen, short_ids(one.id for one in listed), time.time()
    rows = [
        (
            shown[one.id],
            f"{glyph_of(one, screen.look.glyphs)} {word_of(one.status).word}",
            _reason(one, shown[one.id]),
            title_of(one),
            home_path(one.cwd),
            dollars(one.cost_usd),
            span(now - one.status_at),
        )
        for one in listed
    ]
    heads = ("ID", "STATUS", "WHY", "TITLE", "FOLDER", "COST", "AGE")
    draw(screen, heads, rows, [word_of(one.status).style for one in listed], spare=(4, 5, 6))


def _reason(view: SessionView, shown: str) -> str:
    """A failed one names the cause, and what to do about it."""
    fix = fix_of(view, shown) if view.status == "failed" else ""
    return f"{why_of(view)}: {fix}" if fix else why_of(view)


async def inbox(asking: Asking) -> int:
    """Open questions over all sessions, longest waiting first."""
    asked = await asking.remote.questions()
    if asking.as_json:
        asking.object(Page(items=list(asked)))
        return 0
    if asking.ids_only:
        for one in asked:
            asking.screen.row(one.id)
        return 0
    if not asked:
        at_work = await asking.remote.list(status="working", limit=MANY)
        asking.screen.row(f"Nobody needs you. {count(len(at_work), 'session')} at work.")
        return 0
    _questions(asking, asked, {one.id: one for one in await asking.remote.list(limit=MANY)})
    return 0


def _questions(asking: Asking, asked: Sequence[QuestionView], sessions: dict[str, SessionView]) -> None:
    screen, now = asking.screen, time.time()
    shown = short_ids([*sessions, *(one.session for one in asked)])
    rows = [
        (
            f"{screen.look.glyphs.asks} {shown[one.session]}",
            span(now - one.opened_at),
            title_of(sessions[one.session]) if one.session in sessions else one.session_title,
            home_path(one.cwd),
            one.line or one.title_words,
            f" {screen.look.glyphs.dot} ".join(one.tags),
        )
        for one in asked
    ]
    draw(screen, (), rows, ["amber"] * len(rows), spare=(3, 1))
    screen.row(screen.paint("dim", f"answer: ropewalk answer {shown[asked[0].session]}"))


async def runner_ls(asking: Asking) -> int:
    found = await asking.remote.runners()
    if asking.as_json:
        asking.object(Page(items=list(found)))
    elif asking.ids_only:
        for one in found:
            asking.screen.row(one.id)
    else:
        rows = [
            (one.name or one.id, one.state, str(one.processes), str(one.held_lines), one.version, _since(one.since), one.why)
            for one in found
        ]
        draw(asking.screen, ("RUNNER", "STATE", "CLAUDES", "LINES HELD", "VERSION", "SINCE", "WHY"), rows)
    return 0


def _since(at: float) -> str:
    return clock(at, "%d %b %H:%M")
