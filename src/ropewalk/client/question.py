"""A question as a program sees it: what is asked, what may be offered, how to answer. Refuses to answer by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..protocol.answers import Allow, Choice, choices_of, choose
from ..protocol.control import CanUseTool, ControlRequest


class Question:
    """What ``on_question`` is given. Return ``Allow(…)`` or ``Deny(…)``; None leaves it open for ``Client.control_response``."""

    __slots__ = ("message",)

    def __init__(self, message: ControlRequest) -> None:
        self.message = message

    def __repr__(self) -> str:
        return f"<Question {self.request_id} {self.kind}: {self.tool_name} {self.input!r}>"

    @property
    def request_id(self) -> str:
        """The handle of the answer."""
        return self.message.request_id

    @property
    def asked(self) -> CanUseTool:
        """Every field that the CLI sent, typed."""
        asked = self.message.request
        return asked if isinstance(asked, CanUseTool) else CanUseTool()

    @property
    def kind(self) -> str:
        """``permission``, ``plan`` (ExitPlanMode), ``choice`` (AskUserQuestion) or ``dialog``."""
        if not isinstance(self.message.request, CanUseTool):
            return "dialog"
        return {"ExitPlanMode": "plan", "AskUserQuestion": "choice"}.get(self.tool_name, "permission")

    @property
    def tool_name(self) -> str:
        return self.asked.tool_name

    @property
    def input(self) -> dict[str, Any]:
        """What would run. Empty when it could not be read (then ``message.raw`` has it, and an unchanged Allow returns it)."""
        return self.asked.input

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        """The CLI's own "always allow" offers: return one of them unchanged in ``Allow(updated_permissions=[…])``."""
        return self.asked.permission_suggestions

    @property
    def needs_person(self) -> bool:
        """Never to be answered by a rule: plans, choices, and whatever the CLI marks so."""
        return self.kind != "permission" or bool(self.asked.requires_user_interaction)

    @property
    def plan(self) -> str | None:
        """The plan's text, where the CLI sent it."""
        plan = self.input.get("plan")
        return plan if isinstance(plan, str) else None

    @property
    def choices(self) -> list[Choice]:
        """The questions of an AskUserQuestion."""
        return choices_of(self.input)

    def choose(self, answers: Mapping[str, str | Sequence[str]], notes: Mapping[str, str] | None = None) -> Allow:
        """The answer to an AskUserQuestion, by question text: a label, several, or free words."""
        return choose(self.input, answers, notes)
