"""What the words of a rule mean: what it does, where it holds. Refuses to guess."""

from __future__ import annotations

from typing import cast

from ...errors import UsageError
from ...events.commands import Behavior, Scope
from ..asked import check_choice
from .asking import Asking
from .sessions import folder_of

BEHAVIORS = ("deny", "ask", "allow")


def behavior_meant(word: str) -> Behavior:
    if word not in BEHAVIORS and ("(" in word or word[:1].isupper() or word.startswith("mcp__")):
        raise UsageError(f"what should {word} do? write: ropewalk rules add allow '{word}' (or ask, or deny)")
    check_choice("behavior", word, BEHAVIORS)
    return cast(Behavior, word)


async def place_meant(asking: Asking, where: str | None, session: str | None) -> tuple[Scope, str | None]:
    """Everywhere, unless a folder or a session is named."""
    if where is not None and session is not None:
        raise UsageError("--in names a folder and --session a session: choose one")
    if session is not None:
        return "session", (await asking.session(session)).id
    return ("folder", folder_of(where)) if where is not None else ("everywhere", None)
