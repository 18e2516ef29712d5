"""The process as a whole: turns one after the other, and the end. Refuses to know a scenario's content."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

from . import faults, structured
from .background import Task, Tasks
from .checkpoints import Checkpoints
from .control import Control
from .faults import Order
from .flags import Flags
from .hooks import Hooks
from .inbox import Inbox
from .launch import Launch
from .lines import Lines, stamp
from .mcp import Mcp
from .prompts import Prompt, Prompts
from .questions import Questions
from .results import agent_stats
from .scenario import Scenario, Step
from .script import Script
from .session import Json
from .todo_list import TodoList
from .transcript import KEPT, Transcript
from .turn import Turn
from .wire import Wire


class Program:
    """Everything that one process has; `run` is its life."""

    def __init__(self, flags: Flags, scenario: Scenario, started: Launch, wire: Wire, orders: list[Order], speed: float) -> None:
        self.flags, self.scenario, self.session, self.wire = flags, scenario, started.session, wire
        session = started.session
        self.traits = session.traits
        self.default_model = session.model
        self.schema = structured.schema_of(flags.json_schema)
        self.script = Script(scenario)
        self.lines = Lines(session)
        self.transcript = started.transcript
        self.questions = Questions(self.say, session.new_id)
        self.prompts = Prompts(self.lines, self.say, flags.replay)
        self.prompts.seen |= self.transcript.prompt_uuids()
        self.hooks, self.mcp, self.tasks, self.checkpoints = Hooks(self), Mcp(self), Tasks(self), Checkpoints()
        self.control, self.inbox = Control(self), Inbox(self)
        self.turn: Turn | None = None
        self.group = asyncio.TaskGroup()
        session.agents = agent_stats()
        self.prompted = self.stopping = self.last_failed = self.last_interrupted = self.broken_by_assistant = (
            self.interrupt_next
        ) = False
        self._speed, self._orders = speed, orders
        self._remote_told = self._classifier_told = False
        self.todo_list = TodoList()
        self.commands: set[int] = set()

    @property
    def asks(self) -> bool:
        """Do questions go over the wire?"""
        return self.flags.prompt_tool == "stdio"

    @property
    def busy(self) -> bool:
        return self.turn is not None

    async def run(self) -> int:
        """Read, work, and leave when the input has ended and nothing is left to do; returns the exit code."""
        for order in self._orders:
            if order.line is None:
                faults.commit(order.name, order.params, self.wire)
        async with self.group:
            for step in self.scenario.start:
                await self.side_step(step)
            if not any(order.name == "ignore_stdin" for order in self._orders):
                self.inbox.start()
            while await self._has_work():
                await self._take_turn()
            if self.traits.leaves_at_eof and len(self.tasks):
                self._remember_cost()
                os._exit(int(self.last_failed))
            self.tasks.end_all() if self.last_interrupted else self.tasks.stop_all()
            self.control.stop()
        self._remember_cost()
        return 1 if self.last_failed and not self.stopping else 0

    async def _has_work(self) -> bool:
        while not len(self.prompts):
            if self.prompts.closed and not self._waits_for_tasks():
                return False
            await self.prompts.changed()
        return True

    def _waits_for_tasks(self) -> bool:
        """Closing stdin while background work lives: 2.1.37 leaves, the others stay; 2.1.326 not after an interrupt."""
        if self.traits.leaves_at_eof or (self.last_interrupted and self.traits.rich_results):
            return False
        return len(self.tasks) > 0

    async def _take_turn(self) -> None:
        prompts = self.prompts.take()
        for prompt in prompts[:-1]:
            if self.flags.replay:
                self.say(self.lines.replay(prompt.content, prompt.uuid, stamped=False))
        for prompt in prompts:
            self.keep_prompt(prompt)
            self.prompts.tell(prompt, "started")
        await self.control.ready()
        own = prompts[0].steps
        steps = own if own else self.script.steps_for("\n".join(prompt.text for prompt in prompts))
        self.turn = Turn(self, prompts, steps)
        self.state("running")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.turn.run())
        finally:
            self.turn = None
        self.state("idle")

    def keep_prompt(self, prompt: Prompt) -> None:
        """Into the transcript, with the uuid that resume and rewind know it by."""
        entry: Json = {
            "type": "user",
            "message": {"role": "user", "content": prompt.content},
            "uuid": prompt.uuid or self.session.new_id(),
        }
        if prompt.uuid:
            self.checkpoints.prompt(prompt.uuid)
        self.transcript.keep(entry)

    def begin_transcript(self) -> None:
        """After the session's id has changed."""
        self.transcript = Transcript.of(self.session.config_dir, self.session.cwd, self.session.id)

    def _remember_cost(self) -> None:
        if self.transcript.entries:
            self.transcript.keep({"type": "cost", "total_cost_usd": self.session.purse.total})

    def interrupt(self) -> None:
        """Break the running turn off, or the one that is about to begin (measured: both work)."""
        if self.turn is not None:
            self.turn.interrupt()
        else:
            self.interrupt_next = len(self.prompts) > 0

    def end_command(self, pid: int) -> None:
        """End a real command with what it started."""
        if pid in self.commands:
            self.commands.discard(pid)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)

    def leave(self, code: int) -> None:
        """A signal: out at once. Commands that run go on without us, unless the version ends them (measured)."""
        for pid in list(self.commands) if self.traits.ends_commands else []:
            self.end_command(pid)
        os._exit(code)

    def end_input(self) -> None:
        """No more lines count: open questions are refused, what runs may finish."""
        self.questions.close()
        self.prompts.close()

    def stopped_by_signal(self) -> None:
        """SIGINT on 2.1.326: the turn is broken off, its result told, exit 0."""
        self.interrupt()
        self.stopping = True
        self.end_input()

    def scaled(self, seconds: float) -> float:
        return seconds / self._speed if self._speed else 0.0

    async def pause(self, seconds: float) -> None:
        """Wait as long as the scenario says, divided by the speed; always lets other work go on."""
        await asyncio.sleep(self.scaled(seconds))

    async def side_step(self, step: Step) -> None:
        """Steps that are no words of the model."""
        match step.kind:
            case "wait":
                await self.pause(float(step.value))
            case "line":
                self.say(dict(step.value))
            case "stderr":
                self.complain(step.value)
            case "fault":
                faults.commit(step.value, step.more, self.wire)

    def say(self, line: Json) -> None:
        for order in self._orders:
            if order.line == self.wire.lines_out + 1:
                faults.commit(order.name, order.params, self.wire)
        if line.get("type") in KEPT and not line.get("isReplay") and self.transcript.entries:
            self.transcript.keep(line | {"fromCli": True})
        self.wire.send(line)

    def state(self, state: str) -> None:
        if self.traits.rich_results and os.environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1":
            self.say(self.lines.system("session_state_changed", {"state": state}))

    @property
    def remote(self) -> bool:
        """Launched as in a remote container: some more lines are told."""
        return os.environ.get("CLAUDE_CODE_REMOTE") == "1" and bool(os.environ.get("CLAUDE_CODE_CONTAINER_ID"))

    def tell_remote(self) -> None:
        if self.remote and self.traits.rich_results and not self._remote_told:
            self._remote_told = True
            window = {
                "enabled": True,
                "effective_window": 980_000,
                "threshold": 967_000,
                "enforced": True,
                "source": "model-default",
            }
            for kind, value in (("active_goal", None), ("autocompact_state", window)):
                self.say({"type": kind, "value": value, "session_id": self.session.id, "uuid": self.session.new_id()})

    def tell_no_classifier(self) -> None:
        if not self._classifier_told:
            self._classifier_told = True
            fields: Json = {"content": "Auto mode can't check actions in this session.", "isMeta": False, "timestamp": stamp()}
            self.say(self.lines.system("informational", fields | {"level": "warning", "tag": "auto_mode_no_server_check"}))

    def waiting(self, task: Task | None) -> None:
        if task is None:
            self.state("requires_action")

    def complain(self, words: str) -> None:
        sys.stderr.write(words + "\n")
        sys.stderr.flush()

    def die(self, words: str, code: int = 1) -> None:
        """The real one leaves at once when it is told nonsense."""
        self.complain(words)
        os._exit(code)

    def tool_names(self) -> list[str]:
        hidden = ("AskUserQuestion", "EnterPlanMode", "ExitPlanMode") if self.traits.hides_interaction and not self.asks else ()
        names = [name for name in self.traits.tools if name not in hidden and name not in self.session.deny_rules]
        return [*names, *self.mcp.tool_names(), *(["StructuredOutput"] if self.schema is not None else [])]
