"""Failing model calls: retries, and the words with which each version gives up. Refuses to fail unasked: ``fail`` steps do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .results import Ending
from .scenario import Step
from .session import Json

if TYPE_CHECKING:
    from .turn import Turn


@dataclass(frozen=True)
class Failure:
    """One way in which a call fails. ``word`` is 2.1.326's for it, ``old_word`` that of the others."""

    status: int | None
    retried: bool
    word: str
    old_word: str
    text: str
    old_text: str
    api_type: str | None = None
    retry_word: str | None = None
    reason: str = "api_error"
    api_error: str | None = None


def _answer(status: int, kind: str, words: str) -> str:
    return f'API Error: {status} {{"type":"error","error":{{"type":"{kind}","message":"{words}"}}}}'


FAILURES: dict[str, Failure] = {
    "too_long": Failure(
        400, False, "invalid_request", "invalid_request", "Prompt is too long · start a new session", "Prompt is too long",
        "invalid_request_error", reason="prompt_too_long",
    ),
    "400": Failure(
        400, False, "invalid_request", "unknown", "API Error: 400 bad", _answer(400, "invalid_request_error", "bad"),
        "invalid_request_error",
    ),
    "401": Failure(
        401, True, "authentication_failed", "authentication_failed", "Invalid API key · Fix external API key",
        "Invalid API key · Fix external API key", "authentication_error",
    ),
    "429": Failure(
        429, True, "rate_limit", "unknown", "API Error: Request rejected (429) · slow down",
        _answer(429, "rate_limit_error", "slow down"), "rate_limit_error",
    ),
    "500": Failure(
        500, True, "server_error", "unknown", "API Error: 500 Internal server error.",
        _answer(500, "api_error", "Internal server error"), "api_error",
    ),
    "529": Failure(
        529, True, "server_error", "unknown", "API Error: Repeated 529 Overloaded errors.",
        _answer(529, "overloaded_error", "Overloaded"), "overloaded_error", retry_word="overloaded",
    ),
    "connection": Failure(
        None, True, "server_error", "unknown", "API Error: Connection refused (ECONNREFUSED)",
        "API Error: Unable to connect to API. Check your internet connection", retry_word="unknown",
        api_error="connection_failed",
    ),
    "blocked": Failure(
        None, False, "invalid_request", "invalid_request", "Prompt is too long", "Prompt is too long", reason="blocking_limit",
    ),
    "no_key": Failure(
        None, False, "authentication_failed", "authentication_failed", "Not logged in · Please run /login",
        "Not logged in · Please run /login",
    ),
    "limit": Failure(
        429, False, "rate_limit", "rate_limit", "You've hit your limit", "You've hit your limit", "rate_limit_error",
        api_error="rate_limit",
    ),
}  # fmt: skip


def max_retries() -> int:
    """CLAUDE_CODE_MAX_RETRIES bounds them, as on the real CLI; ten by default."""
    value = os.environ.get("CLAUDE_CODE_MAX_RETRIES", "10")
    return int(value) if value.isdigit() else 10


async def fail(turn: Turn, step: Step, told: bool = True) -> Ending | None:
    """Fail ``times`` calls (default: all of them): None when a retry gets through, else how the turn ends."""
    failure = FAILURES.get(str(step.value), FAILURES["500"])
    times = int(step.get("times", 1_000))
    allowed = max_retries() if failure.retried else 0
    for attempt in range(1, min(times, allowed) + 1):
        delay = 0.5 * 2 ** (attempt - 1)
        if turn.traits.retries_told and told:
            turn.say(turn.lines.system("api_retry", _retry(failure, attempt, allowed, delay)))
        await turn.program.pause(delay)
    if times <= allowed:
        return None
    return give_up(turn, failure, step.get("words"), told)


def _retry(failure: Failure, attempt: int, allowed: int, delay: float) -> Json:
    return {
        "attempt": attempt,
        "max_retries": allowed,
        "retry_delay_ms": int(delay * 1000),
        "error_status": failure.status,
        "error": failure.retry_word or failure.word,
    }


def give_up(turn: Turn, failure: Failure, words: str | None = None, told: bool = True) -> Ending:
    """The made-up assistant line, and the ending that repeats its text."""
    rich = turn.traits.rich_results
    text = words or (failure.text if rich else failure.old_text)
    more: Json = {"error": failure.word if rich else failure.old_word}
    if rich:
        more["is_api_error_message"] = True
        more |= {"api_error_status": failure.status, "api_error_type": failure.api_type} if failure.api_type else {}
        more |= {"api_error": failure.api_error} if failure.api_error else {}
    if told:
        marks = turn.prompt_marks("failed")
        turn.say(turn.lines.assistant(turn.lines.made_up(text, "stop_sequence", ""), None, **more, **marks))
    repeated: Json = {"api_error_type": failure.api_type} if failure.api_type else {}
    repeated |= {"api_error": failure.api_error} if failure.api_error else {}
    return Ending(
        is_error=True,
        text=text,
        reason=failure.reason,
        stop_reason="stop_sequence",
        api_status=failure.status,
        timed=False,
        counts_usage=False,
        more=repeated if rich else {},
    )
