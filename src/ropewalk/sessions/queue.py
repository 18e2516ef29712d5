"""The prompts of one session that are not done: waiting here, or handed over. Pure: changes of rows are the owner's to store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import Conflict, NotFound
from ..store.rows import PromptRow

SPACE = 1024.0
"""Between two prompts in the order: a moved one takes the middle, forty times in the same place before the numbers run out."""


class Queue:
    """In the order of ``position``. ``waiting`` may be changed by people; ``sent`` ones are the CLI's."""

    def __init__(self, rows: list[PromptRow] | None = None) -> None:
        rows = rows or []
        self._waiting = sorted((row for row in rows if row.state == "queued"), key=lambda row: row.position)
        self.sent: dict[str, PromptRow] = {row.id: row for row in rows if row.state in ("sent", "taken")}
        self._last = max((row.position for row in rows), default=0.0)
        self._held: set[str] = set()  # those that a person is changing at this moment

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def waiting(self) -> list[PromptRow]:
        return list(self._waiting)

    @property
    def all(self) -> list[PromptRow]:
        """Those handed over first, then those that wait."""
        return [*self.sent.values(), *self._waiting]

    def place(self, *, first: bool = False) -> float:
        """Where a new prompt goes: last, or before all that wait."""
        if first and self._waiting:
            return self._waiting[0].position - SPACE
        self._last += SPACE
        return self._last

    def add(self, row: PromptRow) -> None:
        self._last = max(self._last, row.position)
        self._waiting.append(row)
        self._waiting.sort(key=lambda one: one.position)

    def next(self) -> PromptRow | None:
        """The one whose turn it is; None while a person changes it, too."""
        first = self._waiting[0] if self._waiting else None
        return first if first is not None and first.id not in self._held else None

    @contextmanager
    def held_back(self, row: PromptRow) -> Iterator[None]:
        """It is not handed over inside the block, and nobody else changes it."""
        self._held.add(row.id)
        try:
            yield
        finally:
            self._held.discard(row.id)

    def hand_over(self, row: PromptRow) -> None:
        self._waiting.remove(row)
        self.sent[row.id] = row

    def find(self, prompt: str) -> PromptRow:
        """One that people may still change. Raises ``Conflict`` when it was handed over, ``NotFound`` when it is not here."""
        if prompt in self._held:
            raise Conflict("this prompt is being changed at this moment; look at it, then try again", code="being_changed")
        for row in self._waiting:
            if row.id == prompt:
                return row
        if prompt in self.sent:
            raise Conflict("this prompt was handed over already; interrupt the turn instead", code="already_taken")
        raise NotFound(f"no prompt {prompt} waits here")

    def withdraw(self, row: PromptRow) -> None:
        self._waiting.remove(row)

    def position_before(self, row: PromptRow, before: str) -> float:
        """The position that puts ``row`` before another that waits; last when ``before`` is empty."""
        others = [one for one in self._waiting if one is not row]
        if not before:
            return (others[-1].position if others else row.position) + SPACE
        at = next((index for index, one in enumerate(others) if one.id == before), None)
        if at is None:
            raise NotFound(f"no prompt {before} waits here, so nothing can be put before it")
        low = others[at - 1].position if at else others[0].position - 2 * SPACE
        return (low + others[at].position) / 2

    def move(self, row: PromptRow, position: float) -> None:
        row.position = position
        self._last = max(self._last, position)
        self._waiting.sort(key=lambda one: one.position)
