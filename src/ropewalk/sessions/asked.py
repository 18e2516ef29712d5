"""A question of the CLI as faces show it, and an answer as the CLI takes it. Pure; refuses answers that can't be meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..events import commands
from ..events.views import QuestionView
from ..protocol.answers import Allow, Deny, Refusal, Reply
from ..protocol.control import ControlRequest
from ..protocol.versions import Version


class Fresh(Struct, frozen=True):
    """Start over with this plan: give the CLI ``deny``, end the process, begin a new one with ``prompt``, accepting edits."""

    plan: str
    prompt: str
    deny: Deny


def question_view(
    request: ControlRequest, *, session: str, question_id: str, cwd: str, at: float, origin: str | None = None,
    session_title: str = "", exists: bool | None = None,
) -> QuestionView:  # fmt: skip
    """``origin``: the sub-agent in words (``Translator.agent_words``). ``exists``: whether the file to be written is there."""
    return QuestionView(id=question_id, session=session, asks="permission", cwd=cwd, opened_at=at)


def answer_from(
    question: QuestionView, command: commands.Answer, version: Version | None, given: Mapping[str, Any] | None = None
) -> Allow | Deny | Reply | Refusal | Fresh:
    """What the CLI is told. ``given``: the input as the CLI sent it, where its process lives; else the view's.

    Raises ``UsageError`` for what can't be meant, ``Conflict`` for what this question can't be answered with now.
    """
    return Allow()
