"""One turn from init to result. Refuses to decide what is said: the scenario does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import endings, failures, greeting, plans, results, slash, stops, structured
from .actor import Actor
from .background import Task
from .calls import Call
from .endings import StopTurn
from .lines import INTERRUPTED, INTERRUPTED_TOOL
from .prompts import Prompt
from .reply import Message, Spoken
from .results import Ending, Tally
from .scenario import Step
from .script import take_reply
from .session import Json, Usage
from .tools import Tools

if TYPE_CHECKING:
    from .program import Program


class Turn:
    """A turn of the main thread."""

    def __init__(self, program: Program, prompts: list[Prompt], steps: Iterable[Step]) -> None:
        self.program, self.prompts = program, prompts
        self.session, self.lines, self.traits = program.session, program.lines, program.traits
        self.tools = Tools(self)
        self.tally = Tally(prompt_uuids=[prompt.uuid for prompt in prompts if prompt.uuid])
        self.tally.began_with_uuid = bool(self.tally.prompt_uuids)
        self.actor = Actor(self, steps)
        self.model = self.session.model
        self.in_tools = self.interrupted = self.interruption_said = False
        self.prompt_id = self.session.new_id()
        self.facts: dict[str, str] = {"prompt": "\n".join(prompt.text for prompt in prompts)}
        self.structured: Json | None = None
        self.foreground: set[str | None] = {None}
        self._folded: list[Prompt] = []
        self._tools_used: list[str] = []
        self._reminders = self._bad_outputs = self._calls = self._continued = 0
        self._marked_message: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        self._task = asyncio.current_task()
        try:
            if slash.is_local(self, self.prompts[0]):
                await slash.run(self, self.prompts[0])
                self._told_all()
                return
            await self._begin()
            await self.converse(self.actor)
            await self._stop_hooks()
            told = self.traits.rich_results or self.traits.on_the_way
            ending = Ending(text=self.actor.text, stop_reason=self.actor.stop_reason if told else None)
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
        self.program.questions.withdraw_asked_by(self.foreground)
        if self._task is not None:
            self._task.cancel()

    async def _begin(self) -> None:
        if self.session.mode == "plan":
            plans.plan_file(self.session, self.facts["prompt"])
        if self.prompts[0].steps is None:
            await self.program.hooks.call("UserPromptSubmit", {"prompt": self.facts["prompt"]}, prompt_id=self.prompt_id)
        self.say_init()
        self._check_budget(None)
        if self.program.broken_by_assistant or self.program.interrupt_next:
            self.program.broken_by_assistant = self.program.interrupt_next = False
            self.say_user(self.lines.interruption(INTERRUPTED))
            raise StopTurn(endings.aborted(self.traits, "aborted_streaming", None))
        await self.program.pause(0)

    def say_init(self) -> None:
        self.program.tell_remote()
        uuids = self.tally.prompt_uuids if self.traits.lifecycle else []
        self.say(greeting.init(self.lines, self.program.tool_names(), self.program.mcp.for_init(), uuids))

    def replay(self, prompts: list[Prompt]) -> None:
        if self.program.flags.replay:
            for prompt in prompts:
                self.say(self.lines.replay(prompt.content, prompt.uuid))

    async def converse(self, actor: Actor) -> None:
        """Model call, tools, model call … until a reply without tools."""
        while True:
            spoken = await self._call_model(actor)
            actor.text, actor.stop_reason = spoken.text or actor.text, spoken.stop_reason
            if actor.task is None:
                self._check_budget(spoken.stop_reason)
            if not spoken.calls:
                if self._goes_on(actor, spoken.stop_reason) or self._wants_reminder(actor):
                    continue
                return
            if await self._run_tools(actor, spoken):
                return

    async def _run_tools(self, actor: Actor, spoken: Spoken) -> bool:
        """True when the conversation is over."""
        main = actor.task is None
        self.in_tools = main or self.in_tools
        self._tools_used = [call.id for call in spoken.calls] if main else self._tools_used
        if await self.tools.run_all(actor, spoken.calls, spoken.finish) and main:
            self._stop_in_tools()
        if not main:
            return False
        self.in_tools = False
        if self.structured is not None and self.traits.schema_ends_turn:
            return True
        self._check_turns(spoken.stop_reason)
        if self.program.prompts.presses():
            raise StopTurn(endings.pushed_aside())
        self._fold()
        return False

    async def _call_model(self, actor: Actor) -> Spoken:
        if self.program.flags.partial and self.traits.requesting and actor.task is None:
            self.say(self.lines.status("requesting"))
        if self.traits.model_mid_turn:
            self.model = self.session.model
        plans.expand(actor.todo, self.session)
        steps = take_reply(actor.todo, self.program.scenario.closing)
        if actor.task is None and self._calls == 0:
            steps = self._replay_late(steps)
        self._calls += actor.task is None
        usage = _usage_of(steps)
        self.tally.first_call = self.tally.first_call or usage
        spoken = await Message(actor, usage).speak([step for step in steps if step.kind != "usage"])
        if not spoken.failed:
            self.pay(self.model, usage, main=actor.task is None)
        return spoken

    def _replay_late(self, steps: list[Step]) -> list[Step]:
        """The echo of a prompt comes when the model begins to answer, not with init (measured, all versions)."""
        place = next((n for n, step in enumerate(steps) if step.kind not in ("wait", "usage", "compact")), 0)
        return [*steps[:place], Step("echo", None), *steps[place:]]

    def echo_prompts(self) -> None:
        if not self.traits.merges_prompts or len(self.prompts) == 1:
            self.replay(self.prompts)
        elif self.program.flags.replay:
            last = self.prompts[-1]
            self.say(self.lines.replay("\n".join(prompt.text for prompt in self.prompts), last.uuid))

    def pay(self, model: str, usage: Usage, main: bool = True) -> None:
        self.tally.calls += 1
        self.session.purse.pay(model, usage)
        self.tally.since_last.setdefault(model, Usage()).add(usage)
        if main:
            self.tally.usage.add(usage)

    def _fold(self) -> None:
        """Prompts that came while a tool ran become part of this turn (measured, all versions)."""
        folded = self.program.prompts.fold()
        self.replay(folded)
        for prompt in folded:
            self.program.keep_prompt(prompt)
            self.program.prompts.tell(prompt, "started")
            if prompt.uuid:
                self.tally.prompt_uuids.append(prompt.uuid)
        self._folded += folded

    def _check_turns(self, stop_reason: str) -> None:
        limit = self.program.flags.max_turns
        if limit is not None and self._calls >= limit:
            raise StopTurn(endings.out_of_turns(self.traits, limit, stop_reason))

    def _check_budget(self, stop_reason: str | None) -> None:
        limit = self.program.flags.max_budget
        if limit is not None and self.session.purse.total >= limit:
            self.tally.rounds = 0
            raise StopTurn(endings.out_of_money(self.traits, limit, stop_reason))

    def _goes_on(self, actor: Actor, stop_reason: str) -> bool:
        """A reply that was cut, or refused by the vendor's safeguards: continue as the version does, or fail."""
        if stop_reason not in ("max_tokens", "refusal") or actor.task is not None:
            return False
        self._continued += 1
        ending = stops.go_on(self, stop_reason, self._continued)
        if ending is not None:
            raise StopTurn(ending)
        return True

    def _wants_reminder(self, actor: Actor) -> bool:
        """Structured output was asked for and not given: remind the model as often as the version does."""
        if actor.task is not None or self.program.schema is None or self.structured is not None:
            return False
        if 0 <= self.traits.reminds_schema <= self._reminders:
            return False
        self._reminders += 1
        self.say_user(self.lines.user([{"type": "text", "text": structured.REMINDER}], isSynthetic=True))
        return True

    def bad_output(self, words: str) -> None:
        """A structured output that does not fit; too many of them end the turn."""
        self._bad_outputs += 1
        self.facts["complaint"] = words

    def check_outputs(self) -> None:
        if self._bad_outputs >= structured.RETRIES:
            raise StopTurn(endings.without_output(self.traits, self.facts["complaint"]))

    async def fail(self, actor: Actor, step: Step) -> None:
        """A model call fails; returns when a retry got through. A sub-agent's failure is its report."""
        ending = await failures.fail(self, step, told=actor.task is None)
        if ending is not None:
            raise StopTurn(ending)

    def tell_rate_limit(self, limit: Json) -> None:
        """2.1.37 never tells of limits."""
        if self.traits.rate_limit_lines:
            self.say(
                {
                    "type": "rate_limit_event",
                    "rate_limit_info": dict(limit),
                    "uuid": self.session.new_id(),
                    "session_id": self.session.id,
                }
            )

    async def _stop_hooks(self) -> None:
        fields: Json = {"stop_hook_active": False}
        if self.traits.version != "2.1.37":
            fields["last_assistant_message"] = self.actor.text.strip()
        if self.traits.rich_results:
            fields |= {"background_tasks": [], "session_crons": []}
        await self.program.hooks.call("Stop", fields, prompt_id=self.prompt_id)

    def _stop_in_tools(self) -> None:
        self.say_user(self.lines.interruption(INTERRUPTED_TOOL))
        raise StopTurn(endings.aborted(self.traits, "aborted_tools", "tool_use"))

    def _after_interrupt(self) -> Ending:
        if not self.interruption_said:
            self.say_user(self.lines.interruption(INTERRUPTED_TOOL if self.in_tools else INTERRUPTED))
        if self.in_tools:
            return endings.aborted(self.traits, "aborted_tools", "tool_use")
        last = self.actor.stop_reason if self._calls > 1 else None
        return endings.aborted(self.traits, "aborted_streaming", last)

    def _end(self, ending: Ending) -> None:
        self.tally.rounds += 1
        if self._held_back(ending):
            return
        origin = self.prompts[0].origin
        more: Json = {"origin": origin} if origin and self.traits.rich_results else {}
        more |= {"structured_output": self.structured} if self.structured is not None else {}
        for prompt in self._folded:
            self.program.prompts.tell(prompt, "completed")
        self.program.last_failed = ending.is_error
        self.program.last_interrupted = ending.subtype == "error_during_execution"
        if self._tools_used and os.environ.get("CLAUDE_CODE_EMIT_TOOL_USE_SUMMARIES") == "1":
            summary = {
                "type": "tool_use_summary",
                "summary": self.program.script.side_answer(),
                "preceding_tool_use_ids": self._tools_used,
            }
            self.say(summary | {"session_id": self.session.id, "uuid": self.session.new_id()})
        self.say(results.result(self.lines, self.tally, ending, **more))
        self._told_all()

    def _held_back(self, ending: Ending) -> bool:
        """2.1.62 gives no result while a background agent works: the turn that its end starts gives it."""
        return self.traits.task_lines == "some" and ending.subtype == "success" and self.program.tasks.agents_alive()

    def _told_all(self) -> None:
        for prompt in self.prompts:
            self.program.prompts.tell(prompt, "completed")

    def agent_actor(self, call: Call, task: Task) -> Actor:
        if not task.background:
            self.foreground.add(task.id)
        return Actor(self, call.step.get("agent", ()), call.id, task)

    def count_agent(self, kind: str, asked: object, background: bool) -> None:
        stats = self.session.agents
        wish = "unset" if asked is None else "background" if asked else "foreground"
        stats["spawned"] += 1
        stats["requested"][wish] += 1
        stats["started_in_background"] += background
        stats["max_depth"] = 1
        stats["by_type"][kind] = stats["by_type"].get(kind, 0) + 1

    def prompt_marks(self, message_id: str) -> Json:
        """Which prompts the turn answers; told on one message a turn (measured 2.1.326)."""
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
        """A text with {prompt}, {answer}, {verdict}, {reason}, {cwd} … filled in; other braces stay."""
        if not isinstance(value, str):
            return value
        if "{plan_file}" in value:
            value = value.replace("{plan_file}", plans.plan_file(self.session, self.facts["prompt"]))
        known = {
            "cwd": self.session.cwd,
            "mode": self.session.mode,
            "prompts": str(self.program.transcript.prompts()),
            **self.facts,
        }
        for name, fact in known.items():
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
