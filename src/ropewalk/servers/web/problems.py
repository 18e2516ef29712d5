"""Errors in words, as problem+json. Refuses to tell what is inside: no path of ours, version, statement or traceback leaves."""

from __future__ import annotations

from http import HTTPStatus

import msgspec
import structlog

from ...errors import (
    AlreadyAnswered,
    CliNotFound,
    CommandReused,
    Conflict,
    HubError,
    HubUnreachable,
    LimitReached,
    LinkBroken,
    LocalProtocolError,
    NotAllowed,
    NotFound,
    RequestFailed,
    RequestTimedOut,
    RopewalkError,
    SessionGone,
    StoreError,
    StoreUnavailable,
    UsageError,
)
from ...events.views import Problem
from ...logs import failure

log = structlog.get_logger("ropewalk.web")
encoder = msgspec.json.Encoder()

MEDIA_TYPE = "application/problem+json"

STATUS_OF: tuple[tuple[type[RopewalkError], int], ...] = (
    (NotFound, 404),
    (NotAllowed, 403),
    (Conflict, 409),
    (CommandReused, 422),
    (LimitReached, 429),
    (HubUnreachable, 503),
    (HubError, 503),
    (CliNotFound, 503),
    (UsageError, 422),
    (LocalProtocolError, 409),
    (SessionGone, 409),
    (RequestTimedOut, 504),
    (RequestFailed, 502),
    (LinkBroken, 503),
    (StoreError, 503),
    (RopewalkError, 500),
)
"""The first that fits. Whose fault it is decides: the caller's 4xx, ours or the CLI's 5xx."""

STATUS_OF_CODE = {"disk_full": 507, "store_unavailable": 503, "wrong_code": 403}

CODES = {
    CliNotFound: "claude_not_found",
    UsageError: "not_possible",
    SessionGone: "session_gone",
    RequestTimedOut: "claude_silent",
    RequestFailed: "claude_refused",
    LinkBroken: "link_broken",
    LocalProtocolError: "not_now",
}

SICK = {
    "full": "The hub's disk is full: nothing new can be kept, so nothing new is taken. Free some space; it goes on by itself.",
    "read_only": "The hub's disk can only be read: nothing new can be kept. Make it writable; it goes on by itself.",
    "locked": "Another program holds the hub's database. Close it; the hub goes on by itself.",
    "failing": "The hub's disk fails: nothing new can be kept, so nothing new is taken. Look into the hub's log.",
    "replaced": "The hub's database was moved or replaced under it. Put it back, or restart the hub.",
    "corrupt": "The hub's database is damaged. Stop the hub and run `ropewalk doctor`.",
}
"""In words of the door's own: the store's name the file."""

FAILED_HERE = "The hub failed at this. Try again; if it goes on, look into the hub's log."


class Refusal(Exception):
    """A door's own no, on its way to becoming a problem."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        headers: dict[str, str] | None = None,
        fields: list[str] | None = None,
        wait: float = 0.0,
    ):
        super().__init__(detail)
        self.problem = problem(status, code, detail, fields=fields)
        self.headers = headers or {}
        self.wait = wait
        """Seconds until it is said: what guessing earns."""


def problem(status: int, code: str, detail: str, *, by: str | None = None, fields: list[str] | None = None) -> Problem:
    return Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, code=code, by=by, fields=fields or [])


def problem_from(error: Exception) -> Problem:
    """The words for any error. One that nobody foresaw goes to the log, and the caller is told no more than that."""
    if isinstance(error, Refusal):
        return error.problem
    if not isinstance(error, RopewalkError):
        log.error("a request failed", **failure(error))
        log.debug("its words", words=str(error))
        return problem(500, "failed", FAILED_HERE)
    if isinstance(error, StoreUnavailable):
        code = "disk_full" if error.state == "full" else "store_unavailable"
        return problem(STATUS_OF_CODE[code], code, SICK.get(error.state, SICK["failing"]))
    status = next(status for kind, status in STATUS_OF if isinstance(error, kind))
    code = (
        error.code
        if isinstance(error, HubError)
        else next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), "failed")
    )
    said = error.why if isinstance(error, SessionGone) else str(error)
    by = error.by if isinstance(error, AlreadyAnswered) else None
    return problem(STATUS_OF_CODE.get(code, status), code, sentence(said), by=by)


def sentence(words: str) -> str:
    """With a capital and a full stop, as people read it."""
    words = words.strip()
    return f"{words[:1].upper()}{words[1:]}{'' if words[-1:] in '.!?' else '.'}"


def wrong_body(error: Exception) -> Refusal:
    """What msgspec says of a body, as it says it: it names the field and what was expected, nothing of ours."""
    if isinstance(error, msgspec.ValidationError):
        words, _, place = str(error).partition(" - at `$")
        where = place.rstrip("`").lstrip(".")
        return Refusal(422, "wrong_field", f"{words}{f' (at {where})' if where else ''}. Mend the body and send it again.",
                       fields=[where] if where else None)  # fmt: skip
    return Refusal(400, "no_json", "The body is no JSON. Send one JSON object with the content type application/json.")


def encoded(found: Problem) -> bytes:
    return encoder.encode(found)
