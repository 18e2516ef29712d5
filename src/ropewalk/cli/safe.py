"""Text from elsewhere, made harmless for a terminal, with its width. Refuses every control character but newline and tab.

Each character is judged by itself, so a sequence that comes in pieces is as harmless as a whole one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

_DANGEROUS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 (ESC: every ANSI sequence), DEL, C1 (8-bit CSI, OSC, DCS)
    "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides, isolates: text that reads in another order than it is
    "\u2028\u2029\ufff9-\ufffb\U000e0000-\U000e0fff\ud800-\udfff]"
)
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters by their category, nothing to the eye."""

_ODD = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def harmless(text: str, *, ascii_only: bool = False) -> str:
    """For running text: what could steer the terminal, or turn the reading order, becomes a visible token."""
    return _DANGEROUS.sub(lambda found: token(found[0], ascii_only), text.replace("\r\n", "\n"))


def letters(text: str, *, ascii_only: bool = False, mark: Callable[[str], str] = str) -> str:
    """For what a person decides about: every character that can't be seen for what it is becomes a token. Keeps newlines."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(mark(token(char, ascii_only)) if is_odd(char) else char for char in text)


def is_odd(char: str) -> bool:
    """Would a reader not see this character, or take it for another? Tabs and other spaces than the plain one count."""
    if char.isascii():
        return not char.isprintable() and char != "\n"
    category = unicodedata.category(char)
    return category in _ODD or category == "Zs" or char in _BLANK_LETTERS or "\ufe00" <= char <= "\ufe0f"


def token(char: str, ascii_only: bool = False) -> str:
    """ESC → ␛, U+202E → <U+202E>."""
    code = ord(char)
    if not ascii_only and code < 0x20:
        return chr(0x2400 + code)
    return f"<U+{code:04X}>"


def one_line(text: str, *, ascii_only: bool = False) -> str:
    """Harmless, on one line: line breaks and runs of blanks become single blanks."""
    return " ".join(harmless(text, ascii_only=ascii_only).split())


def cells(text: str) -> int:
    """How many columns a terminal gives to it."""
    if text.isascii():
        return len(text)
    return sum(_width(char) for char in text)


def cut(text: str, room: int, dots: str = "…") -> str:
    """``text`` in at most ``room`` columns; what was cut off shows as dots."""
    if cells(text) <= room:
        return text
    kept, used = "", cells(dots)
    for char in text:
        used += _width(char)
        if used > room:
            break
        kept += char
    return kept + dots


def pad(text: str, room: int) -> str:
    return text + " " * max(0, room - cells(text))


def wrap(line: str, room: int, *, ascii_only: bool = False) -> list[str]:
    """One line in pieces that fit when drawn by ``letters``, cut behind blanks where possible. Joined they are the line."""
    pieces: list[str] = []
    piece, used = "", 0
    for word in re.findall("[^ ]+ *| +", line):
        for part in _parts(word, room, ascii_only):
            width = _drawn(part.rstrip(" "), ascii_only)
            if piece and used + width > room:
                pieces.append(piece)
                piece, used = "", 0
            piece += part
            used += width + len(part) - len(part.rstrip(" "))
    return [*pieces, piece]


def _parts(word: str, room: int, ascii_only: bool) -> list[str]:
    """A word longer than the room is cut hard."""
    parts, part, used = [], "", 0
    for char in word:
        width = _drawn(char, ascii_only)
        if part and used + width > room and char != " ":
            parts.append(part)
            part, used = "", 0
        part += char
        used += width
    return [*parts, part]


def _drawn(text: str, ascii_only: bool) -> int:
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(cells(token(char, ascii_only)) if is_odd(char) else _width(char) for char in text)


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
