"""One turn from init to result. Refuses to decide what is said: the scenario does."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import greeting, results
from .lines import INTERRUPTED, INTERRUPTED_TOOL
from .prompts import Prompt
from .reply import Call, Message, Spoken
from .results import Ending, Tally
from .scenario import Step
from .script import take_reply
from .session import Json, Usage
from .tools import Tools

if TYPE_CHECKING:
    from .program import Program


class StopTurn(Exception):
    """The turn ends here, in this way."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(ending.subtype)
        self.ending = ending


class Actor:
    """Who speaks: the main thread, or a sub-agent (then with the id of the call that started it)."""

    def __init__(self, turn: Turn, steps: Iterable[Step], parent: str | None = None, agent_id: str | None = None) -> None:
        self.turn, self.parent, self.agent_id = turn, parent, agent_id
        self.todo: deque[Step] = deque(steps)
        self.text = ""

    def replace_todo(self, steps: Iterable[Step]) -> None:
        self.todo = deque(steps)

    def marks(self, message_id: str) -> Json:
        """Which prompts a message answers; told once a turn (measured 2.1.326)."""
        return self.turn.prompt_marks(message_id) if self.parent is None else {}


class Turn:
    """A turn of the main thread."""

    def __init__(self, program: Program, prompts: list[Prompt], steps: Iterable[Step]) -> None:
        self.program, self.prompts = program, prompts
        self.session, self.lines, self.traits = program.session, program.lines, program.traits
        self.tools = Tools(self)
        self.tally = Tally(prompt_uuids=[prompt.uuid for prompt in prompts if prompt.uuid])
        self.actor = Actor(self, steps)
        self.in_tools = self.interrupted = self.interruption_said = False
        self.facts: dict[str, str] = {"prompt": "\n".join(prompt.text for prompt in prompts)}
        self._marked_message: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        self._task = asyncio.current_task()
        try:
            await self._begin()
            await self.converse(self.actor)
            ending = Ending(text=self.actor.text, stop_reason="end_turn" if self.traits.rich_results else None)
        except StopTurn as stop:
            ending = stop.ending
        except asyncio.CancelledError:
            if not self.interrupted:
                raise
            ending = self._after_interrupt()
        self._end(ending)

    def interrupt(self) -> None:
        """Withdraw what is asked, then break off; the caller answers in between."""
        self.interrupted = True
        self.program.questions.withdraw_asked_by({None})
        if self._task is not None:
            self._task.cancel()

    async def _begin(self) -> None:
        uuids = self.tally.prompt_uuids if self.traits.lifecycle else []
        self.say(greeting.init(self.lines, self.program.tool_names(), self.program.mcp_servers(), uuids))
        await self.program.pause(0)
        self.replay(self.prompts)

    def replay(self, prompts: list[Prompt]) -> None:
        if self.program.flags.replay:
            for prompt in prompts:
                self.say(self.lines.replay(prompt.content, prompt.uuid))

    async def converse(self, actor: Actor) -> None:
        """Model call, tools, model call … until a reply without tools."""
        while True:
            spoken = await self._call_model(actor)
            actor.text = spoken.text or actor.text
            if not spoken.calls:
                return
            self.in_tools = True
            if await self.tools.run_all(actor, spoken.calls, spoken.finish):
                self._stop_in_tools()
            self.in_tools = False
            self._fold(actor)

    async def _call_model(self, actor: Actor) -> Spoken:
        if self.program.flags.partial and self.traits.requesting and actor.parent is None:
            self.say(self.lines.status("requesting"))
        steps = take_reply(actor.todo, self.program.scenario.closing)
        usage = _usage_of(steps)
        if self.tally.first_call is None:
            self.tally.first_call = usage
        message = Message(actor, usage)
        spoken = await message.speak([step for step in steps if step.kind != "usage"])
        self.pay(self.session.model, usage, main=actor.parent is None)
        return spoken

    def pay(self, model: str, usage: Usage, main: bool = True) -> None:
        self.tally.calls += 1
        self.session.purse.pay(model, usage)
        self.tally.since_last.setdefault(model, Usage()).add(usage)
        if main:
            self.tally.usage.add(usage)

    def _fold(self, actor: Actor) -> None:
        """Prompts that came while a tool ran become part of this turn (measured, all versions)."""
        if actor.parent is not None:
            return
        folded = self.program.prompts.fold()
        self.replay(folded)
        for prompt in folded:
            self.program.prompts.tell(prompt, "started")
            if prompt.uuid:
                self.tally.prompt_uuids.append(prompt.uuid)
        self.prompts += folded

    def _stop_in_tools(self) -> None:
        self.say_user(self.lines.interruption(INTERRUPTED_TOOL))
        raise StopTurn(self._aborted("aborted_tools", "tool_use"))

    def _after_interrupt(self) -> Ending:
        if not self.interruption_said:
            self.say_user(self.lines.interruption(INTERRUPTED_TOOL if self.in_tools else INTERRUPTED))
        return self._aborted("aborted_tools", "tool_use") if self.in_tools else self._aborted("aborted_streaming", None)

    def _aborted(self, reason: str, stop_reason: str | None) -> Ending:
        words = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop_reason or 'null'}"
        rich = self.traits.rich_results
        return Ending(
            "error_during_execution", self.traits.interrupted_is_error, reason=reason, stop_reason=stop_reason if rich else None,
            errors=[words] if rich else [], counts_usage=False,
        )  # fmt: skip

    def _end(self, ending: Ending) -> None:
        self.tally.rounds += 1
        line = results.result(self.lines, self.tally, ending)
        self.program.last_failed = ending.is_error
        self.say(line)
        for prompt in self.prompts:
            self.program.prompts.tell(prompt, "completed")

    def prompt_marks(self, message_id: str) -> Json:
        uuids = self.tally.prompt_uuids
        if not self.traits.lifecycle or not uuids or self._marked_message not in (None, message_id):
            return {}
        self._marked_message = message_id
        return {"user_message_uuid": uuids[-1], "user_message_uuids": list(uuids)}

    def say(self, line: Json) -> None:
        self.program.say(line)

    def say_user(self, line: Json, counts: bool = True) -> None:
        self.tally.rounds += counts
        self.program.say(line)

    def denied(self, call: Call) -> None:
        self.tally.denials.append({"tool_name": call.name, "tool_use_id": call.id, "tool_input": call.given})

    def remember_verdict(self, call: Call, allowed: bool, words: str) -> None:
        """What later texts may quote: {verdict}, {reason}, {answer}."""
        self.facts |= {"verdict": "allowed" if allowed else "denied", "reason": words}
        answers = call.given.get("answers")
        if isinstance(answers, dict):
            self.facts["answer"] = ", ".join(str(answer) for answer in answers.values())

    def filled(self, value: Any) -> Any:
        """A text with {prompt}, {answer}, {verdict}, {reason}, {cwd} filled in; other braces stay."""
        if not isinstance(value, str):
            return value
        for name, fact in {"cwd": self.session.cwd, "mode": self.session.mode, **self.facts}.items():
            value = value.replace("{" + name + "}", fact)
        return value


def _usage_of(steps: Iterable[Step]) -> Usage:
    usage = Usage(tokens_in=100, tokens_out=20)
    for step in steps:
        if step.kind == "usage":
            table = step.value
            usage = Usage(
                int(table.get("input", 100)), int(table.get("output", 20)), int(table.get("cache_read", 0)),
                int(table.get("cache_write", 0)), int(table.get("thinking", 0)),
            )  # fmt: skip
    return usage
