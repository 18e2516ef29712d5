"""To which open queries a message belongs. Refuses to guess where the CLI tells: receipts and results name their prompts.

Prompts and results are not one to one: a prompt waits behind another's turn, is folded into it, shares one with others, or is
overtaken by a turn that nobody asked for. So turns are followed line by line; what belongs to no query is said to be nobody's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..protocol.messages import CommandLifecycle, Result, User
from ..protocol.system import Init, TaskNotification
from .mailbox import Told

Share = tuple[tuple[str, ...], list[Told]]
"""Messages, and the prompts to whose turn they belong (none: nobody's)."""

ENDED = frozenset({"cancelled", "discarded", "refused"})
"""States of a prompt that no turn will answer."""

_MARKS = frozenset({Init, Result, User, CommandLifecycle, TaskNotification})


class Sorter:
    """Fed with all messages while a query is open; ``begin`` tells it where things stand when one is opened."""

    __slots__ = ("_held", "_line", "_notes", "_notified", "_owners", "_running", "_tells")

    def __init__(self) -> None:
        self._line: list[str] = []  # prompts that no turn has taken, in the order in which older CLIs take them
        self._owners: list[str] = []  # prompts of the turn that runs or is about to
        self._running = False
        self._held: list[Told] | None = None  # of a turn that may be nobody's, until a receipt or its result tells
        self._notified = False
        self._notes = True  # the end of a background task may begin a turn that is nobody's
        self._tells = False  # this CLI says by itself which prompts a turn takes

    def begin(self, waiting: Iterable[str], under_way: Iterable[str], running: bool, notes: bool = True) -> None:
        """The first query is opened: these prompts wait, those are in the turn that runs. ``notes``: can notes begin turns?"""
        self._notes = notes
        self._line, self._owners, self._running = list(waiting), list(under_way), running
        self._held, self._notified = None, False

    def add(self, uuid: str) -> None:
        """A further prompt was sent."""
        self._line.append(uuid)

    def sort(self, messages: Sequence[Told]) -> Iterator[Share]:
        """All of them, each once and in order; a ``Result`` and a prompt's lifecycle always come alone."""
        plain: list[Told] = []
        for message in messages:
            if type(message) not in _MARKS and self._held is None:
                plain.append(message)
                continue
            if plain:
                yield self._now(), plain
                plain = []
            yield from self._mark(message)
        if plain:
            yield self._now(), plain

    def _mark(self, message: Told) -> Iterator[Share]:
        if isinstance(message, Result):
            yield from self._ended(message)
            return
        if isinstance(message, CommandLifecycle):
            self._tells = True
            if message.state in ENDED and message.command_uuid in self._line:
                self._line.remove(message.command_uuid)
        if isinstance(message, TaskNotification):
            self._notified = self._notes  # the next turn may be nobody's
        yield from self._receipts(message)
        if isinstance(message, Init):
            self._begun()
        if self._held is not None:
            self._held.append(message)
        else:
            yield (message.command_uuid,) if isinstance(message, CommandLifecycle) else self._now(), [message]

    def _now(self) -> tuple[str, ...]:
        """Whose a plain line is now: the turn's, or, before one, the next prompt's."""
        if self._running or self._owners or self._notified:
            return tuple(self._owners)
        return tuple(self._line[:1])

    def _receipts(self, message: Told) -> Iterator[Share]:
        for uuid in _taken_by(message):
            if uuid not in self._line:  # told before, or no prompt: notes of the CLI's own come as echoes too
                continue
            self._line.remove(uuid)
            self._owners.append(uuid)
            if self._held is not None:
                held, self._held = self._held, None
                yield (uuid,), held

    def _begun(self) -> None:
        """A turn begins. Older CLIs take prompts one by one, first come, first served, and echo them later."""
        notified, self._notified, self._running = self._notified, False, True
        if self._owners or self._tells or self._held is not None:
            return
        if notified:
            self._held = []
        elif self._line:
            self._owners.append(self._line.pop(0))

    def _ended(self, result: Result) -> Iterator[Share]:
        if self._held:
            yield result.prompts, self._held
        yield result.prompts, [result]
        self._line = [uuid for uuid in (*self._owners, *self._line) if uuid not in result.prompts]
        self._owners, self._held, self._running = [], None, False


def _taken_by(message: Told) -> Sequence[str]:
    """The prompts that this line says are in the turn."""
    if isinstance(message, User):
        return [message.uuid] if message.isReplay and message.uuid is not None else []
    if isinstance(message, CommandLifecycle):
        return [message.command_uuid] if message.state == "started" else []
    return message.user_message_uuids or [] if isinstance(message, Init) else []
