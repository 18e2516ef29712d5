"""Who gets which message: queries theirs, receivers all, a backlog what nobody read. Refuses to lose one, or to mix turns.

The owner feeds it; it says when reading has to pause and when it may go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..errors import SessionGone
from ..protocol.connection import Connection
from ..protocol.messages import CommandLifecycle, Result
from ..protocol.state import State
from ..protocol.versions import NOTES_BEGIN_NO_TURN
from .mailbox import Mailbox, Told
from .sorting import ENDED, Sorter


class Tap(Protocol):
    """What can be paused: a transport."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Delivery:
    """``keeps``: what comes while nobody reads waits for the next receiver; off where a callback hears everything anyway."""

    __slots__ = (
        "_backlog",
        "_error",
        "_keeps",
        "_left",
        "_limit",
        "_lost",
        "_over",
        "_paused",
        "_queries",
        "_receivers",
        "_sorter",
        "_tap",
    )

    def __init__(self, limit: int, keeps: bool = True) -> None:
        self._limit, self._keeps = limit, keeps
        self._receivers: list[Mailbox] = []
        self._queries: dict[str, Mailbox] = {}
        self._left: set[str] = set()  # prompts whose readers have left; what their turns still say must not make reading pause
        self._backlog = Mailbox(limit)
        self._sorter = Sorter()
        self._tap: Tap | None = None
        self._paused = self._over = False
        self._error: SessionGone | None = None
        self._lost = 0

    @property
    def dropped(self) -> int:
        """Messages that slow readers were not given."""
        return self._lost + sum(box.dropped for box in (*self._receivers, *self._queries.values(), self._backlog))

    def attach(self, tap: Tap) -> None:
        self._tap = tap

    # -- readers

    def prompt_sent(self, uuid: str) -> None:
        """A prompt went out whose messages no query reads."""
        if self._queries:
            self._sorter.add(uuid)

    def open_query(self, uuid: str, connection: Connection) -> Mailbox:
        """A box for the messages of the turn that takes this prompt, which ``connection`` just sent. It ends with the turn."""
        if self._queries:
            self._sorter.add(uuid)
        else:
            turns, version = connection.turns, connection.version
            notes = version is None or version > NOTES_BEGIN_NO_TURN
            self._sorter.begin(turns.waiting, turns.under_way, connection.state is State.RUNNING, notes)
        box = self._queries[uuid] = Mailbox(self._limit)
        if self._backlog.full:  # whoever asks on without reading the rest must not be kept waiting by it
            self._backlog.forget_oldest()
            self.relieved()
        return box

    def close_query(self, uuid: str) -> bool:
        """Its reader has left. False when the turn had ended by then."""
        box = self._queries.pop(uuid, None)
        if box is None:
            return False
        self._left.add(uuid)
        box.end()
        self._lost += box.dropped
        if box.messages and not self._receivers and self._keeps:
            self._backlog.put(list(box.messages), box.size)
            if self._backlog.full:
                self._backlog.forget_oldest()
        box.messages.clear()
        self.relieved()
        return True

    def open_receiver(self) -> Mailbox:
        """A box that begins with what nobody has read yet."""
        box, self._backlog = self._backlog, Mailbox(self._limit)
        self._receivers.append(box)
        if self._over:
            box.end(self._error)
        return box

    def close_receivers(self, boxes: list[Mailbox]) -> None:
        """What they left unread waits for the next one. Harmless when done before."""
        for box in boxes:
            if box in self._receivers:
                self._close_receiver(box)

    def _close_receiver(self, box: Mailbox) -> None:
        self._receivers.remove(box)
        if box.messages and not self._receivers and self._keeps:
            later, self._backlog = self._backlog, Mailbox(self._limit)  # not the box itself: its reader may close it once more
            self._backlog.put([*box.messages, *later.messages], box.size + later.size)
            self._backlog.dropped += box.dropped + later.dropped
        else:
            self._lost += box.dropped
        self.relieved()

    def relieved(self) -> None:
        """A reader has read its box empty, or has left: reading may go on."""
        boxes = (*self._receivers, *self._queries.values(), self._backlog)
        if self._paused and self._tap is not None and not any(box.full for box in boxes):
            self._paused = False
            self._tap.resume()

    # -- messages

    def tell(self, messages: list[Told], size: int, quiet: bool = False) -> None:
        """Hand out a batch. ``size``: the bytes that it came in; ``quiet``: receivers need not be woken for it."""
        for box in self._receivers:
            box.put(messages, size, quiet)
            self._hold_back(box)
        if self._queries:
            self._sort(messages)
        elif not self._receivers and self._keeps:
            self._backlog.put(messages, size)
            if self._left and self._backlog.full:
                self._backlog.forget_oldest()
            self._hold_back(self._backlog)
        if self._left:
            self._left.difference_update(uuid for message in messages for uuid in _ended_by(message))

    def end(self, gone: SessionGone, asked_for: bool) -> None:
        """Nothing more will come. Receivers end quietly when that was asked for; a query whose result is missing never does."""
        self._over = True
        self._error = None if asked_for else gone
        for box in self._queries.values():
            box.end(gone)
        for box in (*self._receivers, self._backlog):
            box.end(self._error)
        self._queries.clear()

    def _sort(self, messages: Sequence[Told]) -> None:
        for prompts, share in self._sorter.sort(messages):
            size = sum(len(message.raw) for message in share)
            boxes = [box for uuid in prompts if (box := self._queries.get(uuid)) is not None]
            for box in boxes:
                box.put(share, size)
                self._hold_back(box)
            if not boxes and not self._receivers and self._keeps:
                self._backlog.put(share, size)
                if self._backlog.full:
                    self._backlog.forget_oldest()
            self._finish(_ended_by(share[-1]))

    def _finish(self, prompts: Sequence[str]) -> None:
        for uuid in prompts:
            box = self._queries.pop(uuid, None)
            if box is not None:
                box.end()
                self._lost += box.dropped

    def _hold_back(self, box: Mailbox) -> None:
        if box.full and not self._paused and self._tap is not None:
            self._paused = True
            self._tap.pause()


def _ended_by(message: Told) -> Sequence[str]:
    """Prompts that nothing more will come for after this message."""
    if isinstance(message, Result):
        return message.prompts
    return (message.command_uuid,) if isinstance(message, CommandLifecycle) and message.state in ENDED else ()
