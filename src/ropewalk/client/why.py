"""Why a session is gone, in words that say what to do next. Refuses to guess: the CLI's own words, and what was asked of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..protocol.messages import Result
from .options import ClientOptions

if TYPE_CHECKING:
    from ..transports.base import End


def why_gone(end: End, last: Result | None, options: ClientOptions) -> str:
    """The end's own sentence; where a session could not be taken up, the CLI's words for it and the way out."""
    if last is None or not last.failed or last.num_turns or not last.errors:
        return end.why
    said = f"{end.why}: {'; '.join(last.errors)}"
    if options.resume is None:
        return said
    folder = os.path.abspath(options.cwd)
    if options.resume_at is not None:
        return f"{said}. Check that message {options.resume_at} belongs to session {options.resume}, or leave resume_at out"
    return (
        f"{said}. Session {options.resume} does not exist in {folder}: sessions belong to the folder and the user that began "
        "them. Give that folder as cwd, or leave resume out to begin a new session"
    )
