"""Tool calls from question to result line. Refuses to choose the outcome: scenario and verdict do."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import outcomes, permission, verdicts
from .outcomes import Outcome
from .reply import Call
from .scenario import Step
from .session import Json
from .verdicts import Verdict

if TYPE_CHECKING:
    from .turn import Actor, Turn


class Tools:
    """The tools of one turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.session = turn.session

    def call_of(self, step: Step) -> Call:
        """The call that a step stands for; ``ask``, ``plan``, ``todos`` and ``structured`` are short forms."""
        name, given = self._short_form(step)
        return Call(str(step.get("id") or f"toolu_{secrets.token_hex(12)}"), name, given, step)

    def _short_form(self, step: Step) -> tuple[str, Json]:
        match step.kind:
            case "ask":
                return "AskUserQuestion", {"questions": [_question(each) for each in step.value]}
            case "plan":
                return "ExitPlanMode", {"allowedPrompts": step.get("allowed_prompts")} if step.get("allowed_prompts") else {}
            case "todos":
                return "TodoWrite", {"todos": step.value}
            case "structured":
                return "StructuredOutput", dict(step.value)
        return step.value, {key: self.turn.filled(value) for key, value in dict(step.get("input", {})).items()}

    def shown(self, call: Call) -> Json:
        """The input as the assistant line shows it."""
        return call.given

    async def run_all(self, actor: Actor, calls: list[Call], finish: Callable[[], None]) -> bool:
        """Writers one after the other, readers side by side; True when the turn must stop."""
        left = list(calls)
        try:
            while left:
                group = _next_group(left)
                stops = await asyncio.gather(*(self._run(actor, call, finish) for call in group))
                del left[: len(group)]
                if any(stops):
                    return True
        except asyncio.CancelledError:
            finish()
            if self.turn.interrupted:
                for call in left:
                    self._interrupted(actor, call)
            raise
        return False

    async def _run(self, actor: Actor, call: Call, finish: Callable[[], None]) -> bool:
        decision = permission.decide(self.session, call.name, call.given, call.step)
        if decision.behavior == "ask" and not self.turn.program.asks:
            decision = permission.Decision(
                "deny", "asyncAgent", f"Claude requested permissions to use {call.name}, but you haven't granted it yet."
            )
        if decision.behavior == "deny":
            finish()
            self._refused_unasked(actor, call, decision)
            return False
        if decision.behavior == "allow":
            finish()
            await self._carry_out(actor, call, {"decision": "accept", "source": "config", "reason_type": decision.why})
            return False
        verdict = await self._ask(actor, call, decision, finish)
        return await self._judged(actor, call, verdict)

    async def _ask(self, actor: Actor, call: Call, decision: permission.Decision, finish: Callable[[], None]) -> Verdict:
        request_id, answered = self.turn.program.questions.put(self._request(actor, call, decision))
        self.turn.program.state("requires_action")
        finish()
        answer = await answered
        self.turn.program.state("running")
        return verdicts.read(answer, call.given, self.turn.traits)

    def _request(self, actor: Actor, call: Call, decision: permission.Decision) -> Json:
        rich = self.turn.traits.rich_questions
        request: Json = {"subtype": "can_use_tool", "tool_name": call.name}
        if rich:
            request["display_name"] = call.name
        request["input"] = call.given
        if rich and (words := _description(call)):
            request["description"] = words
        if decision.suggestions:
            request["permission_suggestions"] = decision.suggestions
        if decision.path:
            request["blocked_path"] = decision.path
        if decision.reason:
            request["decision_reason"] = decision.reason
        request |= decision.more
        request["tool_use_id"] = call.id
        if rich and call.name in permission.INTERACTIVE:
            request["requires_user_interaction"] = True
        if actor.agent_id:
            request["agent_id"] = actor.agent_id
        return request

    async def _judged(self, actor: Actor, call: Call, verdict: Verdict) -> bool:
        if verdict.allowed:
            call.given = verdict.given
            if verdicts.apply(verdict.updates, self.session):
                self.turn.say(self.turn.lines.mode_status())
            await self._carry_out(actor, call, {"decision": "accept", "source": verdict.source})
            return False
        self.turn.denied(call)
        self.turn.remember_verdict(call, False, verdict.message)
        if verdict.stop and self.turn.traits.fixed_stop_words:
            self._rejected(actor, call)
        else:
            reject: Json = {"decision": "reject", "source": verdict.source}
            if verdict.source == "config":
                reject["reason_type"] = "other"
            meta = {"non_execution_kind": "permission-rule", "permission_decision": reject}
            self._result(actor, call, Outcome(verdict.message, f"Error: {verdict.message}", error=True), meta, refused=True)
        if call.step.get("if_denied") is not None:
            actor.replace_todo(call.step.get("if_denied"))
        return verdict.stop

    async def _carry_out(self, actor: Actor, call: Call, decision: Json) -> None:
        self.turn.remember_verdict(call, True, "")
        outcome = await self._outcome(call)
        self._result(actor, call, outcome, {"permission_decision": decision})

    async def _outcome(self, call: Call) -> Outcome:
        await self.turn.program.pause(float(call.step.get("lasts", 0)))
        if call.name == "Bash" and not call.given.get("command"):
            words = "Cannot read properties of undefined (reading 'includes')"
            return Outcome(words, f"Error: {words}", error=True)
        if call.step.get("run") and call.name == "Bash":
            return await self._shell(call)
        if call.step.get("run"):
            outcomes.perform(call, self.session)
        return outcomes.scripted(call, self.session)

    async def _shell(self, call: Call) -> Outcome:
        """A real command, as a child of ours; an interrupt ends it."""
        child = await asyncio.create_subprocess_shell(
            str(call.given["command"]), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, cwd=self.session.cwd, env={**os.environ, **self.session.environment},
        )  # fmt: skip
        try:
            out, err = await child.communicate()
        except asyncio.CancelledError:
            child.kill()
            raise
        return outcomes.bash(
            call, self.session, out.decode(errors="replace"), err.decode(errors="replace"), child.returncode or 0
        )

    def _refused_unasked(self, actor: Actor, call: Call, decision: permission.Decision) -> None:
        words = decision.reason or f"Permission to use {call.name} has been denied."
        self.turn.denied(call)
        self.turn.remember_verdict(call, False, words)
        reject = {"decision": "reject", "source": "config", "reason_type": decision.why}
        meta = {"non_execution_kind": "permission-rule", "permission_decision": reject}
        self._result(actor, call, Outcome(words, f"Error: {words}", error=True), meta, refused=True)

    def _interrupted(self, actor: Actor, call: Call) -> None:
        if self.turn.traits.fixed_stop_words:
            self._rejected(actor, call)
            return
        words = "Tool permission request failed: AbortError"
        self._result(actor, call, Outcome(words, f"Error: {words}", error=True), {}, refused=True)

    def _rejected(self, actor: Actor, call: Call) -> None:
        outcome = Outcome(verdicts.FIXED_STOP, "User rejected tool use", error=True)
        self._result(actor, call, outcome, {"non_execution_kind": "user-rejected"}, refused=True)

    def _result(self, actor: Actor, call: Call, outcome: Outcome, meta: Json, refused: bool = False) -> None:
        block: Json = {"type": "tool_result", "content": outcome.content}
        if refused or outcome.error:
            block |= {"is_error": True, "tool_use_id": call.id}
        else:
            block = {"tool_use_id": call.id, **block}
            if outcome.marked:
                block["is_error"] = False
        more: Json = {"tool_use_result": outcome.details}
        if self.turn.traits.decision_lines:
            more["tool_result_meta"] = [{"id": call.id, **meta}]
        self.turn.say_user(self.turn.lines.user([block], actor.parent, **more), counts=actor.parent is None)


def _next_group(calls: list[Call]) -> list[Call]:
    readers = []
    for call in calls:
        if call.name not in permission.READ_ONLY:
            break
        readers.append(call)
    return readers or calls[:1]


def _question(each: Json) -> Json:
    """A question of an ``ask`` step with its short forms filled in: options may be plain texts."""
    options = [
        option if isinstance(option, dict) else {"label": str(option), "description": ""} for option in each.get("options", [])
    ]
    header = each.get("header") or str(each.get("question", ""))[:12]
    return {
        "question": each.get("question", ""),
        "header": header,
        "options": options,
        "multiSelect": bool(each.get("multi", False)),
    }


def _description(call: Call) -> str | None:
    if call.given.get("description"):
        return str(call.given["description"])
    path = call.given.get("file_path")
    return os.path.basename(str(path)) if path else None
