"""Which turn took which prompt. Prompts and results are not one to one: refuses to count them against each other."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from .messages import Assistant, CommandLifecycle, Message, Result


def answer_of(messages: Iterable[Message]) -> str:
    """The answer in the messages of one turn: the result's own text, or else the last words of the main thread."""
    words = ""
    for message in messages:
        if isinstance(message, Assistant) and message.parent_tool_use_id is None:
            words = message.text or words
        elif isinstance(message, Result):
            return message.result or words
    return words


class PromptState(Enum):
    SENT = "sent"
    TAKEN = "taken"
    DONE = "done"
    WITHDRAWN = "withdrawn"


class Turn(Struct, frozen=True):
    """A turn that ended. ``prompts`` are the uuids of ours that it answered; none when nobody asked for it."""

    number: int
    prompts: tuple[str, ...]
    result: Result
    cost_usd: float


_OVER = (PromptState.DONE, PromptState.WITHDRAWN)

REMEMBERED = 1024
"""Finished prompts whose fate is kept."""


class Turns:
    """Follows receipts: the echo of a prompt, ``command_lifecycle``, the uuids that 2.1.326 puts on init and result."""

    __slots__ = ("_early", "_nobodys", "_notified", "_receipts", "_taken", "count", "prompts")

    def __init__(self) -> None:
        self.prompts: dict[str, PromptState] = {}
        self.count = 0
        self._taken: list[str] = []  # by the turn that runs, or by the one about to begin
        self._early: list[str] | None = None  # prompts that waited when the turn that runs began; None when none runs
        self._nobodys = False  # the turn that runs began after a background task had ended
        self._notified = False  # a background task ended: the next turn may be nobody's
        self._receipts = False  # this CLI tells receipts by itself

    @property
    def waiting(self) -> list[str]:
        """Prompts that were sent and that no turn has taken."""
        return [uuid for uuid, state in self.prompts.items() if state is PromptState.SENT]

    @property
    def under_way(self) -> list[str]:
        """Prompts that a turn has taken and not finished."""
        return list(self._taken)

    @property
    def presumed(self) -> list[str]:
        """The same, also before a receipt: 2.1.37 and 2.1.62 echo a prompt with the first finished block of its turn.

        They take prompts one by one, first come, first served, so the turn that runs can only have taken the oldest.
        """
        if self._taken or self._early is None or self._nobodys or self._receipts:
            return list(self._taken)
        return [uuid for uuid in self._early if self.prompts.get(uuid) is PromptState.SENT][:1]

    def sent(self, uuid: str) -> None:
        self.prompts.setdefault(uuid, PromptState.SENT)

    def took(self, uuid: str | None) -> None:
        """A receipt. A prompt that is done stays done: a repeated uuid is echoed but not run again."""
        if uuid is not None and self.prompts.get(uuid) is PromptState.SENT:
            self.prompts[uuid] = PromptState.TAKEN
            self._taken.append(uuid)

    def lifecycle(self, message: CommandLifecycle) -> None:
        self._receipts = True
        if message.state in ("started", "completed"):
            self.took(message.command_uuid)
        elif message.state in ("cancelled", "discarded", "refused") and message.command_uuid in self.prompts:
            self._end(message.command_uuid, PromptState.WITHDRAWN)

    def taken_back(self, uuid: str) -> None:
        """It never reached the CLI: nothing will come of it."""
        if self.prompts.get(uuid) is PromptState.SENT:
            self._end(uuid, PromptState.WITHDRAWN)

    def notified(self) -> None:
        """A background task ended. A turn that nobody asked for may follow."""
        self._notified = True

    def begun(self) -> None:
        """An init. A second one before the result goes on with the same turn (2.1.62, background sub-agents)."""
        if self._early is None:
            self._early, self._nobodys = self.waiting, self._notified
        self._notified = False

    def ended(self, result: Result, cost: float) -> Turn:
        """The turn that ``result`` ends, with the prompts that it answers."""
        for uuid in result.user_message_uuids or ([result.user_message_uuid] if result.user_message_uuid else []):
            self.took(uuid)
        if not self._taken:
            self._guess(result)
        prompts = tuple(self._taken)
        for uuid in prompts:
            self._end(uuid, PromptState.DONE)
        self.count += 1
        self._early, self._nobodys = None, False
        return Turn(self.count, prompts, result, cost)

    def _guess(self, result: Result) -> None:
        """No receipt came (older CLIs: a local command, an end before the model spoke): the oldest prompt waits no longer."""
        if result.origin is not None or self._nobodys or self._receipts:
            return
        waiting = [uuid for uuid in self.waiting if self._early is None or uuid in self._early]
        if waiting:
            self.took(waiting[0])

    def _end(self, uuid: str, state: PromptState) -> None:
        if uuid in self._taken:
            self._taken.remove(uuid)
        self.prompts.pop(uuid, None)
        self.prompts[uuid] = state
        if len(self.prompts) > REMEMBERED:
            del self.prompts[next(uuid for uuid, state in self.prompts.items() if state in _OVER)]
