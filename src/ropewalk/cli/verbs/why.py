"""``why``: one verdict with all that led to it. Refuses to leave a blank where it does not know: then it says so."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from ...errors import NotFound, UsageError
from ...events.views import VerdictView, Why
from ...sessions.figures import count
from ..codes import DONE
from ..parts import part_rows
from .asking import Asking
from .audit import STYLES, when

LABEL = 11
"""Columns of what stands left of each line."""
NAMES_A_CALL = ("#", "toolu_", "last")


async def why(asking: Asking, word: str, call: str) -> int:
    if call == "last" and word.startswith(NAMES_A_CALL):
        word, call = ".", word
    found = await _found(asking, word, call)
    if asking.as_json:
        asking.object(found)
    else:
        _draw(asking, found)
    return DONE


async def _found(asking: Asking, word: str, call: str) -> Why:
    if "." in word and word != ".":
        return await asking.remote.verdict(word)
    try:
        session = (await asking.session(word)).id
    except NotFound:
        if call == "last" and word not in (".", "-"):
            return await asking.remote.verdict(word)
        raise
    if call == "last":
        return await asking.remote.why(session)
    if call.startswith("#"):
        if not call[1:].isdecimal():
            raise UsageError(f"{call!r} is no number of an event; `ropewalk logs` shows them, e.g. '#12'")
        return await asking.remote.why(session, seq=int(call[1:]))
    return await asking.remote.why(session, tool_use=call)


def _draw(asking: Asking, found: Why) -> None:
    screen, view, now = asking.screen, found.verdict, time.time()
    did = "Allowed" if view.behavior == "allow" else "Denied"
    first, *rest = screen.wrapped(view.what, screen.look.width - len(did) - 2)
    screen.row(f"{screen.paint(STYLES[view.behavior], did)}  {first}")
    for row in rest:
        screen.row(f"{' ' * len(did)}  {row}")
    for label, text in _facts(found, now):
        rows = screen.wrapped(text, screen.look.width - LABEL)
        for at, row in enumerate(rows):
            screen.row(f"{screen.paint('dim', label.ljust(LABEL)) if at == 0 else ' ' * LABEL}{row}")
        if label == "Because" and len(view.parts) > 1:
            for row in part_rows(screen, view.parts, " " * LABEL):
                screen.row(row)


def _facts(found: Why, now: float) -> Iterator[tuple[str, str]]:
    view, rule = found.verdict, found.rule
    yield "Because", found.words
    if view.because_kind in ("rule", "grant", "built_in") and view.behavior == "deny" and view.because not in found.words:
        yield "In full", view.because
    yield "When", f"{when(view.at, now)}{f', turn {view.turn}' if view.turn is not None else ''}"
    if rule is not None and rule.created_at:
        card = f", on the question {rule.question}" if rule.question else ""
        yield "Made", f"{when(rule.created_at, now)}{card}"
    if rule is not None and rule.ended_at is not None:
        yield "Ended", f"{when(rule.ended_at, now)}: {rule.ended_why or 'taken back'}"
    where = view.session_title or view.session
    yield (
        "Session",
        f"{where}{f', number {view.seq}' if view.seq is not None else ''}{f', mode {found.mode}' if found.mode else ''}",
    )
    if view.message:
        yield "Message", view.message
    yield from _inputs(view)
    if view.delivered is not None:
        yield "Delivered", "yes" if view.delivered else "no: Claude has not taken the answer"
    if found.others:
        yield "Besides", f"the same rule had a say in {count(found.others, 'other call')}"
    if found.ends_it:
        yield "End it", found.ends_it


def _inputs(view: VerdictView) -> Iterator[tuple[str, str]]:
    asked = msgspec.json.encode(view.input).decode()
    if asked != "{}":
        yield "Asked", asked
    yield ("As run", msgspec.json.encode(view.ran).decode()) if view.ran is not None else ("As run", _unchanged(view))


def _unchanged(view: VerdictView) -> str:
    if view.behavior == "deny":
        return "it did not run"
    return (
        "unchanged" if view.because_kind != "cli" else "as Claude Code took it: it did not ask, and ropewalk was not in between"
    )
