"""Hook callbacks into the controller. Refuses shell hooks of settings files: those belong to the real CLI.

Registered by ``initialize.hooks``; each call is a ``hook_callback`` question. An error answer counts as empty (measured, all
versions); silence past ``timeout`` withdraws the question.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .calls import Call
from .session import Json

if TYPE_CHECKING:
    from .program import Program


@dataclass(frozen=True)
class Hook:
    event: str
    matcher: str | None
    callback_id: str
    timeout: float | None


@dataclass(frozen=True)
class Said:
    """What the hooks of one moment said, taken together. ``decision`` is allow, deny or ask."""

    decision: str | None = None
    reason: str = ""
    updated: Json | None = None
    timed_out: bool = False
    stop: bool = False


class Hooks:
    """The registered callbacks."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._hooks: list[Hook] = []

    def register(self, table: Any) -> None:
        for event, matchers in table.items() if isinstance(table, dict) else ():
            for entry in matchers or []:
                for callback_id in entry.get("hookCallbackIds", []):
                    self._hooks.append(Hook(event, entry.get("matcher"), callback_id, entry.get("timeout")))

    @property
    def registered(self) -> bool:
        return bool(self._hooks)

    def any(self, event: str, tool: str = "") -> bool:
        return bool(self._matching(event, tool))

    def _matching(self, event: str, tool: str) -> list[Hook]:
        return [hook for hook in self._hooks if hook.event == event and _matches(hook.matcher, tool)]

    async def call(self, event: str, fields: Json, call: Call | None = None, prompt_id: str | None = None) -> Said:
        """Call every hook of this moment, one after the other; the first that decides wins."""
        said = Said()
        for hook in self._matching(event, call.name if call else ""):
            answer = await self._one(hook, fields, call, prompt_id)
            if answer is None:
                return Said(timed_out=True)
            if said.decision is None:
                said = _read(answer)
        return said

    def put(self, event: str, fields: Json, call: Call | None, prompt_id: str | None) -> None:
        """Call hooks without waiting for what they say."""
        for hook in self._matching(event, call.name if call else ""):
            self._program.questions.put(self._request(hook, fields, call, prompt_id))

    async def _one(self, hook: Hook, fields: Json, call: Call | None, prompt_id: str | None) -> Json | None:
        request_id, answered = self._program.questions.put(self._request(hook, fields, call, prompt_id))
        seconds = None if hook.timeout is None else self._program.scaled(float(hook.timeout))
        try:
            answer = await asyncio.wait_for(asyncio.shield(answered), seconds)
        except TimeoutError:
            self._program.questions.withdraw(request_id)
            return None
        if answer.error is not None:
            self._failed(hook, answer.error)
        return answer.response if isinstance(answer.response, dict) else {}

    def _failed(self, hook: Hook, error: str) -> None:
        self._program.complain(f"Error in hook callback {hook.callback_id}: {error}")
        if self._program.traits.decision_lines:
            words = f"{hook.event}: Hook callback {hook.callback_id} failed: the host replied with an error; treated as empty."
            fields = {"content": words, "level": "warning", "tag": "hook_callback_failed"}
            self._program.say(self._program.lines.system("informational", fields))

    def _request(self, hook: Hook, fields: Json, call: Call | None, prompt_id: str | None) -> Json:
        session = self._program.session
        given: Json = {"session_id": session.id, "transcript_path": str(self._program.transcript.path), "cwd": session.cwd}
        if session.traits.rich_results and prompt_id:
            given["prompt_id"] = prompt_id
        given["permission_mode"] = session.mode
        if session.traits.rich_results and hook.event != "UserPromptSubmit":
            given["effort"] = {"level": "medium"}
        given |= {"hook_event_name": hook.event, **fields}
        tool_use_id = call.id if call else session.new_id()
        return {"subtype": "hook_callback", "callback_id": hook.callback_id, "input": given, "tool_use_id": tool_use_id}


def _matches(matcher: str | None, tool: str) -> bool:
    return not matcher or matcher == "*" or not tool or re.fullmatch(matcher, tool) is not None


def _read(answer: Json) -> Said:
    specific = answer.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    decision = specific.get("permissionDecision")
    if decision is None and answer.get("decision") in ("approve", "block"):
        decision = "allow" if answer["decision"] == "approve" else "deny"
    reason = str(specific.get("permissionDecisionReason") or answer.get("reason") or "")
    updated = specific.get("updatedInput")
    return Said(decision, reason, updated if isinstance(updated, dict) else None, stop=answer.get("continue") is False)
