"""Rows in columns that fit the terminal. Refuses to cut more than it must: the widest words give way first."""

from __future__ import annotations

from collections.abc import Sequence

from .safe import cells, one_line
from .screen import Screen

LEAST = 8
"""Columns that a cell keeps when the room is short."""
COMFORT = 14
"""Columns below which words say little: before that, a column that can be spared goes."""
GAP = 2


def draw(
    screen: Screen, heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str] = (), spare: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> None:  # fmt: skip
    """To stdout. ``heads`` empty: none. ``styles``: one a row, for its first cell. ``spare``: columns that a narrow terminal
    goes without, the first first. ``whole``: columns that are never cut, since somebody decides by them.
    """
    harmless = [[one_line(cell, ascii_only=screen.look.ascii) for cell in row] for row in rows]
    every = [*([list(heads)] if heads else []), *harmless]
    kept = list(range(len(every[0]))) if every else []
    rooms = fit(every, screen.look.width, whole)
    for column in spare:
        if not _cramped([[row[index] for index in kept] for row in every], rooms, screen.look.width):
            break
        kept.remove(column)
        rooms = fit(
            [[row[index] for index in kept] for row in every],
            screen.look.width,
            [kept.index(one) for one in whole if one in kept],
        )
    heads, harmless = [heads[index] for index in kept] if heads else [], [[row[index] for index in kept] for row in harmless]
    if heads:
        screen.row(screen.paint("dim", _joined(screen, heads, rooms)))
    for index, row in enumerate(harmless):
        style = styles[index] if index < len(styles) else ""
        first, rest = screen.columns(row[0], rooms[0]), _joined(screen, row[1:], rooms[1:])
        screen.row(f"{screen.paint(style, first) if style else first}{' ' * GAP}{rest}".rstrip())


def fit(rows: Sequence[Sequence[str]], width: int, whole: Sequence[int] = ()) -> list[int]:
    """A width for each column: as wide as its widest cell, and the widest ones narrowed until all fit."""
    rooms = [max(cells(cell) for cell in column) for column in zip(*rows, strict=True)]
    may = [column for column in range(len(rooms)) if column not in whole]
    while may and sum(rooms) + GAP * (len(rooms) - 1) > width and max(rooms[column] for column in may) > LEAST:
        rooms[max(may, key=lambda column: (rooms[column], -column))] -= 1
    return rooms


def _cramped(rows: Sequence[Sequence[str]], rooms: Sequence[int], width: int) -> bool:
    wanted = fit(rows, sum(cells(cell) for row in rows for cell in row) + width)
    short = any(room < min(whole, COMFORT) for room, whole in zip(rooms, wanted, strict=True))
    return short or sum(rooms) + GAP * (len(rooms) - 1) > width


def _joined(screen: Screen, row: Sequence[str], rooms: Sequence[int]) -> str:
    shown = [screen.columns(cell, room) for cell, room in zip(row, rooms, strict=True)]
    return (" " * GAP).join(shown).rstrip()
