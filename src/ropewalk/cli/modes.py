"""Permission modes in human words. Refuses to know what they allow: the CLI does."""

from __future__ import annotations

MODES = {
    "default": "ask before edits",
    "acceptEdits": "accept edits",
    "plan": "plan first",
    "dontAsk": "refuse what would be asked",
    "bypassPermissions": "bypass, nothing is asked",
    "auto": "auto",
}


def mode_words(mode: str) -> str:
    return MODES.get(mode, mode)
