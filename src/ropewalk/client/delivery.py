"""Who gets which message: queries theirs, receivers all, a backlog what nobody read. Refuses to lose one, or to mix turns.

The owner feeds it; it says when reading has to pause and when it may go on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..errors import SessionGone
from ..protocol.connection import Notable
from ..protocol.messages import Result
from .mailbox import Mailbox, Told


class Tap(Protocol):
    """What can be paused: a transport."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Delivery:
    __slots__ = ("_backlog", "_boxes", "_error", "_limit", "_over", "_paused", "_queries", "_tap")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._boxes: list[Mailbox] = []
        self._backlog = Mailbox(limit)
        self._queries: dict[str, Mailbox] = {}
        self._tap: Tap | None = None
        self._paused = False
        self._over = False
        self._error: SessionGone | None = None

    def attach(self, tap: Tap) -> None:
        self._tap = tap

    def open_query(self, uuid: str) -> Mailbox:
        """A box for the messages until the turn that answers this prompt has ended."""
        box = self._queries[uuid] = Mailbox(self._limit)
        self._boxes.append(box)
        return box

    def close_query(self, uuid: str) -> None:
        box = self._queries.pop(uuid, None)
        if box is not None:
            self._boxes.remove(box)
            box.end()

    def open_receiver(self) -> Mailbox:
        """A box that begins with what nobody has read yet."""
        box, self._backlog = self._backlog, Mailbox(self._limit)
        self._boxes.append(box)
        if self._over:
            box.end(self._error)
        return box

    def close_receiver(self, box: Mailbox) -> None:
        """What it left unread waits for the next one."""
        self._boxes.remove(box)
        if box.messages and not self._boxes:
            box.messages.extend(self._backlog.messages)
            box.size += self._backlog.size
            self._backlog = box

    def tell(self, messages: list[Told], size: int, notable: Iterable[Notable]) -> None:
        """Hand out a batch; a query's ends right behind its result, what follows is the others'."""
        for one in notable:
            if type(one) is Result and not self._queries.keys().isdisjoint(one.prompts):
                cut = next(index for index, message in enumerate(messages) if message is one) + 1
                self._put(messages[:cut], size)
                for uuid in one.prompts:
                    self.close_query(uuid)
                messages, size = messages[cut:], 0
        if messages:
            self._put(messages, size)

    def drained(self) -> None:
        """A reader has read its box empty."""
        if self._paused and self._tap is not None and not any(box.full for box in (*self._boxes, self._backlog)):
            self._paused = False
            self._tap.resume()

    def end(self, gone: SessionGone, asked_for: bool) -> None:
        """Nothing more will come. Receivers end quietly when that was asked for; a query whose result is missing never does."""
        self._over = True
        self._error = None if asked_for else gone
        for box in self._queries.values():
            box.end(gone)
        for box in (*self._boxes, self._backlog):
            if box not in self._queries.values():
                box.end(self._error)
        self._queries.clear()

    def _put(self, messages: list[Told], size: int) -> None:
        for box in self._boxes or (self._backlog,):
            box.put(messages, size)
            if box.full and not self._paused and self._tap is not None:
                self._paused = True
                self._tap.pause()
