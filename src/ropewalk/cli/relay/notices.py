"""Events that are neither answer nor tool, in a sentence and a colour. Refuses silence about what a person may have to act on."""

from __future__ import annotations

from ...events import events as e
from ...sessions.figures import seconds, thousands
from ..notices import SILENT, Notice
from ..safe import one_line
from ..screen import Glyphs
from ..statuses import clock


def notice_of(event: e.Event, glyphs: Glyphs) -> Notice:
    match event:
        case e.ApiRetried():
            return _retry(event), "amber"
        case e.ContextCompacted(error=""):
            shrunk = f", {thousands(event.before)} → {thousands(event.after)}" if event.before and event.after else ""
            return f"context compacted{shrunk}", "dim"
        case e.ContextCompacted():
            return f"{glyphs.warns} the context could not be compacted: {one_line(event.error)}", "amber"
        case e.ContextCleared():
            return "Fresh conversation from here. Earlier text is not known to Claude any more.", "dim"
        case e.RateLimitChanged():
            return _limit(event)
        case e.Noted(level="warning" | "error"):
            return f"{glyphs.warns} {one_line(event.text)}", "amber"
        case e.Warned() | e.Failed():
            return f"{glyphs.warns} {one_line(event.text)}", "amber" if isinstance(event, e.Warned) else "red"
        case e.LineDropped():
            return f"{glyphs.warns} a line of {event.size:,} bytes was longer than the cap and is not shown", "amber"
        case e.Unrecognised():
            return f"something new from claude: {one_line(event.what) or 'a line without a type'}", "dim"
    return _life(event, glyphs)


def _life(event: e.Event, glyphs: Glyphs) -> Notice:
    match event:
        case e.StopRung():
            return f"stopping claude: {one_line(event.rung)}", "dim"
        case e.ProcessEnded(wanted=False):
            return f"{glyphs.warns} claude ended: {one_line(event.why) or 'it did not say why'}", "amber"
        case e.LinkLost():
            return f"{glyphs.warns} the runner is not heard: {one_line(event.why)}; its turns go on there", "amber"
        case e.LinkRestored(may_lack_lines=lacks):
            return f"the runner is heard again{'; some lines may be missing' if lacks else ''}", "amber" if lacks else "dim"
        case e.PromptQueued(by=by, door=door) if event.door not in ("", "terminal"):
            return f"{one_line(by)} ({one_line(door)}): {one_line(event.text)}", "dim"
        case e.PromptFailed() | e.PromptLost():
            return f"{glyphs.warns} the prompt was not done: {one_line(event.reason)}", "amber"
        case e.GrantEnded():
            return f"no longer granted: {one_line(event.text)} ({one_line(event.why)})", "dim"
        case e.ModeChanged():
            return f"mode is now {one_line(event.mode)}", "dim"
    return SILENT


def _retry(event: e.ApiRetried) -> str:
    tries = f"{event.attempt} of {event.of}" if event.of else str(event.attempt)
    wait = f", next in {seconds(event.delay_ms / 1000)}" if event.delay_ms else ""
    if event.status is None:
        what = "no connection to the model"
    else:
        what = "the model is overloaded" if event.status == 529 else f"the model answered {event.status}"
    return f"{what}; try {tries}{wait}"


def _limit(event: e.RateLimitChanged) -> Notice:
    when = f", resets {clock(event.resets_at, '%H:%M')}" if event.resets_at else ""
    if event.status == "rejected":
        return f"limit reached{when}", "amber"
    if event.status == "allowed_warning":
        used = f"{event.utilization:.0%} of the limit used" if event.utilization else "close to the limit"
        return f"{used}{when}", "amber"
    return SILENT
