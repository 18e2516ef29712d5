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


class Mailbox:
    __slots__ = ("_closed", "_error", "_limit", "_waiter", "dropped", "messages", "size")

    def __init__(self, limit: int = LIMIT) -> None:
        self.messages: deque[Any] = deque()
        self.size = 0
        self.dropped = 0
        self._limit = limit
        self._closed = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, messages: Sequence[Told], size: int) -> None:
        """``size``: the bytes that they came in."""
        self.messages.extend(messages)
        self.size += size
        if self.size > self._limit:
            self._let_go()
        if self._waiter is not None:
            self._wake()

    @property
    def full(self) -> bool:
        return self.size > self._limit * HARD

    def end(self, error: Exception | None = None) -> None:
        """Nothing more will come; a reader first gets what is here, then the end (or ``error``)."""
        self._closed, self._error = True, error
        if self._waiter is not None:
            self._wake()

    async def more(self) -> bool:
        """Wait until there is a message. False, or the error, at the end."""
        while not self.messages:
            self.size = 0
            if self._closed:
                if self._error is not None:
                    raise self._error
                return False
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return True

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _let_go(self) -> None:
        kept = [message for message in self.messages if not _is_delta(message)]
        self.dropped += len(self.messages) - len(kept)
        self.messages = deque(kept)
        self.size = sum(len(message.raw) for message in kept)


def _is_delta(message: Told) -> bool:
    return message.is_delta if isinstance(message, LazyMessage) else isinstance(message, StreamEvent)
