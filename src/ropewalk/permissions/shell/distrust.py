"""What makes a command's text itself untrustworthy, before any grammar. Says why in words; never repairs it."""

from __future__ import annotations

import re

LONGEST = 32_768
"""Characters. A person can't judge more on a card, and the time to take it apart stays bounded."""

DEEPEST = 30
"""Brackets, substitutions and shells inside each other."""

_ODD = re.compile(
    "[^\n\t -~\u00a1-\u00ac\u00ae-\u167f\u1681-\u180d\u180f-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff"
    "\ue000-\ufdff\ufe10-\ufefe\uff00-\uffef\U00010000-\U000dffff]"
    "|[\u034f\u061c\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]"
)

_NAMES = {
    "\r": "a carriage return: terminals hide what stands before it",
    "\0": "a NUL character",
    "\x1b": "an escape character",
    "\u00a0": "a space that is not a space (U+00A0)",
    "\u00ad": "a soft hyphen, which is not shown",
}


def odd_text(command: str) -> str:
    """Why this text can't be trusted as it is shown, or the empty string."""
    if len(command) > LONGEST:
        return f"it is longer than {LONGEST:,} characters"
    if command.isascii() and command.isprintable():
        return ""
    found = _ODD.search(command)
    if found is None:
        return ""
    return "it holds " + _named(found.group())


def _named(char: str) -> str:
    if char in _NAMES:
        return _NAMES[char]
    point = ord(char)
    if point < 0x20 or 0x7F <= point < 0xA0:
        return f"a control character (U+{point:04X})"
    if 0x202A <= point <= 0x202E or 0x2066 <= point <= 0x2069 or point in (0x200E, 0x200F, 0x061C):
        return f"a character that turns the direction of text (U+{point:04X})"
    if 0xD800 <= point <= 0xDFFF:
        return f"half a character (U+{point:04X})"
    return f"a character that can't be seen or told apart (U+{point:04X})"
