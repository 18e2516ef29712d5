"""One prompt driven to its end: a Client, its messages, its questions. Refuses to end before the work it set off has ended.

Questions come out of the same stream as all else: a card stands behind what came before it, and nothing is drawn over it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..client.client import Client
from ..client.options import ClientOptions
from ..client.question import Question
from ..protocol.answers import Answer
from ..protocol.control import CanUseTool, ControlRequest
from ..protocol.lazy import LazyMessage
from ..protocol.messages import Message, Result
from ..protocol.versions import Version
from .asked import Asked
from .hand import Decision
from .interrupts import Interrupts
from .plans import fresh_prompt
from .screen import Screen
from .story import Story
from .work import Work

TURN_DUE = 10.0
"""Seconds to wait for the turn that follows the end of a background task (measured 2.1.326: 0.05–0.13 s; 2.1.62: at once)."""


class Answers(Protocol):
    """Who answers questions here."""

    async def decide(self, question: Question, waiting: int = 0) -> Decision | None:
        """None leaves it open."""


class NobodyAnswers(Exception):
    """A question is open and nobody may answer it here."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.request_id)
        self.question = question


@dataclass
class Log:
    """What a run leaves behind, for the closing line and the JSON object."""

    result: Result | None = None
    cost_usd: float = 0.0
    session_id: str | None = None
    model: str | None = None
    mode: str | None = None
    version: str | None = None
    stopped: bool = False
    """The person ended it under a question."""
    questions: list[dict[str, Any]] = field(default_factory=list)


def turn_cost(result: Result) -> float:
    """What this turn cost. A resumed 2.1.326 reports the session's total, which nobody here knows; it says the difference too."""
    since = result.fields().get("model_usage_since_last_result")
    parts = [one.get("costUSD") for one in since.values() if isinstance(one, dict)] if isinstance(since, dict) else []
    costs = [cost for cost in parts if isinstance(cost, int | float)]
    return float(sum(costs)) if costs else result.cost_usd


class Drive:
    def __init__(
        self, asked: Asked, screen: Screen, story: Story, work: Work, answers: Answers, interrupts: Interrupts,
        on_line: Callable[[Message | LazyMessage], None] | None = None,
    ) -> None:  # fmt: skip
        self.asked, self.screen, self.story, self.work = asked, screen, story, work
        self.answers, self.interrupts, self._on_line = answers, interrupts, on_line
        self.log = Log()
        self._client: Client | None = None
        self._open: dict[str, asyncio.Future[Answer]] = {}
        self._fresh: str | None = None
        self._prompt = ""
        self._answered = False
        self.asking = False
        """A card is on the screen."""

    @property
    def version(self) -> Version | None:
        """The version of the CLI that runs."""
        return self._client.version if self._client is not None else None

    async def run(self) -> None:
        """To the end; raises what the Client raises, or ``NobodyAnswers``. ``log`` is filled in any case."""
        prompt = self.asked.prompt
        options = self.asked.options(self._asked_by_cli, on_message=self._on_line, on_error=self._not_answered)
        while True:
            await self._process(options, prompt)
            if self._fresh is None:
                return
            prompt, self._fresh = fresh_prompt(self._fresh), None
            self._begin_again()
            options = replace(options, resume=None, continue_last=False, fork=False, permission_mode="acceptEdits")
            self.screen.say("  Fresh conversation from here, with the plan. Earlier text is not known to Claude any more.")

    def _begin_again(self) -> None:
        self.log.result, self._answered = None, False
        self.work.running, self.work.turn_due = False, False
        self.work.background.clear()
        self.story.begin_again()

    async def _process(self, options: ClientOptions, prompt: str) -> None:
        client = self._client = Client(options)
        try:
            await client.connect()
            if client.road.startswith("stdio:"):
                self.screen.talk(f"  {client.road}")
            self._prompt = client.prompt(prompt)
            self.interrupts.client = client
            await self._read(client)
        finally:
            self.interrupts.client = None
            self._note(client)
            await client.close(on_rung=self._rung)

    async def _read(self, client: Client) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as patience, aclosing(client.receive()) as messages:
                async for message in messages:
                    await self._take(message)
                    if self._ended():
                        return
                    patience.reschedule(loop.time() + TURN_DUE if self.work.turn_due else None)
        except TimeoutError:
            if self.log.result is None:
                raise

    async def _take(self, message: Message | LazyMessage) -> None:
        self.work.heed(message)
        self.story.tell(message)
        if isinstance(message, Result):
            self.log.result = message
            self.log.cost_usd += turn_cost(message)
            self._answered = self._answered or self._is_ours(message)
            if self._answered and not self.work.over and not message.failed:
                self.screen.talk(self.screen.paint("dim", f"  waiting for background work: {self._background()} (^C ends it)"))
                self.interrupts.client = None
        elif isinstance(message, ControlRequest) and isinstance(message.request, CanUseTool):
            await self._question(Question(message))

    def _is_ours(self, result: Result) -> bool:
        """It answers our prompt, or nobody's because the session could not even begin. A resumed session may have others due."""
        return self._prompt in result.prompts or (result.origin is None and not result.prompts)

    def _ended(self) -> bool:
        result = self.log.result
        if result is None or not self._answered:
            return False
        return self.work.over or result.failed or self._fresh is not None

    def _background(self) -> str:
        return ", ".join(self.screen.harmless(what or "a task") for what in self.work.background.values()) or "a queued turn"

    # -- questions

    def _asked_by_cli(self, question: Question) -> Awaitable[Answer]:
        """The Client's side: waits for what ``_question`` finds out; cancelled when the CLI withdraws.

        Not a coroutine: the entry must be there when the message of the question comes out of the stream.
        """
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.request_id] = waiting
        waiting.add_done_callback(lambda _: self._open.pop(question.request_id, None))
        return waiting

    async def _question(self, question: Question) -> None:
        waiting = self._open.get(question.request_id)
        if waiting is None or waiting.done():
            return  # withdrawn before it could be drawn
        behind = sum(not other.done() for other in self._open.values()) - 1
        deciding = asyncio.get_running_loop().create_task(self.answers.decide(question, behind))
        waiting.add_done_callback(lambda _: deciding.cancel())
        self.asking = True
        try:
            decision = await deciding
        except asyncio.CancelledError:
            if not waiting.cancelled():
                raise
            self.screen.say("\n  Claude no longer asks this.")
            self._record(question, "withdrawn")
            return
        finally:
            self.asking = False
            deciding.cancel()
        if decision is not None:
            self._decided(question, decision, waiting)

    def _decided(self, question: Question, decision: Decision, waiting: asyncio.Future[Answer]) -> None:
        self._record(question, decision.because)
        self.story.answered(question.asked.tool_use_id, decision.because)
        self._fresh = decision.fresh or self._fresh
        self.log.stopped = self.log.stopped or decision.stops
        if not waiting.done():
            waiting.set_result(decision.answer)

    def _record(self, question: Question, because: str) -> None:
        told = {"id": question.request_id, "tool": question.tool_name, "input": question.input, "because": because}
        self.log.questions.append(dict(told))

    def _not_answered(self, error: Exception) -> None:
        self.screen.say(f"  that could not be answered so, and the tool was refused: {self.screen.harmless(str(error))}")

    # -- what is left behind

    def _note(self, client: Client) -> None:
        self.log.session_id = client.session_id or self.log.session_id
        self.log.model, self.log.mode = client.model or self.log.model, client.mode or self.log.mode
        self.log.version = ".".join(map(str, client.version)) if client.version else self.log.version

    def _rung(self, rung: str) -> None:
        if self.screen.look.verbose or (self.interrupts.stopping and rung != "input closed"):
            self.screen.say(self.screen.paint("dim", f"  stopping claude: {rung}"))
