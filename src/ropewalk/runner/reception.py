"""Who may speak to the runner: one hub at a time, the one with the highest epoch. Greets, takes over, turns away; runs no CLI."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from typing import Any

from ropewalk.runner.about import boot_id
from ropewalk.runner.conversation import Conversation
from ropewalk.runner.files import Files
from ropewalk.runner.keeper import Keeper, Nobody
from ropewalk.transports.frames import PROTOCOL, Accounts, Fenced, Hello, Reexec, Welcome

log = logging.getLogger("ropewalk.runner")

HELLO_WITHIN = 10.0
STRANGERS = 32
"""Connections that have not said hello; past it new ones are ended at once."""
COUNT_EVERY = 5.0


class Reception:
    """The conversations of one runner. ``hub`` is the one that counts."""

    def __init__(self, keeper: Keeper, files: Files, version: str, reexec: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        self._keeper, self._files, self._version, self._reexec = keeper, files, version, reexec
        self._strangers: dict[Conversation, asyncio.TimerHandle] = {}
        self.hub: Conversation | None = None
        self.life = os.urandom(8).hex()
        self.alone_since = asyncio.get_running_loop().time()

    def conversation(self) -> Conversation:
        return Conversation(self._keeper, self._files, self)

    def came(self, conversation: Conversation) -> None:
        if len(self._strangers) >= STRANGERS:
            conversation.end()
            return
        loop = asyncio.get_running_loop()
        self._strangers[conversation] = loop.call_later(HELLO_WITHIN, conversation.end)

    def went(self, conversation: Conversation) -> None:
        self._known(conversation)
        if self.hub is conversation:
            self.hub = None
            self._keeper.listener = Nobody()
            self.alone_since = asyncio.get_running_loop().time()
            log.info("the hub of epoch %s has gone; %d processes go on", conversation.epoch, len(self._keeper.charges))

    def greet(self, conversation: Conversation, hello: Hello) -> None:
        house = self._keeper.house
        if hello.epoch < house.epoch:
            log.warning("a hub of epoch %d was turned away: %d was here", hello.epoch, house.epoch)
            words = f"a newer hub is in charge of this runner (epoch {house.epoch}, ours is {hello.epoch})"
            conversation.end(Fenced(house.epoch, words))
            return
        try:
            house.raise_epoch(hello.epoch)
        except OSError as error:
            self.complain(f"the epoch can't be noted: {error}")
            conversation.end()
            return
        self._known(conversation)
        conversation.epoch = hello.epoch
        self._take_over(conversation)
        conversation.tell(
            Welcome(
                PROTOCOL,
                self._version,
                house.id,
                self.life,
                os.getpid(),
                boot_id(),
                house.epoch,
                tuple(charge.report() for charge in self._keeper.charges.values()),
                self._keeper.trouble,
            )
        )
        log.info("a hub of epoch %d (%s) is here", hello.epoch, hello.version)

    def _take_over(self, conversation: Conversation) -> None:
        """The later one counts. The same hub that dials again is not told that it is fenced."""
        before, self.hub = self.hub, None
        if before is not None and before is not conversation:
            assert before.epoch is not None and conversation.epoch is not None
            if before.epoch < conversation.epoch:
                words = f"a newer hub has taken over this runner (epoch {conversation.epoch}, ours is {before.epoch})"
                before.end(Fenced(conversation.epoch, words))
            else:
                before.end()
        self.hub = conversation
        self._keeper.listener = conversation

    async def reexec(self, conversation: Conversation, frame: Reexec) -> None:
        del conversation
        await self._reexec(frame.ask)

    async def count_now_and_then(self) -> None:
        """The accounts, told without being asked."""
        while True:
            await asyncio.sleep(COUNT_EVERY)
            if self._keeper.anyone_alive:
                accounts = await self._keeper.accounts()
                if self.hub is not None:
                    self.hub.tell(Accounts(0, accounts))

    def end_all(self) -> None:
        for conversation in [*self._strangers, *filter(None, [self.hub])]:
            conversation.end()

    def complain(self, words: str) -> None:
        log.warning(words)

    def _known(self, conversation: Conversation) -> None:
        timer = self._strangers.pop(conversation, None)
        if timer is not None:
            timer.cancel()
