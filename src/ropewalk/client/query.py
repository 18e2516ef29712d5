"""One prompt and the messages of the turn that takes it. Refuses to mix turns: what belongs to others is left out.

Prompts and results are not one to one, so the end is the ``Result`` that names this prompt, not the next one that comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator
from typing import Any

from ..errors import SessionGone
from ..protocol.lazy import LazyMessage
from ..protocol.messages import CommandLifecycle, Message, Result, User
from ..protocol.system import Init
from .mailbox import Mailbox, Told


class Query:
    """Iterate it for the messages, or ``await`` it for the ``Result`` alone.

    Leaving the loop early, or being cancelled in it, interrupts the turn and leaves the client usable.
    """

    __slots__ = ("_abandon", "_box", "_done", "_mine", "uuid")

    def __init__(self, uuid: str, box: Mailbox, alone: bool, abandon: Callable[[Query], None]) -> None:
        self.uuid = uuid
        """The prompt's own id: receipts, results and rewinds name it."""
        self._box = box
        self._mine = alone  # nothing else runs or waits: all that comes is ours
        self._abandon = abandon
        self._done = False

    def __aiter__(self) -> AsyncIterator[Told]:
        return self._messages()

    def __await__(self) -> Generator[Any, None, Result]:
        return self._result().__await__()

    async def _result(self) -> Result:
        async for message in self:
            if isinstance(message, Result):
                return message
        raise SessionGone("the session ended before the turn did")

    async def _messages(self) -> AsyncIterator[Told]:
        box = self._box
        held: list[Told] = []
        try:
            while not self._done and await box.more():
                waiting = box.messages
                while waiting:
                    message = waiting.popleft()
                    if type(message) is Result and self.uuid in message.prompts:
                        self._done = True
                    if not self._mine:
                        held = self._sort(held, message)
                        if self._waits():
                            continue
                        for earlier in held:
                            yield earlier
                    yield message
                    if self._done:
                        return
                    waiting = box.messages
        finally:
            if not self._done:
                self._done = True
                self._abandon(self)

    def _waits(self) -> bool:
        return not self._mine

    def _sort(self, held: list[Told], message: Told) -> list[Told]:
        """While another turn runs: keep what may belong to ours until a receipt tells, forget what did not."""
        if self._done or _is_receipt(message, self.uuid):
            self._mine = True
            return held
        if isinstance(message, Result):
            return []
        if isinstance(message, Init):
            return [message]
        return [*held, message] if held else []


def _is_receipt(message: Told, uuid: str) -> bool:
    if isinstance(message, LazyMessage) or not isinstance(message, Message):
        return False
    if isinstance(message, User):
        return message.isReplay and message.uuid == uuid
    if isinstance(message, CommandLifecycle):
        return message.command_uuid == uuid and message.state == "started"
    return isinstance(message, Init) and uuid in (message.user_message_uuids or ())
