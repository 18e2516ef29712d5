"""Any event in a few words, for a log. Total: refuses to leave one without words, or to cut what fits."""

from __future__ import annotations

from typing import Any

import msgspec

from ...events import events as e
from ...sessions.figures import dollars, seconds
from ..relay.notices import notice_of
from ..relay.question import closed_words, ruled_words
from ..screen import Glyphs

SILENT = frozenset(
    {"session", "seq", "at", "parent", "process", "line", "part", "kind", "block", "input", "asked", "argv", "raw"}
)
"""Fields that say nothing to a person, or too much."""


def words_of(event: e.Event) -> str:
    match event:
        case e.Text() | e.Thinking():
            return event.text
        case e.PromptQueued():
            who = f"{event.by}{f' ({event.door})' if event.door else ''}: " if event.by else ""
            return f"{who}{event.text}{_images(event.images)}{'' if event.when == 'next' else f'   [{event.when}]'}"
        case e.ToolStarted():
            return f"{event.tool}  {event.title}"
        case e.ToolFinished():
            return f"{event.tool}  {'failed: ' + event.output if event.failed else event.summary}"
        case e.TurnStarted():
            return "  ".join(part for part in (f"turn {event.turn}", event.model, event.mode) if part)
        case e.TurnEnded():
            return _turn(event)
        case e.StatusChanged():
            return f"{event.status}  {event.why}"
        case e.QuestionOpened():
            return event.words or event.tool
        case e.QuestionClosed():
            return closed_words(event)
        case e.VerdictGiven():
            return f"{event.tool}  {'allowed' if event.behavior == 'allow' else 'denied'}: {_ruled(event)}"
        case e.GrantEnded():
            return f"{event.text}  {event.why}{f' (by {event.by})' if event.by and event.by not in event.why else ''}"
        case e.SessionCreated():
            return f"{event.cwd}{'  (stand-in)' if event.sim else ''}{f'  by {event.by}' if event.by else ''}"
        case e.ProcessStarted():
            return f"pid {event.pid}{f'  claude {event.version}' if event.version else ''}{f'  {event.why}' if event.why else ''}"
    return notice_of(event, Glyphs())[0] or fields_of(event)


def _ruled(event: e.VerdictGiven) -> str:
    return ruled_words(event.behavior, event.because_kind, event.because).removeprefix("denied by ").removeprefix("denied: ")


def _turn(event: e.TurnEnded) -> str:
    word = "interrupted" if event.interrupted else "failed" if event.failed else "done"
    spent = f" in {seconds(event.duration_ms / 1000)}" if event.duration_ms else ""
    cost = f", {dollars(event.cost_usd)}" if event.cost_usd else ""
    why = f": {'; '.join(event.reasons)}" if event.reasons else ""
    return f"{word}{spent}{cost}{why}"


def _images(number: int) -> str:
    return f"   [{number} image{'' if number == 1 else 's'}]" if number else ""


def fields_of(event: e.Event) -> str:
    """What is set, by name: for kinds that need no sentence."""
    told: dict[str, Any] = msgspec.to_builtins(event)
    return "  ".join(f"{name} {_short(value)}" for name, value in told.items() if name not in SILENT and value not in ("", None))


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
