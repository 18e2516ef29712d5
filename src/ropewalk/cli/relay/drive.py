"""One prompt of a session of the hub, followed to its end, with its questions. Refuses to end before what it set off has ended.

Events go on being heard while a card is open, and are drawn afterwards: nothing is drawn over it, and it goes when somebody else
answers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from ...client.remote import Remote, ends
from ...errors import AlreadyAnswered, Conflict, HubError, UsageError
from ...events import events as e
from ...events.views import QuestionView, SessionView
from ..hand import Decision
from ..interrupts import Interrupts
from ..screen import Screen
from .deeds import Deeds
from .question import answer_of, closed_words
from .story import EventStory

OVER = ("failed", "stopped")
"""Statuses after which nothing comes by itself."""
OF_TURN = (
    e.Text, e.TextDelta, e.Thinking, e.ThinkingDelta, e.ToolStarted, e.ToolFinished, e.ToolProgressed, e.TurnStarted, e.TurnEnded,
    e.QuestionClosed,
)  # fmt: skip
"""What a turn says and does: drawn only of the one that took the prompt."""


AGAIN = ("not_as_shown", "once_only")
"""Refusals after which the person looks at the card again, and chooses anew."""


class Answers(Protocol):
    """Who answers questions here."""

    async def decide(self, view: QuestionView, waiting: int, ours: bool) -> Decision | None:
        """None leaves it open. ``ours``: it is asked by the turn that took our prompt, not by one before it."""


@dataclass
class Log:
    """What a run leaves behind, for the closing line and the JSON object."""

    result: e.TurnEnded | None = None
    refused: e.PromptFailed | e.PromptLost | e.PromptWithdrawn | None = None
    status: e.StatusChanged | None = None
    """It failed, or was stopped, before the turn had ended."""
    stopped: bool = False
    """The person ended it under a question."""
    questions: list[dict[str, Any]] = field(default_factory=list)


class Relay:
    def __init__(
        self, remote: Remote, session: SessionView, screen: Screen, story: EventStory, answers: Answers, interrupts: Interrupts
    ) -> None:
        self.remote, self.session, self.screen, self.story = remote, session, screen, story
        self.answers, self.interrupts = answers, interrupts
        self.deeds, self.log = Deeds(), Log()
        self.on_event: Callable[[e.Event], Awaitable[None]] | None = None
        self.asking = False
        """A card is on the screen."""
        self._prompt: str | None = None
        self._ours, self._sent = True, False
        self._heard: asyncio.Queue[e.Event | BaseException] = asyncio.Queue()
        self._held: deque[e.Event] = deque()
        self._open: dict[str, QuestionView] = {}
        self._views: dict[str, QuestionView] = {}
        self._fresh = False

    async def interrupt(self) -> str:
        """What a first ^C asks for, and the end of patience; in words. A turn that is not ours is left alone."""
        if not self._ours and self._prompt is not None:
            self.log.stopped = True  # said first: the event of it may be here before the answer is
            try:
                await self.remote.withdraw(self.session.id, self._prompt)
                return "The prompt had not been taken yet and was withdrawn"
            except HubError:  # too late for that: it is on its way to the CLI
                self.log.stopped = False
        await self.remote.interrupt(self.session.id)
        return "The turn was interrupted"

    def expect(self, prompt: str | None) -> None:
        """From here on ^C is about this prompt."""
        self._prompt, self._ours = prompt, prompt is None
        self.interrupts.client = self

    async def run(self, prompt: str | None, after: int) -> None:
        """To the end of the turn that takes the prompt; None: the first one that is queued after ``after``. ``log`` is filled."""
        self.expect(prompt)
        pump = asyncio.get_running_loop().create_task(self._pump(after))
        try:
            await self._read()
        finally:
            self.interrupts.client = None
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump

    # -- hearing

    async def _pump(self, after: int) -> None:
        try:
            async with aclosing(self.remote.attach(self.session.id, after, live=True)) as events:
                async for event in events:
                    self._note(event)
                    self._heard.put_nowait(event)
        except (HubError, OSError) as error:
            self._heard.put_nowait(error)

    def _note(self, event: e.Event) -> None:
        if isinstance(event, e.QuestionOpened):
            self._open[event.question] = self._views[event.question] = msgspec.convert(event.asked, QuestionView)
        elif isinstance(event, e.QuestionClosed):
            self._open.pop(event.question, None)

    async def _next(self) -> e.Event:
        heard = self._held.popleft() if self._held else await self._heard.get()
        if isinstance(heard, BaseException):
            raise heard
        return heard

    async def _read(self) -> None:
        while not self._ended():
            try:
                async with asyncio.timeout(self.deeds.turn_due or None):
                    event = await self._next()
            except TimeoutError:
                if self.log.result is None:
                    raise
                return
            await self._take(event)

    async def _take(self, event: e.Event) -> None:
        if isinstance(event, e.PromptQueued) and (self._prompt is None or self._fresh):
            self._prompt, self._fresh = event.prompt, False
        self._ours = self._ours or self._begins(event)
        if self._ours:
            self.deeds.heed(event)
        if self._ours or not isinstance(event, OF_TURN):
            self.story.tell(event)
        if self.on_event is not None:
            await self.on_event(event)
        match event:
            case e.QuestionOpened():
                await self._question(event.question)
            case e.QuestionClosed() if self._ours:
                self._closed(event)
            case e.StatusChanged() if event.status in OVER:
                self.log.status = event
            case e.TurnStarted():
                self.log.status = None
            case _ if self._prompt is not None and ends(event, self._prompt):
                self._done(event)

    def _begins(self, event: e.Event) -> bool:
        """From here on it is the turn that has our prompt: it was taken, or a turn begins after it was handed over."""
        match event:
            case e.PromptSent() if event.prompt == self._prompt:
                self._sent = True
            case e.PromptTaken() if event.prompt == self._prompt:
                return True
            case e.TurnStarted():
                return self._sent
        return self._prompt is not None and ends(event, self._prompt)

    def _done(self, event: e.Event) -> None:
        if isinstance(event, e.TurnEnded):
            self.log.result = None if self._fresh else event
            if not self._fresh and not self.deeds.over and not event.failed:
                names = ", ".join(self.screen.harmless(what or "a task") for what in self.deeds.background.values())
                self.screen.talk(
                    self.screen.paint(
                        "dim", f"  waiting for background work: {names or 'a queued turn'} (^C leaves it to the hub)"
                    )
                )
                self.interrupts.client = None
        elif isinstance(event, e.PromptFailed | e.PromptLost | e.PromptWithdrawn):
            self.log.refused = event

    def _ended(self) -> bool:
        if self.log.refused is not None:
            return True
        if self.log.result is None:
            return self.log.status is not None and not self._fresh
        return self.deeds.over or self.log.result.failed or self.log.status is not None

    # -- questions

    async def _question(self, name: str) -> None:
        """Drawn again as long as what was answered is not what the hub has."""
        while (view := self._open.get(name)) is not None:  # else: closed before it could be drawn
            decision = await self._asked(view, name)
            if decision is None or await self._answer(view, decision):
                return

    async def _asked(self, view: QuestionView, name: str) -> Decision | None:
        loop = asyncio.get_running_loop()
        deciding = loop.create_task(self.answers.decide(view, len(self._open) - 1, self._ours))
        self.asking = True
        try:
            return await self._decided(deciding, name)
        finally:
            self.asking = False
            deciding.cancel()
            with suppress(asyncio.CancelledError):
                await deciding

    async def _decided(self, deciding: asyncio.Task[Decision | None], name: str) -> Decision | None:
        """The decision; None when somebody else was first. Live pieces that come meanwhile are dropped: the block has them."""
        while True:
            hearing = asyncio.get_running_loop().create_task(self._heard.get())
            try:
                await asyncio.wait({deciding, hearing}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not hearing.done():
                    hearing.cancel()
                    with suppress(asyncio.CancelledError):
                        await hearing
            if hearing.done() and not hearing.cancelled():
                heard = hearing.result()
                if isinstance(heard, BaseException):
                    raise heard
                if not isinstance(heard, e.LiveEvent):
                    self._held.append(heard)
            if deciding.done():
                return deciding.result()
            if name not in self._open:
                self.screen.say()
                return None

    async def _answer(self, view: QuestionView, decision: Decision) -> bool:
        """Whether it was taken, or came too late."""
        try:
            answered = await self.remote.answer(view.id, answer_of(view, decision))
        except AlreadyAnswered as late:
            self.screen.say(f"  {self.screen.harmless(str(late))}")
            return True
        except (Conflict, UsageError) as refused:
            if isinstance(refused, Conflict) and refused.code not in AGAIN:
                raise
            self.screen.say(f"  {self.screen.harmless(str(refused))}")
            return False
        self._fresh = self._fresh or decision.way == "fresh"
        self.log.stopped = self.log.stopped or decision.stops
        self._record(view, decision.because)
        self.story.answered(view.tool_use, decision.because, answered.closed_at or view.opened_at)
        return True

    def _closed(self, event: e.QuestionClosed) -> None:
        if any(told["id"] == event.question for told in self.log.questions):
            return
        words = closed_words(event)
        self.screen.say(f"  {self.screen.harmless(words)}")
        if (view := self._views.get(event.question)) is not None:
            self._record(view, words)
            self.story.answered(view.tool_use, words, event.at)

    def _record(self, view: QuestionView, because: str) -> None:
        self.log.questions.append({"id": view.id, "tool": view.tool, "input": view.input, "because": because})
