"""Exit codes, and errors in one sentence for a person: what happened, what to do. Refuses stack traces."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..errors import (
    AlreadyAnswered,
    CliNotFound,
    HubError,
    HubUnreachable,
    NotAllowed,
    NotFound,
    RequestTimedOut,
    RopewalkError,
    SessionGone,
    UsageError,
)
from ..transports.environment import API_KEY

DONE, FAILED, USAGE, UNREACHABLE, NOT_FOUND, NOT_ALLOWED, UNANSWERED, ANSWERED, NO_CLAUDE, TIMED_OUT = range(10)
INTERRUPTED = 130
READER_GONE = 141
"""Whoever read our stdout has left: as if SIGPIPE had ended us."""

INSTALL = "npm install -g @anthropic-ai/claude-code"
SIGN_IN = "authentication_failed"
OF_HUB: tuple[tuple[type[HubError], int], ...] = (
    (HubUnreachable, UNREACHABLE), (NotFound, NOT_FOUND), (NotAllowed, NOT_ALLOWED), (AlreadyAnswered, ANSWERED),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Complaint:
    """``words``: one line. ``details``: for ``-v``."""

    code: int
    words: str
    details: tuple[str, ...] = ()


def complaint_of(error: RopewalkError) -> Complaint:
    """What a person is told about an error of ours."""
    match error:
        case CliNotFound():
            words = f"Claude Code was not found: {error.looked_for}. Install it: {INSTALL}   or try: ropewalk run --sim hello"
            return Complaint(NO_CLAUDE, words)
        case UsageError():
            return Complaint(USAGE, sentence(str(error)))
        case SessionGone():
            return _gone(error)
        case HubError(code="port_taken" | "ambiguous"):
            return Complaint(USAGE, sentence(str(error)))
        case NotAllowed() if os.environ.get("ROPEWALK_TOKEN") and "ROPEWALK_TOKEN" not in str(error):
            return Complaint(NOT_ALLOWED, f"{sentence(str(error))} (The token is the one in ROPEWALK_TOKEN.)")
        case HubError(code="claude_not_found"):
            return Complaint(NO_CLAUDE, sentence(str(error)))
        case HubError():
            code = next((code for kind, code in OF_HUB if isinstance(error, kind)), FAILED)
            return Complaint(code, sentence(str(error)))
        case RequestTimedOut():
            return Complaint(FAILED, f"claude does not answer ({error}). Look at it with: ropewalk doctor")
    return Complaint(FAILED, sentence(str(error).splitlines()[0] if str(error) else type(error).__name__))


def not_signed_in(api_billing: bool, said: str) -> Complaint:
    """The model refused us, or nobody is signed in."""
    if os.environ.get(API_KEY) and not api_billing:
        fix = f"{API_KEY} is set but was not handed on: add --api-billing to pay by it, or run `claude` and sign in with /login."
    elif api_billing:
        fix = f"Check {API_KEY}, or leave --api-billing out and sign in: run `claude`, then /login."
    else:
        fix = "Run `claude` and sign in with /login."
    return Complaint(NO_CLAUDE, f"Claude Code is not signed in, or its key is refused. {fix}", (said,) if said else ())


def _gone(error: SessionGone) -> Complaint:
    last = next((line for line in reversed(error.stderr) if line.strip()), "")
    said = f" Its last words: {last.strip()}" if last else ""
    return Complaint(FAILED, sentence(f"claude is gone: {error.why}") + said, error.stderr)


def sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?", ")")) else f"{text}."
