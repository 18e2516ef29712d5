"""A person's answer as the CLI takes it. Pure; refuses, before anything is said, what can't be meant or would do nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from ..errors import Conflict, LocalProtocolError, UsageError
from ..events import commands
from ..events.views import QuestionView
from ..protocol.answers import DENIED, Allow, Deny, Refusal, Reply, choices_of, choose
from ..protocol.lenient import load
from ..protocol.versions import Version
from .plan_replies import Fresh, plan_reply
from .plans import effects

OF_PLANS = ("mode", "for_seconds", "allowed_prompts", "content", "compact")
ENTER = "EnterPlanMode"
SKIPPED = "The user skipped the question."
NO_PLAN = "The user wants no plan here. Start implementing now."
"""EnterPlanMode, denied."""

Verdict = Allow | Deny | Reply | Refusal


def answer_from(
    question: QuestionView, command: commands.Answer, version: Version | None, given: Mapping[str, Any] | None = None
) -> Verdict | Fresh:
    """What the CLI is told. ``given``: the input as the CLI sent it, where its process lives; else the view's.

    Raises ``UsageError`` for what can't be meant, ``Conflict`` for what this question can't be answered with now.
    """
    check(question, command)
    if question.asks == "dialog":
        return _dialog(question, command)
    asked = given if given is not None else input_of(question)
    if question.asks == "plan":
        return plan_reply(command, asked, question, version)
    if command.behavior == "deny":
        return _deny(command, SKIPPED if question.asks == "choice" else NO_PLAN if question.tool == ENTER else DENIED)
    if question.asks == "choice":
        return _choice(command, asked)
    if question.tool == ENTER:
        return Allow(_changed(command, asked), effects("plan").updates)
    return Allow(_changed(command, asked), _remembered(question, command))


def check(question: QuestionView, command: commands.Answer) -> None:
    """Combinations that can't be meant, whatever the question is."""
    if command.plan is not None and question.asks != "plan":
        raise UsageError(f"plan={command.plan} answers a plan; this question is a {question.asks}")
    if (command.answers is not None or command.notes is not None) and question.asks != "choice":
        raise UsageError(f"answers and notes are for a choice; this question is a {question.asks}")
    if question.asks != "plan" and any(getattr(command, name) for name in OF_PLANS):
        raise UsageError(f"{', '.join(OF_PLANS)} answer a plan; this question is a {question.asks}")
    if command.behavior == "allow":
        if command.interrupt:
            raise UsageError("interrupt goes with a deny: an allow lets the turn go on")
        if command.message:
            raise UsageError("a message goes with a deny: nobody would read it after an allow")
        if command.remember is not None and command.updated_input is not None:
            raise UsageError("an input that you changed is allowed once: leave remember out, or the input as it was asked")
    elif command.updated_input is not None or command.remember is not None or command.answers is not None:
        raise UsageError("a deny takes a message and interrupt; updated_input, remember and answers go with an allow")
    if command.remember is not None and (command.remember.suggestion is None) == (not command.remember.rules):
        raise UsageError("remember takes either rules, or the number of one of Claude Code's own suggestions")
    if command.remember is not None and question.asks != "permission":
        raise UsageError(f"nothing can be remembered about a {question.asks}: only a person answers it, each time")


def input_of(question: QuestionView) -> Mapping[str, Any]:
    if isinstance(question.input, Raw):
        found = load(bytes(question.input))
        return found if isinstance(found, dict) else {}
    return question.input


def _deny(command: commands.Answer, words: str) -> Deny:
    return Deny(command.message or words, interrupt=command.interrupt)


def _changed(command: commands.Answer, asked: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """None: as it was asked."""
    if command.updated_input is not None and not command.updated_input and asked:
        raise UsageError("updated_input is the tool's whole input; leave it out to run it as it was asked")
    return command.updated_input


def _remembered(question: QuestionView, command: commands.Answer) -> list[Mapping[str, Any]]:
    """That one suggestion, unchanged: all of them together would change the session's mode."""
    if command.remember is None or command.remember.suggestion is None:
        return []
    if question.no_always:
        raise Conflict("Claude Code wants no lasting rule for this: allow it once", code="once_only")
    number = command.remember.suggestion
    if number >= len(question.suggestions):
        known = f"there are {len(question.suggestions)}, counted from 0" if question.suggestions else "it came with none"
        raise UsageError(f"no suggestion {number} with this question: {known}")
    suggestion = question.suggestions[number]
    if suggestion.get("mode") == "bypassPermissions":
        raise Conflict(
            "bypassPermissions is given by name and with a length, not with an answer: set it as a mode", code="once_only"
        )
    return [suggestion]


def _choice(command: commands.Answer, asked: Mapping[str, Any]) -> Allow:
    if command.updated_input is not None and command.answers is None:
        raise UsageError("a choice is answered with answers: each question's exact text and its answer")
    if command.updated_input is not None:
        raise UsageError("a choice is answered with answers alone; its questions go back as they came")
    if not command.answers:
        texts = ", ".join(repr(choice.question) for choice in choices_of(asked))
        raise UsageError(f"a choice needs answers, or a deny to skip it; asked was: {texts or 'nothing that could be read'}")
    try:
        return choose(asked, command.answers, command.notes)
    except LocalProtocolError as error:
        raise UsageError(str(error)) from None


def _dialog(question: QuestionView, command: commands.Answer) -> Reply | Refusal:
    """Not measured: an elicitation is answered as MCP spells it, another dialog with what the person gave."""
    if question.tool == "elicitation":
        if command.behavior == "allow":
            return Reply({"action": "accept", "content": command.updated_input or {}})
        return Reply({"action": "cancel" if command.interrupt else "decline"})
    if command.behavior == "allow":
        return Reply(command.updated_input or {})
    return Refusal(command.message or DENIED)
