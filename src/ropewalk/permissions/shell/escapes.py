"""The escapes of ``$'…'``, as bash reads them. Bytes that make no character are refused."""

from __future__ import annotations

import re

from ropewalk.permissions.shell.tree import Lost

_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(.))", re.S)
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


def ansi_c(text: str, start: int) -> tuple[int, str]:
    """The place behind the closing quote, and what stands for the text from ``start`` to it."""
    pieces: list[str] = []
    pos = start
    while pos < len(text):
        char = text[pos]
        if char == "'":
            return pos + 1, "".join(pieces)
        if char == "\\":
            found = _ESCAPE.match(text, pos)
            if found is None:
                break
            pieces.append(_meant(found, pos))
            pos = found.end()
        else:
            pieces.append(char)
            pos += 1
    raise Lost("a quote is not closed", start)


def _meant(found: re.Match[str], pos: int) -> str:
    octal, byte, short, long, letter = found.groups()
    if letter is not None:
        if letter not in _LETTERS:
            raise Lost(f"shells disagree on the escape \\{letter}", pos)
        return _LETTERS[letter]
    point = int(octal, 8) if octal else int(byte or short or long, 16)
    limit = 0x80 if octal or byte else 0xD800
    if not 0 < point < limit:
        raise Lost("an escape that makes no plain character", pos)
    return chr(point)
