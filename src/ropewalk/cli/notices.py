"""Lines that are neither answer nor tool, in a sentence and a colour. Refuses silence: what is new to us is named too."""

from __future__ import annotations

import datetime

from ..protocol.messages import Dropped, Garbage, Message, RateLimitEvent, RateLimitInfo, Unknown
from ..protocol.system import ApiRetry, CompactBoundary, Informational, Status, TaskNotification, UnknownSystem
from ..sessions.figures import seconds
from .safe import one_line
from .screen import Glyphs

Notice = tuple[str, str]
"""Words and the colour that they deserve; no words when there is nothing to tell."""

SILENT: Notice = ("", "dim")


def notice_of(message: Message, glyphs: Glyphs) -> Notice:
    match message:
        case ApiRetry():
            return _retry(message), "amber"
        case Status(status="compacting"):
            return "making room in the context", "dim"
        case CompactBoundary(compact_metadata=told):
            before, after = told.pre_tokens, told.post_tokens
            shrunk = f", {thousands(before)} → {thousands(after)}" if before and after else ""
            return f"context compacted{shrunk}", "dim"
        case RateLimitEvent(rate_limit_info=told):
            return _limit(told)
        case TaskNotification():
            sign = glyphs.done if message.status == "completed" else glyphs.failed
            return f"{sign} background task {message.status or 'ended'}: {one_line(message.summary or '')}", "dim"
        case Informational(level="warning" | "error"):
            return f"{glyphs.warns} {one_line(message.content or '')}", "amber"
        case Dropped():
            return f"{glyphs.warns} a line of {message.size:,} bytes was longer than the cap and is not shown", "amber"
        case Garbage():
            return f"not JSON: {one_line(message.raw[:120].decode('utf-8', 'replace'))}", "dim"
        case UnknownSystem(subtype=name) | Unknown(type=name):
            return f"something new from claude: {one_line(name) or 'a line without a type'}", "dim"
    return SILENT


def _retry(told: ApiRetry) -> str:
    tries = f"{told.attempt} of {told.max_retries}" if told.max_retries else str(told.attempt)
    wait = f", next in {seconds(told.retry_delay_ms / 1000)}" if told.retry_delay_ms else ""
    if told.error_status is None:
        what = "no connection to the model"
    elif told.error_status == 529:
        what = "the model is overloaded"
    else:
        what = f"the model answered {told.error_status}"
    return f"{what}; try {tries}{wait}"


def _limit(told: RateLimitInfo) -> Notice:
    when = _clock(told.resetsAt)
    if told.status == "rejected":
        return f"limit reached{f', resets {when}' if when else ''}", "amber"
    if told.status == "allowed_warning":
        used = f"{told.utilization:.0%} of the limit used" if told.utilization else "close to the limit"
        return f"{used}{f', resets {when}' if when else ''}", "amber"
    return SILENT


def _clock(stamp: float | None) -> str:
    try:
        moment = datetime.datetime.fromtimestamp(stamp or 0, tz=datetime.UTC).astimezone()
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{moment:%H:%M}" if stamp else ""


def thousands(number: int) -> str:
    return f"{number / 1000:.0f}k" if number >= 1000 else str(number)
