"""Sentences for how a CLI ended. Judges nothing: the code says how its last turn went, not whether the process broke."""

from __future__ import annotations

import signal

from ropewalk.errors import SessionGone
from ropewalk.transports.base import End

MUTE = "it closed its output"


def end_of(code: int | None, stderr: tuple[str, ...], cause: str = "") -> End:
    """The End for this exit code; ``cause``: why we ended it, where we did."""
    if code is None:
        why = "the CLI has ended; its exit code is not known"
    elif code >= 0:
        why = f"the CLI exited with code {code}"
    else:
        why = f"the CLI was ended by signal {-code} ({signal.strsignal(-code)})"
    return End(code, f"{cause}: {why}" if cause else why, stderr)


def session_gone(end: End | None, stderr: tuple[str, ...] = ()) -> SessionGone:
    """What every caller gets who comes too late. Without an End: the input was closed and the CLI is finishing its work."""
    if end is None:
        return SessionGone("the CLI's input is closed: it finishes its work and ends", stderr=stderr)
    return SessionGone(end.why, end.code, end.stderr)
