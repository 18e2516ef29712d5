"""A verdict drawn part by part, as the API says it. Refuses to cut: a person decides by each letter of it."""

from __future__ import annotations

from typing import Any

from .safe import cells, letters, wrap
from .screen import Screen

STYLES = {"deny": "red", "ask": "amber", "allow": "green"}
BESIDE = 11
"""Columns of a row for the verdict and the blanks."""


def draw_verdict(screen: Screen, answer: dict[str, Any]) -> None:
    """Each part with its number, its verdict and why; then the whole. What does not fit goes on in the row below."""
    parts, plain = answer["parts"], screen.look.ascii
    texts = [" ".join(part["text"].split()) for part in parts]
    widest = max((cells(letters(one, ascii_only=plain)) for one in texts), default=0)
    room, number = min(widest, max(screen.look.width // 2 - BESIDE - 1, 20)), len(str(len(parts)))
    for at, (part, text) in enumerate(zip(parts, texts, strict=True), 1):
        why = f" {screen.look.glyphs.dot} ".join([part["because"], *part["tags"]])
        left = wrap(text, room, ascii_only=plain)
        right = screen.wrapped(why, screen.look.width - number - room - BESIDE)
        for row in range(max(len(left), len(right))):
            words = left[row] if row < len(left) else ""
            blanks = " " * (room - cells(letters(words, ascii_only=plain)))
            shown, verdict = (str(at), _coloured(screen, part["verdict"])) if row == 0 else ("", " " * 5)
            why = right[row] if row < len(right) else ""
            screen.row(f"{shown:>{number}}  {screen.letters(words)}{blanks}  {verdict}  {why}".rstrip())
    _draw_whole(screen, answer["behavior"], answer["because"])


def _draw_whole(screen: Screen, behavior: str, because: str) -> None:
    first, *others = screen.wrapped(f"{'->' if screen.look.ascii else '→'} {behavior}: {because}", screen.look.width)
    for row in (first.replace(behavior, _coloured(screen, behavior).rstrip(), 1), *others):
        screen.row(row)


def _coloured(screen: Screen, behavior: str) -> str:
    """The blanks stand outside of the colour."""
    return screen.paint(STYLES.get(behavior, "bold"), behavior) + " " * (5 - len(behavior))
