"""What the words of a rule mean: what it does, where it holds. Refuses to guess."""

from __future__ import annotations

import shlex
from typing import cast

from ...errors import UsageError
from ...events.commands import Behavior, Scope
from ..asked import check_word
from .asking import Asking
from .sessions import folder_of

BEHAVIORS = ("deny", "ask", "allow")


def behavior_meant(word: str) -> Behavior:
    """Raises ``UsageError`` that says how to write it."""
    check_word(f"a rule does not say {word!r}", word, BEHAVIORS)
    return cast(Behavior, word)


def rule_said(behavior: str, text: str | None) -> tuple[Behavior, str]:
    """Both words. A rule alone does not say what it is for. Raises ``UsageError``."""
    if text is None and behavior in BEHAVIORS:
        raise UsageError(f"which rule? write: ropewalk rules add {behavior} 'Bash(git diff:*)'")
    if text is None:
        raise UsageError(f"say what it does: ropewalk rules add allow {shlex.quote(behavior)}, or ask, or deny")
    return behavior_meant(behavior), text


async def place_meant(asking: Asking, where: str | None, session: str | None) -> tuple[Scope, str | None]:
    """Everywhere, unless a folder or a session is named."""
    if where is not None and session is not None:
        raise UsageError("--in names a folder and --session a session: choose one")
    if session is not None:
        return "session", (await asking.session(session)).id
    return ("folder", folder_of(where)) if where is not None else ("everywhere", None)
