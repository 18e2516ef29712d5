"""A person's answer to a plan: what the living CLI is told, or what a new process is told where the one that asked is gone.

Pure; refuses what can't be meant, and a fresh start without a plan to start with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from ..errors import Conflict, UsageError
from ..events import commands
from ..events.views import QuestionView
from ..protocol.answers import DENIED, Allow, Deny
from ..protocol.versions import NEWER_MODES, Version
from .outline import OUTLINE
from .plans import BYPASS, MODES, effects

TAKES_EDITED_PLANS: Version = (2, 1, 326)
"""2.1.37 and 2.1.62 ignore a changed plan in the answer and go by the file; 2.1.326 uses it."""

STOP = "The user keeps the plan and stops here."
FRESH = "The user starts over with this plan in a fresh conversation."
EDITED = "The user edited the plan. Use exactly this one:\n\n"
IMPLEMENT = "Implement this plan:\n\n"
PICTURES = "Not yet: the user answers with pictures. Look at the message that comes with this one."
APPROVED = "The user approved the plan. Carry it out:\n\n"
APPROVED_UNSEEN = "The user approved the plan. Continue with it."
SENT_BACK = "The user does not approve the plan yet. Stay in plan mode:\n\n"
NO_TEXT = "Claude gave no plan text, so there is nothing to start afresh with; go on, or ask for an outline"
UNSEEN = "no text of the plan was found: Claude is told to go on with the plan that it has in mind"


class Fresh(Struct, frozen=True):
    """Start over with this plan: give the CLI ``deny``, end the process, begin a new one in ``mode`` with ``prompt``."""

    plan: str
    prompt: str
    deny: Deny
    mode: str = "acceptEdits"


class Woken(Struct, frozen=True):
    """What the next process is told first. ``mode`` None: it stays in plan mode. ``warning``: what the person should know."""

    prompt: str
    mode: str | None = None
    fresh: bool = False
    warning: str = ""


Asked = Mapping[str, Any]


def check_plan(command: commands.Answer) -> None:
    """Combinations that can't be meant of any plan. Raises ``UsageError``."""
    way = command.plan
    behavior = _BEHAVIOR[way] if way is not None else command.behavior
    if command.behavior != behavior:
        raise UsageError(f"plan={way} goes with behavior={behavior}")
    if command.mode is not None and (way not in ("fresh", "keep_edits") or command.mode not in MODES):
        raise UsageError(f"a mode goes with plan=fresh or keep_edits, and is one of {', '.join(MODES)}")
    if (command.for_seconds is not None) != (command.mode == BYPASS):
        raise UsageError("bypassPermissions needs for_seconds, e.g. 900; no other mode has a length")
    if command.allowed_prompts and way not in ("fresh", "keep_edits", "keep_ask"):
        raise UsageError("allowed_prompts go with plan=fresh, keep_edits or keep_ask")
    if command.content is not None and way != "revise":
        raise UsageError("pictures go with plan=revise")
    if command.compact and way not in ("keep_edits", "keep_ask"):
        raise UsageError("compact goes with plan=keep_edits or keep_ask: a fresh start has nothing to compact")


def mode_of(command: commands.Answer) -> str | None:
    """The mode that is chosen with it; None where it stays what it is, or is the CLI's to choose."""
    return command.mode or {"fresh": "acceptEdits", "keep_edits": "acceptEdits", "keep_ask": "default"}.get(command.plan or "")


def plan_reply(command: commands.Answer, asked: Asked, question: QuestionView, version: Version | None) -> Allow | Deny | Fresh:
    """To the CLI that asks. Raises ``UsageError``, or ``Conflict`` for what this plan can't be answered with."""
    check_plan(command)
    _mode_exists(command, version)
    if command.plan is None:
        if command.behavior == "deny":
            return Deny(command.message or (STOP if command.interrupt else DENIED), interrupt=command.interrupt)
        return _go_on(command, asked, question, version)
    return _REPLY[command.plan](command, asked, question, version)


def _mode_exists(command: commands.Answer, version: Version | None) -> None:
    since = NEWER_MODES.get(command.mode or "")
    if since is not None and (version is None or version < since):
        raise Conflict(f"this Claude Code has no mode {command.mode}")


def _go_on(command: commands.Answer, asked: Asked, question: QuestionView, version: Version | None) -> Allow | Deny:
    """The mode goes in the same answer: it holds before the next tool runs."""
    updates = effects(mode_of(command)).updates
    own = command.updated_input
    if own is None or own == asked:
        text = (question.plan or {}).get("text")
        return Allow(None if asked.get("plan") or not text else {**asked, "plan": text}, updates)
    edited = own.get("plan")
    if not isinstance(edited, str) or not edited.strip():
        raise UsageError("your version of the plan goes into updated_input as `plan`, and is not empty")
    if edited != asked.get("plan") and (version is None or version < TAKES_EDITED_PLANS):
        return Deny(f"{EDITED}{edited}")
    return Allow({**asked, **own}, updates)


def _fresh(command: commands.Answer, asked: Asked, question: QuestionView, version: Version | None) -> Fresh:
    text = _text(command, asked, question)
    if text is None:
        raise Conflict(NO_TEXT)
    return Fresh(text, f"{IMPLEMENT}{text}", Deny(FRESH, interrupt=True), mode_of(command) or "acceptEdits")


def _text(command: commands.Answer, asked: Asked, question: QuestionView) -> str | None:
    given = command.updated_input if command.updated_input is not None else asked
    text = given.get("plan") or (question.plan or {}).get("text")
    return text if isinstance(text, str) and text.strip() else None


def _revise(command: commands.Answer, asked: Asked, question: QuestionView, version: Version | None) -> Deny:
    words = (command.message or "").strip()
    if not words and not command.content:
        raise UsageError("say in message what should change: without a word or a picture Claude can't plan on")
    return Deny((command.message or "") if words else PICTURES, interrupt=command.interrupt)


_Act = Callable[[commands.Answer, Asked, QuestionView, Version | None], Allow | Deny | Fresh]

_BEHAVIOR = {
    "fresh": "allow", "keep_edits": "allow", "keep_ask": "allow", "revise": "deny", "outline": "deny", "stop": "deny",
}  # fmt: skip

_REPLY: dict[str, _Act] = {
    "fresh": _fresh,
    "keep_edits": _go_on,
    "keep_ask": _go_on,
    "revise": _revise,
    "outline": lambda command, *_: Deny(command.message or OUTLINE, interrupt=command.interrupt),
    "stop": lambda command, *_: Deny(command.message or STOP, interrupt=True),
}
"""A choice of the plan's card → what it does."""


# -- where the process that asked is gone


def plan_woken(command: commands.Answer, asked: Asked, question: QuestionView) -> Woken:
    """What its conversation, or a fresh one, is told when it is woken. Raises as ``plan_reply``."""
    check_plan(command)
    text = _text(command, asked, question)
    if command.plan == "fresh":
        if text is None:
            raise Conflict(NO_TEXT)
        return Woken(f"{IMPLEMENT}{text}", mode_of(command), fresh=True)
    if command.behavior == "allow":
        mode = mode_of(command) or "default"
        return Woken(f"{APPROVED}{text}", mode) if text else Woken(APPROVED_UNSEEN, mode, warning=UNSEEN)
    if command.plan == "revise":
        return Woken(f"{SENT_BACK}{_revise(command, asked, question, None).message}")
    if command.plan == "outline":
        return Woken(command.message or OUTLINE)
    if command.plan is None and command.message:
        return Woken(f"{SENT_BACK}{command.message}")
    raise Conflict("the process that asked has ended, so nothing goes on; the plan stays readable", code="asleep")
