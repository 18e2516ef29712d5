"""What a hub says when it says no, as our own errors. Refuses to raise: whoever asked does that."""

from __future__ import annotations

from typing import Any

import msgspec

from .. import errors
from ..errors import AlreadyAnswered, HubError, LimitReached, NotAllowed, NotFound, RequestFailed, RequestTimedOut, UsageError

UNSURE = 500
"""From here on it is the hub that failed, not the asker."""

BY_STATUS: dict[int, type[HubError]] = {401: NotAllowed, 403: NotAllowed, 404: NotFound, 429: LimitReached}


class Said(msgspec.Struct):
    """A problem+json, read tolerantly: a newer hub may say more, a proxy in front of it less."""

    title: str = ""
    detail: str = ""
    code: str = ""
    by: str | None = None
    door: str | None = None
    fate: str | None = None


def error_of(status: int, body: bytes) -> errors.RopewalkError:
    """The error that this answer means."""
    try:
        said = msgspec.json.decode(body, type=Said)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = Said()
    return error_said(status, said)


def error_said(status: int, said: Said) -> errors.RopewalkError:
    words = said.detail or said.title or _plain(status)
    kind = by_code().get(said.code) or BY_STATUS.get(status)
    if kind is AlreadyAnswered:
        return AlreadyAnswered(words, by=said.by or "", door=said.door or "", fate=said.fate or "answered")
    if kind is not None:
        return kind(words, code=said.code or None)
    if said.code in ("request_failed", "request_timed_out"):
        return (RequestFailed if said.code == "request_failed" else RequestTimedOut)("", "control request", words, said.code)
    if status in (400, 422):
        return UsageError(words)
    return HubError(words, code=said.code or None)


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
