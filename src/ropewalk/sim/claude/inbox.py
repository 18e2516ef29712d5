"""Lines from the controller: told apart and handed on. Refuses what kills the real one, by dying in its manner."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from typing import TYPE_CHECKING

from .prompts import Prompt
from .session import Json

if TYPE_CHECKING:
    from .program import Program


class Inbox:
    """Reads from the road and dispatches."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._traits = program.traits
        self._lines: deque[bytes] = deque()
        self._ended = False

    def start(self) -> None:
        if self._program.flags.input_format == "text":
            self._one_prompt()
            return
        loop = asyncio.get_running_loop()

        def feed(chunk: bytes) -> None:
            loop.call_soon_threadsafe(self._fed, chunk)

        def ended() -> None:
            loop.call_soon_threadsafe(self._input_ended)

        self._program.wire.road.start(feed, ended)

    def _one_prompt(self) -> None:
        """``claude -p "…"`` without stream-json input: the words of the command line, or all of stdin, then the end."""
        words = self._program.flags.prompt
        text = sys.stdin.read().strip() if words is None else words
        if not text:
            self._program.die("Error: Input must be provided either through stdin or as a prompt argument when using --print")
        self._program.prompts.put(Prompt(text))
        self._program.end_input()

    def _fed(self, chunk: bytes) -> None:
        self._lines.extend(self._program.wire.split(chunk))
        self._next()

    def _input_ended(self) -> None:
        self._lines.extend(self._program.wire.last())
        self._ended = True
        self._next()

    def _next(self) -> None:
        """2.1.37 acts on an answer before it reads the next line; the others read on first (seen in plan_allow_one_write)."""
        while self._lines:
            self._received(self._lines.popleft())
            if self._traits.strict_types and (self._lines or self._ended):
                asyncio.get_running_loop().call_soon(self._next)
                return
        if self._ended:
            self._ended = False
            self._program.end_input()

    def _received(self, line: bytes) -> None:
        if not line.strip():
            if self._traits.strict_types:
                self._program.die("Error parsing streaming input line: : SyntaxError: Unexpected end of JSON input")
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._program.die(self._not_json(line))
            return
        if isinstance(message, dict):
            self._dispatch(message)

    def _not_json(self, line: bytes) -> str:
        if self._traits.rich_results:
            return f"Error parsing streaming input line (type=unknown, {len(line)} chars): SyntaxError"
        text = line.decode(errors="replace")
        return f"Error parsing streaming input line: {text}: SyntaxError: {text!r:.20} is not valid JSON"

    def _dispatch(self, message: Json) -> None:
        match message.get("type"):
            case "user":
                self._prompt(message)
            case "control_request":
                request = message.get("request")
                self._program.control.handle(str(message.get("request_id")), request if isinstance(request, dict) else {})
            case "control_response":
                self._answered(message)
            case "keep_alive":
                pass
            case "update_environment_variables":
                if self._traits.env_updates:
                    self._program.session.environment.update(message.get("variables", {}))
            case other if self._traits.strict_types:
                self._program.die(f"Error: Expected message type 'user' or 'control', got '{other}'")
            case "assistant" if self._traits.assistant_breaks:
                self._program.broken_by_assistant = True

    def _answered(self, message: Json) -> None:
        inner = message.get("response")
        if isinstance(inner, dict):
            self._program.questions.settle(inner)
        elif self._traits.dies_on_approved:
            words = json.dumps(message)
            self._program.die(f"Error parsing streaming input line: {words}: TypeError: Cannot read properties of undefined")

    def _prompt(self, message: Json) -> None:
        inner = message.get("message")
        role = inner.get("role") if isinstance(inner, dict) else None
        if not isinstance(inner, dict) or role != "user":
            self._program.die(f"Error: Expected message role 'user', got '{role}'")
            return
        self._program.prompted = True
        prompt_uuid = message.get("uuid")
        prompt = Prompt(
            inner.get("content", ""), prompt_uuid if isinstance(prompt_uuid, str) else None, str(message.get("priority", "next"))
        )
        self._program.prompts.put(prompt)
