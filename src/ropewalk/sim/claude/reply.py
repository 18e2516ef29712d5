"""One message of the scripted model on its way out: stream events and assistant lines. Refuses tools: it returns their calls."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import acts, slash
from .calls import Call
from .lines import INTERRUPTED, call_usage
from .scenario import Step
from .script import TOOLS, has_blocks
from .session import Json, Usage

if TYPE_CHECKING:
    from .actor import Actor


@dataclass
class Spoken:
    """What a message left behind. ``finish`` says the last stream event; on 2.1.326 a question may come before it."""

    calls: list[Call] = field(default_factory=list)
    text: str = ""
    stop_reason: str = "end_turn"
    failed: bool = False
    finish: Callable[[], None] = lambda: None


class Message:
    """One API message. `speak` streams its blocks; an interrupt in the midst leaves what the version leaves."""

    def __init__(self, actor: Actor, usage: Usage) -> None:
        self.actor, self.turn = actor, actor.turn
        self.id = f"msg_{secrets.token_hex(12)}"
        self.request_id = f"req_{secrets.token_hex(12)}"
        self.usage = usage
        self.index = -1
        self._partial = ""
        self._started = self._finished = False

    async def speak(self, steps: list[Step]) -> Spoken:
        spoken = Spoken()
        try:
            for place, step in enumerate(steps):
                await self._step(step, spoken, steps[place + 1 :])
        except asyncio.CancelledError:
            self._interrupted()
            raise
        self._event(
            {
                "type": "message_delta",
                "delta": {"stop_reason": spoken.stop_reason, "stop_sequence": None},
                "usage": {"output_tokens": self.usage.tokens_out},
            }
        )
        spoken.finish = self._finish
        if not (spoken.calls and self.turn.traits.early_questions):
            self._finish()
        return spoken

    async def _step(self, step: Step, spoken: Spoken, rest: list[Step]) -> None:
        match step.kind:
            case "text":
                spoken.text = self.turn.filled(step.value)
                if self.actor.tells_text(last=not any(other.kind in TOOLS for other in rest)):
                    await self._block({"type": "text", "text": ""}, "text", spoken.text, step)
            case "thinking":
                await self._block(
                    {"type": "thinking", "thinking": "", "signature": ""}, "thinking", self.turn.filled(step.value), step
                )
            case "stop":
                spoken.stop_reason = step.value
            case kind if kind in TOOLS:
                await self._tool_block(acts.call_of(self.turn, step), spoken, rest)
            case "fail":
                await self.turn.fail(self.actor, step)
            case "echo":
                self.turn.echo_prompts()
            case "compact":
                await slash.compact(
                    self.turn, str(step.value), "auto", tokens=int(step.get("tokens", 150_000)), fails=bool(step.get("fails"))
                )
            case "rate_limit":
                self.turn.tell_rate_limit(step.value)
            case _:
                await self.turn.program.side_step(step)

    async def _block(self, empty: Json, kind: str, text: str, step: Step) -> None:
        self._open_block(empty)
        pace = float(step.get("pace", self.turn.program.scenario.pace))
        began, tokens = time.monotonic(), 0
        for piece in re.findall(r"\s*\S+\s*|\s+$", text):
            self._delta({"type": f"{kind}_delta", kind: piece})
            self._partial = self._partial + piece if kind == "text" else ""
            if kind == "thinking":
                tokens += 1
                self._thinking_tokens(tokens)
            await self.turn.program.pause(pace)
        block, more = {"type": kind, kind: text}, {}
        if kind == "thinking":
            block["signature"] = step.get("signature", "c2lnbmF0dXJl")
            self._delta({"type": "signature_delta", "signature": block["signature"]})
            if self.turn.traits.rich_results:
                more = {"thinking_duration_ms": int((time.monotonic() - began) * 1000), "thinking_display": "updates"}
        self._partial = ""
        self._close_block(block, more)

    def _thinking_tokens(self, tokens: int) -> None:
        if self.turn.traits.rich_results and self.actor.task is None:
            fields = {"estimated_tokens": tokens, "estimated_tokens_delta": 1}
            self.turn.say(self.turn.lines.system("thinking_tokens", fields))

    async def _tool_block(self, call: Call, spoken: Spoken, rest: list[Step]) -> None:
        self._open_block({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
        self._delta({"type": "input_json_delta", "partial_json": json.dumps(call.given)})
        await self.turn.program.pause(0)
        task, tasks = self.actor.task, self.turn.program.tasks
        words = f"Running {str(call.given.get('command', call.name)).split(' ')[0]}"
        if task is not None and not task.background:
            tasks.progress(task, call.name, words)
        shown = call.given if call.shown is None else call.shown
        self._close_block({"type": "tool_use", "id": call.id, "name": call.name, "input": shown}, self._tool_meta(call))
        if task is not None and task.background:
            tasks.progress(task, call.name, words)
        if self.turn.traits.early_questions and has_blocks(rest):
            await self.turn.tools.start_early(self.actor, call, spoken.calls)
        spoken.calls.append(call)
        spoken.stop_reason = "tool_use"

    def _tool_meta(self, call: Call) -> Json:
        """2.1.326 names the server's tool for the card."""
        if not self.turn.traits.rich_questions or not call.name.startswith("mcp__"):
            return {}
        _, server, tool = call.name.split("__", 2)
        return {
            "tool_use_meta": [{"id": call.id, "display_name": tool.title(), "server_display_name": server, "tool_name": tool}]
        }

    def _open_block(self, empty: Json) -> None:
        self._start()
        self.index += 1
        more = {"thinking_display": "updates"} if empty["type"] == "thinking" else {}
        self._event({"type": "content_block_start", "index": self.index, "content_block": empty}, **more)

    def _close_block(self, block: Json, more: Json) -> None:
        self._line(block, **more)
        self._event({"type": "content_block_stop", "index": self.index})

    def _line(self, block: Json, **more: Any) -> None:
        if not self.actor.heard:
            return
        fields: Json = {"request_id": self.request_id} if self.turn.traits.timestamps else {}
        message = self.turn.lines.api_message(self.id, self.turn.model, block, self.usage)
        self.turn.say(self.turn.lines.assistant(message, self.actor.parent, **fields, **more, **self.actor.marks(self.id)))

    def _delta(self, delta: Json) -> None:
        self._event({"type": "content_block_delta", "index": self.index, "delta": delta})

    def _start(self) -> None:
        if not self._started:
            self._started = True
            message = self.turn.lines.api_message(self.id, self.turn.model, {}, self.usage) | {
                "content": [],
                "usage": call_usage(self.usage),
            }
            del message["context_management"]
            self._event({"type": "message_start", "message": message}, ttft_ms=1, thinking_display="updates")

    def _finish(self) -> None:
        if not self._finished:
            self._finished = True
            self._event({"type": "message_stop"})

    def _event(self, event: Json, **more: object) -> None:
        """Events of sub-agents are not sent (measured, all versions)."""
        if self.turn.program.flags.partial and self.actor.task is None:
            self.turn.say(self.turn.lines.stream_event(event, self.id, more))

    def _interrupted(self) -> None:
        """2.1.326 keeps the part of a text that was out; the older ones drop it."""
        if not self.turn.interrupted or self.actor.task is not None:
            return
        kept = self.turn.traits.keeps_partial_text and self._started
        if kept and self._partial:
            self._line({"type": "text", "text": self._partial}, aborted=True)
        self.turn.say_user(self.turn.lines.interruption(INTERRUPTED))
        self.turn.interruption_said = True
        if kept:
            self.turn.pay(self.turn.model, self.usage)
            self._event({"type": "content_block_stop", "index": self.index})
            self._event(_broken_off(self.usage))
            self._event(
                {"type": "message_stop"}, abandoned_blocks={"api_message_id": self.id, "from_block_index": self.index + 1}
            )


def _broken_off(usage: Usage) -> Json:
    delta = {"container": None, "stop_details": None, "stop_reason": None, "stop_sequence": None}
    extra: Json = {
        "iterations": [],
        "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
        "fallback_credit": None,
    }
    counted = {"output_tokens_details": {"thinking_tokens": 0}, **call_usage(usage), **extra}
    return {"type": "message_delta", "context_management": None, "delta": delta, "usage": counted}
