"""Deltas on their way to whoever listens now: gathered for a moment, told together, forgotten. Never history."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from ..events import events as e
from ..events.views import Partial
from ..store.base import Entry

if TYPE_CHECKING:
    from .session import Session

GATHER = 0.03
"""Seconds. Coalescing saves more than any choice of server (measured: 13 times the frames at 100 deltas a second)."""

Delta = e.TextDelta | e.ThinkingDelta | e.ToolInputDelta
_KIND: dict[type[e.Event], Literal["text", "thinking", "tool_input"]] = {
    e.TextDelta: "text",
    e.ThinkingDelta: "thinking",
    e.ToolInputDelta: "tool_input",
}
_encode = msgspec.json.Encoder().encode


class Live:
    """The blocks that are being said, and what of them was not told yet."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._blocks: dict[str, tuple[Delta, list[str]]] = {}
        self._due: dict[str, Delta] = {}
        self._progress: dict[str, e.ToolProgressed] = {}
        self._behind: dict[str, Delta | e.ToolProgressed] = {}  # gathered, and waiting for what was posted before
        self._timer: asyncio.TimerHandle | None = None

    def add(self, events: Iterable[e.Event]) -> None:
        heard = self._session.heard
        for event in events:
            if isinstance(event, e.ToolProgressed):
                self._progress[event.tool_use] = event
            elif isinstance(event, Delta):
                self._grow(event, heard)
        if (self._due or self._progress) and self._timer is None:
            self._tell_soon()

    def _tell_soon(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(GATHER, self._tell)

    def _grow(self, event: Delta, heard: bool) -> None:
        known = self._blocks.get(event.block)
        if known is None:
            self._blocks[event.block] = (event, [event.text])
        else:
            known[1].append(event.text)
        if not heard:
            return
        due = self._due.get(event.block)
        if due is None:
            self._due[event.block] = msgspec.structs.replace(event)
        else:
            due.text += event.text

    def superseded(self, events: Iterable[e.Event]) -> None:
        """A block is finished: its pieces are told no more. A turn's end finishes all."""
        if not self._blocks:
            return
        for event in events:
            if block := getattr(event, "block", ""):
                self._blocks.pop(block, None)
                self._due.pop(block, None)
                self._behind.pop(block, None)
            elif isinstance(event, e.TurnEnded | e.TurnStarted):
                self._blocks.clear()
                self._due.clear()
                self._behind.clear()

    def partials(self) -> list[Partial]:
        """What is being said, whole so far: for whoever attaches now."""
        return [
            Partial(block, _KIND[type(first)], "".join(pieces), first.parent, getattr(first, "tool", ""))
            for block, (first, pieces) in self._blocks.items()
        ]

    def close(self) -> None:
        self._blocks.clear()
        self._due.clear()
        self._behind.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        """Never before what was said earlier: where that is not stored yet, behind it."""
        self._timer = None
        if self._behind or not (self._due or self._progress):
            return  # what is due now is told after what waits
        behind = self._behind = {**self._due, **self._progress}
        self._due, self._progress = {}, {}
        session = self._session
        if not session.untold:
            self._tell_behind()
            return

        def reached(outcome: object) -> None:
            if self._behind is behind:  # else it was superseded while it waited
                self._tell_behind()

        session.world.store.post(
            Entry(session=session.id, epoch=session.row.epoch, keep=True, on_stored=reached, on_failed=reached)
        )

    def _tell_behind(self) -> None:
        told, self._behind = list(self._behind.values()), {}
        seq = self._session.row.last_seq
        for event in told:
            event.session, event.seq = self._session.id, seq
        if told:
            self._session.world.told.live(self._session.id, [_encode(event) for event in told])
        if (self._due or self._progress) and self._timer is None:
            self._tell_soon()
