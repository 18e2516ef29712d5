"""A verdict drawn part by part, as the API says it. Refuses to cut: a person decides by each letter of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import convert

from ..events.views import Part
from .safe import cells, letters, wrap
from .screen import Screen

STYLES = {"deny": "red", "ask": "amber", "allow": "green"}
BESIDE = 11
"""Columns of a row for the verdict and the blanks."""


def draw_verdict(screen: Screen, answer: dict[str, Any]) -> None:
    """Each part with its number, its verdict and why; then the whole."""
    for row in part_rows(screen, [convert(part, Part) for part in answer["parts"]]):
        screen.row(row)
    _draw_whole(screen, answer["behavior"], answer["because"])


def part_rows(screen: Screen, parts: Sequence[Part], indent: str = "") -> list[str]:
    """A row each, or more: what does not fit goes on in the row below."""
    plain, width = screen.look.ascii, screen.look.width - len(indent)
    texts = [" ".join(part.text.split()) for part in parts]
    widest = max((cells(letters(one, ascii_only=plain)) for one in texts), default=0)
    room, number = min(widest, max(width // 2 - BESIDE - 1, 20)), len(str(len(parts)))
    rows = []
    for at, (part, text) in enumerate(zip(parts, texts, strict=True), 1):
        why = f" {screen.look.glyphs.dot} ".join(word for word in (part.because, *part.tags) if word)
        left = wrap(text, room, ascii_only=plain)
        right = screen.wrapped(why, width - number - room - BESIDE)
        for row in range(max(len(left), len(right))):
            words = left[row] if row < len(left) else ""
            blanks = " " * (room - cells(letters(words, ascii_only=plain)))
            shown, verdict = (str(at), _coloured(screen, part.verdict)) if row == 0 else ("", " " * 5)
            why = right[row] if row < len(right) else ""
            rows.append(f"{indent}{shown:>{number}}  {screen.letters(words)}{blanks}  {verdict}  {why}".rstrip())
    return rows


def _draw_whole(screen: Screen, behavior: str, because: str) -> None:
    first, *others = screen.wrapped(f"{'->' if screen.look.ascii else '→'} {behavior}: {because}", screen.look.width)
    for row in (first.replace(behavior, _coloured(screen, behavior).rstrip(), 1), *others):
        screen.row(row)


def _coloured(screen: Screen, behavior: str) -> str:
    """The blanks stand outside of the colour."""
    return screen.paint(STYLES.get(behavior, "bold"), behavior) + " " * (5 - len(behavior))
