"""``ropewalk run`` and ``prompt --wait`` through the hub: from a prompt to an exit code. Refuses to stop what goes on without it.

Leaving (a closed terminal, TERM, a reader that has gone) leaves the session to the hub; only ^C twice stops it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from ...client.remote import Remote
from ...errors import HubError, RopewalkError
from ...events.views import PromptView, SessionView
from ...sessions.figures import seconds
from ..codes import INTERRUPTED, READER_GONE, TIMED_OUT, UNANSWERED, Complaint, complaint_of
from ..interrupts import Interrupts
from ..keys import Keyboard, PersonGone
from ..report import Ending
from ..run import TICK, complain
from ..screen import Screen
from ..story import Telling
from .answers import Absent, AtDesk, NobodyHere
from .drive import Relay
from .link import Link
from .report import as_object, closing, ending_of
from .stopping import stop_shown
from .story import EventStory
from .wire import Verbatim

QUICK = 5.0
"""Seconds between the rungs of a stop that somebody waits for at a terminal."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a prompt is followed."""

    words: str
    output: str = "text"
    timeout: float | None = None
    on_question: str = "wait"
    thinking: bool = False


def behind_question(session: SessionView, prompt: PromptView) -> bool:
    """Somebody has to answer before it is its turn."""
    return prompt.state == "queued" and session.status == "waiting"


class HubRun:
    """One prompt, from the moment that the hub has it."""

    def __init__(
        self, remote: Remote, session: SessionView, shown: str, wanted: Wanted, screen: Screen, keyboard: Keyboard | None
    ) -> None:
        self.remote, self.session, self.shown, self.wanted, self.screen = remote, session, shown, wanted, screen
        self.link = Link(screen, time.monotonic)
        remote.on_link = self.link.told
        telling = Telling(wanted.words, session.cwd, "", wanted.thinking, speaks=wanted.output == "text")
        self.story = EventStory(screen, session, shown, telling, time.monotonic)
        self.interrupts = Interrupts(screen, keyboard, time.monotonic)
        answers = (
            AtDesk(remote, screen, keyboard, session.cli_version)
            if keyboard is not None
            else Absent(wanted.on_question, screen, session.cwd, shown)
        )
        self.relay = Relay(remote, session, screen, self.story, answers, self.interrupts)

    async def go(self, prompt: str | None, after: int, *, behind: bool = False) -> int:
        """Everything, to the exit code. ``behind``: the turn before it asks something."""
        began = time.monotonic()
        async with self.interrupts:
            self.relay.expect(prompt)
            if behind:
                self.screen.say(f"  it waits behind a question of the turn before it: ropewalk answer {self.shown}")
            ending = await self._ending(prompt, after)
        if ending.code == READER_GONE:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        else:
            self._close(ending, time.monotonic() - began)
        return ending.code

    async def _ending(self, prompt: str | None, after: int) -> Ending:
        try:
            async with asyncio.timeout(self.wanted.timeout), self._ticking():
                if self.wanted.output == "stream-json":
                    async with Verbatim(self.remote, self.session.id, self.screen, after) as wire:
                        self.relay.on_event = wire.heard
                        await self.relay.run(prompt, after)
                else:
                    await self.relay.run(prompt, after)
        except asyncio.CancelledError:
            if not self.interrupts.stopping:
                raise
            return await self._stopped()
        except TimeoutError:
            return await self._timed_out()
        except NobodyHere as nobody:
            return self._unanswered(nobody)
        except PersonGone:
            words = f"the terminal was closed while a question was open. It stays open: ropewalk answer {self.shown}"
            return Ending(UNANSWERED, Complaint(UNANSWERED, words))
        except BrokenPipeError:
            return Ending(READER_GONE)
        except RopewalkError as error:
            complaint = complaint_of(error)
            return Ending(complaint.code, complaint)
        return await ending_of(self.relay, self.shown)

    async def _stopped(self) -> Ending:
        """Twice ^C stops the process, rung by rung; a farewell leaves it to the hub."""
        if self.interrupts.signal is not None:
            self.screen.say(f"  the session goes on in the hub: ropewalk logs -f {self.shown}")
            return Ending(128 + self.interrupts.signal)
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        if self.relay.log.result is None:
            try:
                await stop_shown(self.remote, self.session.id, self.screen, QUICK)
            except HubError as error:
                self.screen.say(f"  it was not stopped: {self.screen.harmless(str(error))}")
        return Ending(INTERRUPTED)

    async def _timed_out(self) -> Ending:
        done = "The hub has it still"
        with suppress(HubError):
            done = await self.relay.interrupt()
        limit = seconds(self.wanted.timeout or 0)
        words = f"timed out after {limit} (--timeout). {done}; go on with: ropewalk prompt {self.shown} …"
        return Ending(TIMED_OUT, Complaint(TIMED_OUT, words))

    def _unanswered(self, nobody: NobodyHere) -> Ending:
        words = (
            f"a question is open and nobody may answer it here: {nobody.view.line or nobody.view.tool} "
            f"(question {nobody.view.id}). It stays open: ropewalk answer {self.shown}"
        )
        return Ending(UNANSWERED, Complaint(UNANSWERED, words))

    def _close(self, ending: Ending, spent: float) -> None:
        log = self.relay.log
        if self.wanted.output == "text":
            self.screen.end_answer()
            if log.result is not None and not log.result.failed and not self.relay.deeds.answer:
                self.screen.answer(log.result.text)
                self.screen.end_answer()
        closing(self.screen, self.relay, self.shown, ending, spent)
        if ending.complaint is not None:
            complain(self.screen, ending.complaint)
        if self.wanted.output == "json":
            self.screen.object(as_object(self.relay, ending, spent))

    @asynccontextmanager
    async def _ticking(self) -> AsyncIterator[None]:
        """Redraws the line that passes; ends with what it surrounds."""

        async def tick() -> None:
            while True:
                if not self.relay.asking and not self.link.tick():
                    self.story.tick()
                await asyncio.sleep(TICK)

        ticking = asyncio.get_running_loop().create_task(tick())
        try:
            yield
        finally:
            ticking.cancel()
            with suppress(asyncio.CancelledError):
                await ticking
