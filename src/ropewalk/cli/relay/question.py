"""A hub's question as the cards draw it, and a person's decision as the hub takes it. Pure; refuses to leave a field out."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from ...client.question import Question
from ...events.commands import AllowedPrompt, Answer, Remember
from ...events.events import QuestionClosed
from ...events.views import QuestionView
from ...protocol.answers import Allow, Deny
from ...protocol.codec import decode
from ...protocol.control import ControlRequest
from ...protocol.lenient import dump
from ...protocol.versions import Version
from ..hand import Decision


def question_of(view: QuestionView) -> Question:
    """The same card as in a run without a hub."""
    given = msgspec.json.decode(bytes(view.input)) if isinstance(view.input, msgspec.Raw) else view.input
    if view.asks == "plan" and (text := (view.plan or {}).get("text")):
        given = {**given, "plan": text}  # 2.1.37 and 2.1.62 keep it in a file; the hub has read it
    asked = {
        "subtype": "can_use_tool",
        "tool_name": view.tool or view.title_words.removesuffix("?"),
        "input": given,
        "tool_use_id": view.tool_use,
        "permission_suggestions": view.suggestions,
        "blocked_path": view.blocked_path,
        "decision_reason": view.reason or None,
        "agent_id": view.origin,
        "description": view.description or None,
        "requires_user_interaction": view.only_people or None,
        "suppress_always_allow_rule": view.no_always or None,
        "default_to_no": view.default_to_no or None,
    }
    kept = {name: value for name, value in asked.items() if value is not None}
    message = decode(dump({"type": "control_request", "request_id": view.id, "request": kept}))
    if not isinstance(message, ControlRequest):
        raise TypeError(f"the question {view.id} can't be read")
    return Question(message)


def answer_of(view: QuestionView, decision: Decision) -> Answer:
    """What goes to the hub, bound to what was drawn."""
    return replace(_answer_of(view, decision), shown=decision.shown or None)


def _answer_of(view: QuestionView, decision: Decision) -> Answer:
    given = decision.answer
    wishes = list(decision.wishes)
    if decision.way == "fresh":
        changed = {"plan": decision.fresh} if decision.fresh != question_of(view).plan else None
        return Answer(behavior="allow", plan="fresh", updated_input=changed, allowed_prompts=wishes)
    if isinstance(given, Deny):
        words = None if decision.way in ("stop", "outline") else given.message
        return Answer(behavior="deny", message=words, interrupt=given.interrupt, plan=_way(decision))
    if not isinstance(given, Allow):
        raise TypeError("a person allows or denies")
    changed_input = dict(given.updated_input) if given.updated_input is not None else None
    if view.asks == "choice" and changed_input is not None and "answers" in changed_input:
        return Answer(behavior="allow", answers=changed_input["answers"])
    remember = decision.remember
    if decision.way is None and given.updated_permissions:
        remember = Remember(suggestion=view.suggestions.index(dict(given.updated_permissions[0])))
    return Answer(
        behavior="allow", updated_input=changed_input, remember=remember, plan=_way(decision), allowed_prompts=wishes
    )  # fmt: skip


def wishes_of(view: QuestionView) -> list[AllowedPrompt]:
    """What a plan asks to be allowed, each with the rule that says it; without one where it is mere words."""
    listed = (view.plan or {}).get("requested") or []
    return [
        AllowedPrompt(tool=str(one["tool"])[:200], prompt=str(one.get("prompt") or "")[:4096], rule=one.get("rule"))
        for one in listed
        if one.get("tool")
    ]


def _way(decision: Decision) -> Any:
    return decision.way


def version_of(text: str | None) -> Version | None:
    """``2.1.326`` → numbers."""
    parts = (text or "").split(" ")[0].split(".")
    return (int(parts[0]), int(parts[1]), int(parts[2])) if len(parts) == 3 and all(part.isdecimal() for part in parts) else None


FATES = {"withdrawn": "Claude no longer asks this.", "lost": "The process ended; it won't ask this again by itself."}


NAMED = ("rule ", "grant ")


def closed_words(closed: QuestionClosed) -> str:
    """How a question ended, and by whom or what: ``allowed by Mia (page), and granted Bash(npm test)``."""
    if closed.fate in FATES:
        return FATES[closed.fate]
    verb = {"allow": "allowed", "deny": "denied"}.get(closed.behavior or "", "answered")
    if closed.fate == "expired":
        return f"nobody answered in time: {verb} by a policy"
    if closed.because_kind not in ("", "person"):
        words = ruled_words(closed.behavior or "allow", closed.because_kind, closed.because)
        return words if words.startswith("denied") else f"allowed{' by' if words.startswith(NAMED) else ':'} {words}"
    who = f" by {closed.by}" if closed.by else ""
    where = f" ({closed.door})" if closed.door else ""
    said = f": {closed.message}" if closed.message else ""
    own = ", another version" if closed.edited else ""
    rules = f", and granted {'  '.join(closed.rules)}" if closed.rules else ""
    return f"{verb}{who}{where}{said}{own}{rules}"


def ruled_words(behavior: str, kind: str, because: str) -> str:
    """Why nobody had to answer: ``rule Bash(pytest:*) (Mia)``, ``denied by rule …``, ``Mia set the mode acceptEdits``."""
    for start in ("allowed by ", "denied by "):
        if because.startswith(start) and kind in ("rule", "grant", "built_in"):
            named = f"{'grant' if kind == 'grant' else 'rule'} {because.removeprefix(start)}"
            return named if behavior == "allow" else f"denied by {named}"
    return because if behavior == "allow" else f"denied: {because}"
