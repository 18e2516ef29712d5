"""The process as a whole: lines in, turns one after the other, the end. Refuses to know a scenario's content."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from . import faults
from .control import Control
from .faults import Order
from .flags import Flags
from .lines import Lines
from .prompts import Prompt, Prompts
from .questions import Questions
from .scenario import Scenario, Step
from .script import Script
from .session import Json, Session
from .turn import Turn
from .wire import Wire


class Program:
    """Everything that one process has; `run` is its life."""

    def __init__(self, flags: Flags, scenario: Scenario, session: Session, wire: Wire, orders: list[Order], speed: float) -> None:
        self.flags, self.scenario, self.session, self.wire = flags, scenario, session, wire
        self.traits = session.traits
        self.default_model = session.model
        self.script = Script(scenario)
        self.lines = Lines(session)
        self.questions = Questions(self.say, session.new_id)
        self.prompts = Prompts(self.lines, self.say, flags.replay)
        self.control = Control(self)
        self.turn: Turn | None = None
        self.prompted = self.last_failed = False
        self._speed = speed
        self._orders = orders

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
        for step in self.scenario.start:
            await self.side_step(step)
        if not any(order.name == "ignore_stdin" for order in self._orders):
            self._read()
        while await self._has_work():
            await self._take_turn()
        return 1 if self.last_failed else 0

    def _read(self) -> None:
        loop = asyncio.get_running_loop()

        def feed(chunk: bytes) -> None:
            loop.call_soon_threadsafe(self._fed, chunk)

        def ended() -> None:
            loop.call_soon_threadsafe(self._input_ended)

        self.wire.road.start(feed, ended)

    async def _has_work(self) -> bool:
        while not len(self.prompts):
            if self.prompts.closed:
                return False
            await self.prompts.changed()
        return True

    async def _take_turn(self) -> None:
        prompts = self.prompts.take()
        for prompt in prompts:
            self.prompts.tell(prompt, "started")
        self.turn = Turn(self, prompts, self.script.steps_for("\n".join(prompt.text for prompt in prompts)))
        self.state("running")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.turn.run())
        finally:
            self.turn = None
        self.state("idle")

    def interrupt(self) -> None:
        if self.turn is not None:
            self.turn.interrupt()

    async def pause(self, seconds: float) -> None:
        """Wait as long as the scenario says, divided by the speed; always lets other work go on."""
        await asyncio.sleep(seconds / self._speed if self._speed else 0)

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
        self.wire.send(line)

    def state(self, state: str) -> None:
        if self.traits.rich_results and os.environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1":
            self.say(self.lines.system("session_state_changed", {"state": state}))

    def complain(self, words: str) -> None:
        sys.stderr.write(words + "\n")
        sys.stderr.flush()

    def die(self, words: str, code: int = 1) -> None:
        """The real one leaves at once when it is told nonsense."""
        self.complain(words)
        os._exit(code)

    def tool_names(self) -> list[str]:
        return list(self.traits.tools)

    def mcp_servers(self) -> list[Json]:
        return []

    def _fed(self, chunk: bytes) -> None:
        for line in self.wire.split(chunk):
            self._received(line)

    def _input_ended(self) -> None:
        for line in self.wire.last():
            self._received(line)
        self.questions.close()
        self.prompts.close()

    def _received(self, line: bytes) -> None:
        if not line.strip():
            if self.traits.strict_types:
                self.die("Error parsing streaming input line: : SyntaxError: Unexpected end of JSON input")
            return
        try:
            message = json.loads(line)
        except ValueError:
            self.die(self._not_json(line))
            return
        if isinstance(message, dict):
            self._dispatch(message)

    def _not_json(self, line: bytes) -> str:
        if self.traits.rich_results:
            return f"Error parsing streaming input line (type=unknown, {len(line)} chars): SyntaxError"
        text = line.decode(errors="replace")
        return f"Error parsing streaming input line: {text}: SyntaxError: {text!r:.20} is not valid JSON"

    def _dispatch(self, message: Json) -> None:
        match message.get("type"):
            case "user":
                self._prompt(message)
            case "control_request":
                request = message.get("request")
                self.control.handle(str(message.get("request_id")), request if isinstance(request, dict) else {})
            case "control_response":
                self._answered(message)
            case "keep_alive":
                pass
            case "update_environment_variables":
                if self.traits.env_updates:
                    self.session.environment.update(message.get("variables", {}))
            case other if self.traits.strict_types:
                self.die(f"Error: Expected message type 'user' or 'control', got '{other}'")

    def _answered(self, message: Json) -> None:
        inner = message.get("response")
        if isinstance(inner, dict):
            self.questions.settle(inner)
        elif self.traits.dies_on_approved:
            self.die("Error parsing streaming input line: TypeError: Cannot read properties of undefined (reading 'request_id')")

    def _prompt(self, message: Json) -> None:
        inner = message.get("message")
        role = inner.get("role") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or role != "user":
            self.die(f"Error: Expected message role 'user', got '{role}'")
            return
        self.prompted = True
        self.prompts.put(Prompt(inner.get("content", ""), message.get("uuid"), str(message.get("priority", "next"))))
