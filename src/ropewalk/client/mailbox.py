"""Messages on their way to one reader. Refuses to hold the CLI up: past its limit it lets deltas go, and asks to pause last.

A reader that does not read must not delay answers and interrupts, so lines go on being read; what a finished block repeats
anyway (its deltas) is the first to go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

from ..protocol.lazy import LazyMessage
from ..protocol.messages import Message, StreamEvent

Told = Message | LazyMessage

LIMIT = 64 * 1024 * 1024
"""Unread bytes past which deltas are let go."""

HARD = 4
"""Times the limit at which reading from the CLI pauses: only lines that nothing repeats are left by then."""

SOON = 0.02
"""Seconds within which a reader is woken for messages that need nobody: a question that was answered already."""


class Mailbox:
    __slots__ = ("_error", "_limit", "_look_at", "_soon", "_waiter", "dropped", "ended", "messages", "size")

    def __init__(self, limit: int = LIMIT) -> None:
        self.messages: deque[Any] = deque()
        self.size = 0
        """Bytes, never less than what is unread; exact after each time that deltas were let go."""
        self.dropped = 0
        self.ended = False
        self._limit = limit
        self._look_at = limit
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._soon: asyncio.TimerHandle | None = None

    def put(self, messages: Sequence[Told], size: int, quiet: bool = False) -> None:
        """``size``: the bytes that they came in. ``quiet``: they need nobody, so the reader gets them with others, but soon."""
        self.messages.extend(messages)
        self.size += size
        if self.size > self._look_at:
            self._let_go()
        if self._waiter is not None:
            if not quiet:
                self._wake()
            elif self._soon is None:
                self._soon = self._waiter.get_loop().call_later(SOON, self._wake)

    @property
    def full(self) -> bool:
        return bool(self.messages) and self.size > self._limit * HARD

    def end(self, error: Exception | None = None) -> None:
        """Nothing more will come; a reader first gets what is here, then the end (or ``error``)."""
        self.ended, self._error = True, error
        if self._waiter is not None:
            self._wake()

    async def more(self) -> bool:
        """Wait until there is a message. False, or the error, at the end."""
        while not self.messages:
            self.size, self._look_at = 0, self._limit
            if self.ended:
                if self._error is not None:
                    raise self._error
                return False
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return True

    def forget_oldest(self) -> None:
        """Down to half of what it may hold: for messages that nobody has asked for and perhaps never will."""
        while self.messages and self.size > self._limit * HARD // 2:
            self.size -= len(self.messages.popleft().raw)
            self.dropped += 1

    def _wake(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _let_go(self) -> None:
        kept = deque(message for message in self.messages if not _is_delta(message))
        self.dropped += len(self.messages) - len(kept)
        self.messages = kept
        self.size = sum(len(message.raw) for message in kept)
        self._look_at = max(self._limit, self.size + self._limit // 4)  # so that a full box is not searched at every put


def _is_delta(message: Told) -> bool:
    return message.is_delta if isinstance(message, LazyMessage) else isinstance(message, StreamEvent)
