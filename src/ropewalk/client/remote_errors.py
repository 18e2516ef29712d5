"""What a hub says when it says no, as our own errors. Refuses to raise: whoever asked does that."""

from __future__ import annotations

from typing import Any

import msgspec

from .. import errors
from ..errors import (
    AlreadyAnswered,
    Conflict,
    HubError,
    LimitReached,
    NotAllowed,
    NotFound,
    RequestFailed,
    RequestTimedOut,
    SessionGone,
    StoreUnavailable,
    UsageError,
)

UNSURE = 500
"""From here on it is the hub that failed, not the asker."""

BY_STATUS: dict[int, type[HubError]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 429: LimitReached}

PASSING = frozenset({"", "store_unavailable", "disk_full", "hub_unreachable", "link_broken", "restarting", "busy"})
"""Reasons of a 503 that may be gone in a moment; a hub that finds no claude will not find one by being asked again."""


class Said(msgspec.Struct):
    """A problem+json, read tolerantly: a newer hub may say more, a proxy in front of it less."""

    title: str = ""
    detail: str = ""
    code: str = ""
    status: int = 0
    by: str | None = None
    door: str | None = None
    fate: str | None = None


def said_in(body: bytes) -> Said:
    """What an answer says, as far as it says anything."""
    try:
        return msgspec.json.decode(body, type=Said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return Said()


def may_pass(status: int, said: Said) -> bool:
    """Whether the same request may get through in a moment."""
    return status in (503, 507) and said.code in PASSING


def error_said(status: int, said: Said) -> errors.RopewalkError:
    """The error that this answer means."""
    words = said.detail or said.title or _plain(status)
    kind = by_code().get(said.code)
    if kind is AlreadyAnswered:
        return AlreadyAnswered(words, by=said.by or "", door=said.door or "", fate=said.fate or "answered")
    if kind is not None:
        return kind(words)
    match said.code:
        case "claude_refused":
            return RequestFailed("", "claude refused", words, said.code)
        case "claude_silent":
            return RequestTimedOut("", "claude does not answer", words, said.code)
        case "session_gone":
            return SessionGone(words)
        case "store_unavailable" | "disk_full":
            return StoreUnavailable(words)
    if (known := BY_STATUS.get(status)) is not None:
        return known(words, code=said.code or None)
    return UsageError(words) if status in (400, 422) else HubError(words, code=said.code or None)


def by_code() -> dict[str, type[HubError]]:
    """Every error of the hub by the word that names it."""
    kinds: list[Any] = [HubError]
    for kind in kinds:
        kinds += kind.__subclasses__()
    return {kind.code: kind for kind in kinds if kind is not HubError}


def _plain(status: int) -> str:
    if 300 <= status < 400:
        return "what answers there sends us elsewhere; a hub never does: check its address"
    if status >= UNSURE:
        return f"the hub could not do it ({status}); try again, or look at its log"
    return f"what answers there is no hub, or another version of it ({status}); check its address"
