"""Prompts whose readers left: taken back while they wait, interrupted when they run. Refuses to end a turn that others read.

A prompt can't be recalled from 2.1.37 and 2.1.62, and its turn can't be interrupted before it began: it is remembered here until
the CLI says what became of it.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import RequestFailed
from ..protocol.connection import Connection
from ..protocol.pending import Outcome
from ..protocol.turns import PromptState
from ..protocol.versions import RECEIPTS, Version

TAKES_BACK_SINCE: Version = (2, 1, 120)
"""``cancel_async_message`` was measured on 2.1.326; 2.1.62 answers an error and 2.1.37 nothing, and neither says its version
before the first turn. A version between them that answers an error costs nothing: then the turn is interrupted."""


class Leaving:
    """``left`` when a reader leaves, ``heard`` after each batch of messages."""

    __slots__ = ("_connection", "_flush", "_prompts")

    def __init__(self, connection: Connection, flush: Callable[[], None]) -> None:
        self._connection, self._flush = connection, flush
        self._prompts: dict[str, bool] = {}  # uuid → whether an interrupt went out that may have come too early for it

    @property
    def pending(self) -> bool:
        """Is there a prompt to wait for?"""
        return bool(self._prompts)

    def left(self, uuid: str) -> None:
        """Nobody reads the turn of this prompt any more."""
        self._prompts[uuid] = False
        self.heard()
        if uuid in self._prompts and self._connection.turns.prompts.get(uuid) is PromptState.SENT:
            self._take_back(uuid)
        self._flush()

    def heard(self) -> None:
        """Has a turn begun that only prompts without readers are in? Then it is ended."""
        turns = self._connection.turns
        self._prompts = {
            uuid: early
            for uuid, early in self._prompts.items()
            if turns.prompts.get(uuid) in (PromptState.SENT, PromptState.TAKEN)
        }
        running = turns.presumed
        if not running or not all(uuid in self._prompts for uuid in running):
            return
        perhaps_over = any(self._prompts[uuid] for uuid in running)
        for uuid in running:
            del self._prompts[uuid]
        if not (perhaps_over and self._others_wait()):  # else the interrupt could hit the turn after it
            self._interrupt()

    def _take_back(self, uuid: str) -> None:
        connection = self._connection
        if RECEIPTS in connection.capabilities or (connection.version or (0, 0, 0)) >= TAKES_BACK_SINCE:
            fields = {"message_uuid": uuid}
            connection.send_request("cancel_async_message", fields, lambda outcome: self._taken_back(uuid, outcome))
        else:
            self._interrupt_early(uuid)

    def _taken_back(self, uuid: str, outcome: Outcome) -> None:
        if uuid in self._prompts and isinstance(outcome, RequestFailed):
            self._interrupt_early(uuid)
            self._flush()

    def _interrupt_early(self, uuid: str) -> None:
        """No turn has taken it as far as we know; if it is the next one, an interrupt finds it (measured on all versions)."""
        turns = self._connection.turns
        if not turns.under_way and turns.waiting[:1] == [uuid]:
            self._prompts[uuid] = True
            self._interrupt()

    def _interrupt(self) -> None:
        self._connection.send_request("interrupt")
        self._flush()

    def _others_wait(self) -> bool:
        return any(uuid not in self._prompts for uuid in self._connection.turns.waiting)
