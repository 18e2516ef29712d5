"""The last tools of a session, each with who or what let it run. Refuses to leave that blank."""

from __future__ import annotations

from collections.abc import Sequence

from ...events import events as e
from ...sessions.tools import tool_label
from ..relay.question import closed_words, ruled_words
from ..safe import cells, cut, one_line
from ..screen import Screen

SOME = 5
BY_ITSELF = "by Claude Code itself"
"""Its own settings, or its mode: nobody was asked, and no rule of ours had a say."""


def done_lines(screen: Screen, events: Sequence[e.Event], most: int = SOME) -> list[str]:
    """The newest last."""
    because = reasons_of(events)
    titles = {event.tool_use: event.title for event in events if isinstance(event, e.ToolStarted)}
    ended = [event for event in events if isinstance(event, e.ToolFinished) and event.parent is None][-most:]
    return [
        _line(screen, one, one.title or titles.get(one.tool_use, ""), because.get(one.tool_use) or by_itself(one))
        for one in ended
    ]


def by_itself(ended: e.ToolFinished) -> str:
    return f"{BY_ITSELF}: {ended.why}" if ended.why else BY_ITSELF


def reasons_of(events: Sequence[e.Event]) -> dict[str, str]:
    """By the tool call that they are about."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event, e.VerdictGiven) and event.tool_use:
            found[event.tool_use] = ruled_words(event.behavior, event.because_kind, event.because)
        elif isinstance(event, e.QuestionClosed) and event.tool_use:
            found[event.tool_use] = closed_words(event)
    return found


def _line(screen: Screen, ended: e.ToolFinished, title: str, because: str) -> str:
    glyphs, plain = screen.look.glyphs, screen.look.ascii
    mark = screen.paint("red", glyphs.failed) if ended.failed else screen.paint("green", glyphs.done)
    label, reason = one_line(tool_label(ended.tool), ascii_only=plain), one_line(because, ascii_only=plain)
    room = max(16, screen.look.width - cells(label) - 8 - min(cells(reason), screen.look.width // 2))
    words = cut(one_line(title, ascii_only=plain), room, glyphs.dots)
    return f"  {mark} {label}  {words}  {screen.paint('dim', cut(reason, screen.look.width // 2, glyphs.dots))}"
