"""Tool calls from question to result line. Refuses to choose the outcome: scenario and verdict do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import acts, agents, permission, verdicts
from .calls import Call
from .hooks import Said
from .outcomes import Outcome
from .permission import Decision
from .session import Json
from .verdicts import Verdict

if TYPE_CHECKING:
    from .actor import Actor
    from .turn import Turn

NO_ANSWER = (
    "PreToolUse hook did not respond before its timeout (host client may be unreachable). The tool call was not executed; "
    "other configured hooks may not have completed."
)
ASIDE = (
    "The user doesn't want to take this action right now. "
    "STOP what you are doing and wait for the user to tell you how to proceed."
)
Finish = Callable[[], None]


class Tools:
    """The tools of one turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.session, self.traits = turn.session, turn.traits

    async def run_all(self, actor: Actor, calls: list[Call], finish: Finish) -> bool:
        """Writers one after the other, readers side by side; True when the turn must stop."""
        left = [call for call in calls if not call.done]
        try:
            while left:
                group = _next_group(left)
                stops = await asyncio.gather(*(self._run(actor, call, finish) for call in group))
                del left[: len(group)]
                if any(stops):
                    for call in left:
                        self._set_aside(actor, call)
                    return True
        except asyncio.CancelledError:
            finish()
            if self.turn.interrupted and (actor.task is None or not actor.task.background):
                for call in left:
                    self._interrupted(actor, call)
            raise
        if actor.task is None:
            self.turn.check_outputs()
        return False

    async def start_early(self, actor: Actor, call: Call, before: list[Call]) -> None:
        """2.1.326 starts a tool while its message still streams: the question may come before the next call is told."""
        if call.name in ("Task", "Agent") and agents.in_background(self.turn, call):
            await self._run(actor, call, lambda: None)
            call.done = True
            return
        waits = any(other.name not in permission.READ_ONLY for other in before)
        if waits or (before and call.name not in permission.READ_ONLY) or self.turn.program.hooks.any("PreToolUse", call.name):
            return
        decision = self._decide(call, Said())
        if decision.behavior == "ask":
            call.asked = self.turn.program.questions.put(self._request(actor, call, decision))

    async def _run(self, actor: Actor, call: Call, finish: Finish) -> bool:
        if (missing := acts.unavailable(self.turn.program, call.name)) is not None:
            finish()
            self.result(actor, call, missing, None)
            return False
        said = await self._pre_hooks(call, finish)
        if said.timed_out and self.traits.hook_timeout_refuses:
            self.result(actor, call, Outcome(NO_ANSWER, f"Error: {NO_ANSWER}", error=True), None)
            return False
        if said.updated is not None:
            call.given = said.updated
        decision = self._decide(call, said)
        if decision.behavior == "ask":
            return await self._judged(actor, call, await self._ask(actor, call, decision, finish))
        finish()
        if decision.behavior == "deny":
            self._refused_unasked(actor, call, decision)
        else:
            accept = {"decision": "accept", "source": decision.source, "reason_type": decision.why}
            await self._carry_out(actor, call, {key: value for key, value in accept.items() if value})
        return False

    async def _pre_hooks(self, call: Call, finish: Finish) -> Said:
        if not self.turn.program.hooks.any("PreToolUse", call.name):
            return Said()
        finish()
        fields = {"tool_name": call.name, "tool_input": call.given, "tool_use_id": call.id}
        return await self.turn.program.hooks.call("PreToolUse", fields, call, self.turn.prompt_id)

    def _decide(self, call: Call, said: Said) -> Decision:
        decision = permission.decide(self.session, call.name, call.given, call.step)
        if decision.behavior != "deny" and said.decision == "deny":
            words = f"PreToolUse:{call.name} hook error: {said.reason}" if self.traits.decision_lines else said.reason
            return Decision("deny", "hook", words, source="hook", told=False, counted=self.traits.decision_lines)
        if decision.behavior == "ask" and said.decision == "allow":
            return Decision("allow", "hook", source="hook")
        if said.decision == "ask":
            return permission.asked_by_hook(self.session, decision, said.reason)
        if decision.behavior == "ask" and not self.turn.program.asks:
            return permission.nobody_to_ask(call.name, decision)
        return decision

    async def _ask(self, actor: Actor, call: Call, decision: Decision, finish: Finish) -> Verdict:
        self.turn.program.waiting(actor.task)
        if not self.traits.hook_before_question:
            answered = (call.asked or self.turn.program.questions.put(self._request(actor, call, decision)))[1]
            self._permission_hooks(call, decision)
        else:
            self._permission_hooks(call, decision)
            answered = self.turn.program.questions.put(self._request(actor, call, decision))[1]
        finish()
        try:
            answer = await answered
        except asyncio.CancelledError:
            self.turn.denied(call)
            raise
        self.turn.program.state("running")
        return verdicts.read(answer, call.given, self.traits)

    def _permission_hooks(self, call: Call, decision: Decision) -> None:
        fields: Json = {"tool_name": call.name, "tool_input": call.given}
        if decision.suggestions:
            fields["permission_suggestions"] = decision.suggestions
        self.turn.program.hooks.put("PermissionRequest", fields, call, self.turn.prompt_id)

    def _request(self, actor: Actor, call: Call, decision: Decision) -> Json:
        rich = self.traits.rich_questions or self.traits.on_the_way
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
        if self.traits.rich_questions and call.name in permission.INTERACTIVE:
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
        if verdict.stop and self.traits.fixed_stop_words:
            self._rejected(actor, call)
        else:
            reject: Json = {"decision": "reject", "source": verdict.source}
            if verdict.source == "config":
                reject["reason_type"] = "other"
            meta = {"non_execution_kind": "permission-rule", "permission_decision": reject}
            self.result(actor, call, Outcome(verdict.message, f"Error: {verdict.message}", error=True), meta)
        _take_other_way(actor, call)
        return verdict.stop

    async def _carry_out(self, actor: Actor, call: Call, decision: Json) -> None:
        self.turn.remember_verdict(call, True, "")
        outcome = await acts.carry_out(self.turn, actor, call)
        if self.turn.program.hooks.any("PostToolUse", call.name) and not outcome.error:
            fields: Json = {
                "tool_name": call.name,
                "tool_input": call.given,
                "tool_response": outcome.details,
                "tool_use_id": call.id,
            }
            if self.traits.rich_results:
                fields["duration_ms"] = 1
            await self.turn.program.hooks.call("PostToolUse", fields, call, self.turn.prompt_id)
        if outcome.source:
            decision = {"decision": "reject", "source": outcome.source}
        self.result(actor, call, outcome, {"permission_decision": decision})

    def _refused_unasked(self, actor: Actor, call: Call, decision: Decision) -> None:
        words = decision.reason or f"Permission to use {call.name} has been denied."
        if decision.counted:
            self.turn.denied(call)
        self.turn.remember_verdict(call, False, words)
        if decision.why == "classifier":
            self.turn.program.tell_no_classifier()
        if self.traits.decision_lines and decision.told:
            fields: Json = {"tool_name": call.name, "tool_use_id": call.id, **decision.more, "message": words}
            self.turn.say(self.turn.lines.system("permission_denied", fields))
        reject: Json = {"decision": "reject", "source": decision.source}
        if decision.why:
            reject["reason_type"] = decision.why
        meta = {"non_execution_kind": decision.kind, "permission_decision": reject}
        self.result(actor, call, Outcome(words, f"Error: {words}", error=True), meta)
        _take_other_way(actor, call)

    def _interrupted(self, actor: Actor, call: Call) -> None:
        if self.traits.fixed_stop_words:
            self._rejected(actor, call)
            return
        words = "Tool permission request failed: AbortError"
        if call.running:
            words = "Exit code 137\n[Request interrupted by user for tool use]"
        self.result(actor, call, Outcome(words, f"Error: {words}", error=True), {})

    def _set_aside(self, actor: Actor, call: Call) -> None:
        """Calls that stood behind one whose denial stopped the turn."""
        if self.traits.fixed_stop_words:
            self._rejected(actor, call)
        else:
            self.result(actor, call, Outcome(ASIDE, ASIDE, error=True), {})

    def _rejected(self, actor: Actor, call: Call) -> None:
        outcome = Outcome(verdicts.FIXED_STOP, "User rejected tool use", error=True)
        self.result(actor, call, outcome, {"non_execution_kind": "user-rejected"})

    def result(self, actor: Actor, call: Call, outcome: Outcome, meta: Json | None) -> None:
        """The line about a finished call; sub-agents' lines carry no object of the tool."""
        if not actor.heard:
            return
        block: Json = {"type": "tool_result", "content": outcome.content}
        if outcome.error:
            block |= {"is_error": True, "tool_use_id": call.id}
        else:
            block = {"tool_use_id": call.id, **block}
            if outcome.marked:
                block["is_error"] = False
        more: Json = {} if actor.task and not outcome.error else {"tool_use_result": outcome.details}
        if self.traits.decision_lines and meta is not None:
            more["tool_result_meta"] = [{"id": call.id, **meta}]
        line = self.turn.lines.user([block], actor.parent, **more, **actor.agent_marks())
        self.turn.say_user(line, counts=actor.task is None)


def _take_other_way(actor: Actor, call: Call) -> None:
    """A scenario may say what the model does when it is refused."""
    if call.step.get("if_denied") is not None:
        actor.todo.clear()
        actor.todo.extend(call.step.get("if_denied"))


def _next_group(calls: list[Call]) -> list[Call]:
    readers = []
    for call in calls:
        quiet = call.name == "Bash" and permission.harmless(str(call.given.get("command", "")))
        if call.name not in permission.SIDE_BY_SIDE and not quiet:
            break
        readers.append(call)
    return readers or calls[:1]


def _description(call: Call) -> str | None:
    if call.given.get("description"):
        return str(call.given["description"])
    path = call.given.get("file_path")
    return os.path.basename(str(path)) if path else call.given.get("command")
