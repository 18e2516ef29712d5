"""One prompt and the messages of the turn that takes it. Refuses to end with another turn's result, or to go on past its own."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Generator
from typing import Any, Protocol

from ..errors import TurnFailed
from ..protocol.control import ControlRequest
from ..protocol.messages import Result
from .left import Watch, watched
from .mailbox import Mailbox, Told

log = logging.getLogger("ropewalk.client")


class Asker(Protocol):
    """Who sent the prompt."""

    def query_left(self, uuid: str, interrupt: bool) -> None:
        """Nobody reads this query any more."""

    def query_read(self) -> None:
        """Its box was read empty."""

    def nobody_answers(self, question: ControlRequest) -> bool:
        """Whether no function stands ready for this question."""


class Query:
    """Iterate it for the messages, the last of them the ``Result``; or ``await`` it for the ``Result`` alone.

    Leaving the loop early, being cancelled in it, or ``aclose()`` interrupts the turn and leaves the client usable. A query that
    is dropped without ever having been read is a plain prompt: its messages come out of ``receive``.
    """

    __slots__ = ("_asker", "_box", "_started", "result", "uuid")

    def __init__(self, uuid: str, box: Mailbox, asker: Asker) -> None:
        self.uuid = uuid
        """The prompt's own id: receipts, results and rewinds name it."""
        self.result: Result | None = None
        """Set when it was read."""
        self._box, self._asker, self._started = box, asker, False

    def __aiter__(self) -> AsyncGenerator[Told, None]:
        self._started = True
        return watched(self._messages, self._left)

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result().__await__()

    def __del__(self) -> None:
        if not self._started and not self._box.ended:
            self._asker.query_left(self.uuid, interrupt=False)

    async def aclose(self) -> None:
        """Read no further: the turn is interrupted if it has not ended."""
        self._started = True
        self._left()

    async def _result(self) -> Result:
        async for message in self:
            if isinstance(message, ControlRequest) and self._asker.nobody_answers(message):
                log.warning(
                    "%s waits for an answer and no on_question is set: answer it with control_response", message.request_id
                )
        if self.result is None:
            raise TurnFailed("no turn", ("the prompt was withdrawn before a turn took it, or its query was closed",))
        return self.result

    async def _messages(self, watch: Watch) -> AsyncGenerator[Told, None]:
        box = self._box
        try:
            while await box.more():
                waiting = box.messages
                while waiting:
                    message = waiting.popleft()
                    if type(message) is Result and self.uuid in message.prompts:
                        self.result = message
                    yield message
                    waiting = box.messages
                self._asker.query_read()
        finally:
            self._left()

    def _left(self) -> None:
        if not self._box.ended:
            self._asker.query_left(self.uuid, interrupt=True)
