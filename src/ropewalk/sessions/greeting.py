"""The first words with a process: said once, waited for within bounds. Refuses to take one for ready before it has answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..errors import RopewalkError, SessionGone
from ..events import events as e
from .bypass import confirmed
from .ending import Ending
from .wire import Wire, key_of

if TYPE_CHECKING:
    from ..protocol.pending import Outcome

SEES = "ropewalk-sees"
HOOK_WITHIN = 86400
"""Seconds that a tool call waits for us at most: a restart of the hub delays it, and never refuses it."""
START_WITHIN = 90.0
"""Seconds until a CLI must have answered our first request; 2.1.37 takes 3 on an idle machine, a loaded one may take 30."""


class Greeting(Ending):
    def _greet(self, wire: Wire) -> None:
        """The first thing to say; whatever waits is handed over when it is answered."""
        if wire.over:
            return  # it ended at once: its end tells the rest
        options = self._session.options
        fields: dict[str, Any] = {"appendSystemPrompt": options.append_system_prompt} if options.append_system_prompt else {}
        if self._session.world.config.see_everything:
            fields["hooks"] = {"PreToolUse": [{"hookCallbackIds": [SEES], "timeout": HOOK_WITHIN}]}
        wire.connection.send_initialize(fields, lambda outcome: self._greeted(wire, outcome))
        data = wire.take()
        line = wire.line_said(data)
        # kept first: a later life of the hub must know that it was said, since older CLIs refuse a second one
        self._session.post([], lines=[line], then=lambda _: wire.write(key_of(data, line.n), data))
        self._deadline = asyncio.get_running_loop().call_later(START_WITHIN, self._too_slow, wire)

    def _greeted(self, wire: Wire, outcome: Outcome) -> None:
        self._no_deadline()
        if isinstance(outcome, SessionGone) or wire.over or self._session.wire is not wire:
            return  # its end tells the rest
        if isinstance(outcome, RopewalkError):
            self._session.post(
                [e.Warned(text=f"Claude refused our greeting and is driven all the same: {outcome}", code="greeting")]
            )
        asyncio.get_running_loop().call_soon(self.ready, wire)

    def greeted_meanwhile(self, wire: Wire) -> None:
        """The answer to a greeting that an earlier life said: nobody waits for it but us."""
        if not wire.ready and not wire.connection.pending.of("initialize"):
            self._no_deadline()
            self.ready(wire)

    def ready(self, wire: Wire) -> None:
        """It listens."""
        if wire.over or wire.ready:
            return
        wire.ready = True
        confirmed(self._session)
        self._up.set()
        self._session.board.ready()
        self.goes_on()

    def goes_on(self) -> None:
        """Whatever waits is handed over; with nothing to do, it rests after a while."""
        self._session.pump()
        self._session.settle()
        self._rest_later()
        if self._lost:
            self._session.world.tasks.start(self._tell_what_is_not_known())

    async def _tell_what_is_not_known(self) -> None:
        """A kill within a second of a prompt can leave it out of the CLI's own record (measured on all): then it must be told."""
        session = self._session
        lost, self._lost = self._lost, []
        for prompt in lost:
            if await session.world.transcript_has(session.row, prompt) is False:
                words = "Claude was ended before it noted the lost prompt and does not know it; send it again if it matters"
                session.post([e.Warned(text=words, code="prompt_not_known", prompt=prompt)])

    def _too_slow(self, wire: Wire) -> None:
        if not wire.ready and not wire.over:
            self._session.post(
                [e.Warned(text=f"Claude said nothing for {START_WITHIN:.0f} seconds; it is ended", code="slow_start")]
            )
            self._session.world.tasks.start(self._end_quietly(wire, 0.0))
