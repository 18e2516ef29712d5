"""What a question can be answered with, and the check that an answer is whole. Refuses half-filled ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..errors import LocalProtocolError
from .control import CanUseTool, ControlRequest
from .versions import DESTINATIONS, RUNS_TWICE_BY_TOOL_ID, UPDATE_KINDS, Version, mode_is_legal

DENIED = "The user denied this."
"""What the model reads when a denial was given no words of its own; without any, older CLIs tell it of a schema error."""


class Allow(Struct, frozen=True):
    """Let it run: as it was asked, or with ``updated_input`` in its place (the whole input; that is what runs).

    ``updated_permissions``: entries of ``permission_suggestions`` unchanged, or your own. Return one suggestion at a time:
    all of them together change the session's mode.
    """

    updated_input: Mapping[str, Any] | None = None
    updated_permissions: Sequence[Mapping[str, Any]] = ()


class Deny(Struct, frozen=True):
    """Don't let it run. The model reads ``message`` and goes on; with ``interrupt`` the turn ends."""

    message: str = DENIED
    interrupt: bool = False


class Reply(Struct, frozen=True):
    """A plain success with a payload: for hooks, MCP messages and dialogs."""

    payload: Mapping[str, Any] = {}


class Refusal(Struct, frozen=True):
    """An error in place of an answer. A tool is then refused and the model reads the words."""

    error: str


Answer = Allow | Deny | Reply | Refusal


class Option(Struct, frozen=True):
    label: str
    description: str | None = None


class Choice(Struct, frozen=True):
    """One question of an AskUserQuestion. Its text is the key of its answer."""

    question: str
    header: str | None
    multiple: bool
    options: tuple[Option, ...]


def choices_of(tool_input: Mapping[str, Any]) -> list[Choice]:
    """The questions of an AskUserQuestion input; options as strings or objects, ``multiSelect`` or ``multi_select``."""
    listed = tool_input.get("questions")
    return [_choice(one) for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []


def choose(
    tool_input: Mapping[str, Any], answers: Mapping[str, str | Sequence[str]], notes: Mapping[str, str] | None = None
) -> Allow:
    """The answer to an AskUserQuestion: question text → label, several labels, or free text.

    Raises ``LocalProtocolError`` on a text that was not asked.
    """
    told = {text: answer if isinstance(answer, str) else ", ".join(answer) for text, answer in answers.items()}
    updated: dict[str, Any] = {**tool_input, "answers": told}
    if notes:
        updated["annotations"] = {text: {"notes": note} for text, note in notes.items()}
    _check_choice(tool_input, updated)
    return Allow(updated)


def payload_of(question: ControlRequest, answer: Answer, version: Version | None) -> dict[str, Any]:
    """The inner ``response`` of a success. Raises ``LocalProtocolError`` when the answer does not fit the question."""
    asked = question.request
    if isinstance(asked, CanUseTool):
        if isinstance(answer, Allow):
            if answer.updated_input is None and "input" in question.misfits and not question.input_raw:
                raise LocalProtocolError("the input could not be read: allow it with the whole updated_input, or deny")
            return _allow(asked, answer, version, bool(question.input_raw))
        if isinstance(answer, Deny):
            return _deny(asked, answer, version)
        raise LocalProtocolError(f"a permission question is answered with Allow, Deny or Refusal, not {type(answer).__name__}")
    if isinstance(answer, Reply) and isinstance(answer.payload, Mapping):
        return dict(answer.payload)
    raise LocalProtocolError(f"{type(asked).__name__} is answered with Reply or Refusal, not {type(answer).__name__}")


def _allow(asked: CanUseTool, answer: Allow, version: Version | None, unread: bool) -> dict[str, Any]:
    if not isinstance(answer.updated_input, Mapping | None):
        raise LocalProtocolError("updated_input is the tool's whole input, an object")
    updated = dict(asked.input) if answer.updated_input is None else dict(answer.updated_input)
    if (asked.input or (unread and answer.updated_input is not None)) and not updated:
        raise LocalProtocolError("an allow carries the whole input; leave updated_input out to run it as it was asked")
    if asked.tool_name == "AskUserQuestion" and answer.updated_input is not None:
        _check_choice(asked.input, updated)
    payload: dict[str, Any] = {"behavior": "allow", "updatedInput": updated}
    if answer.updated_permissions:
        payload["updatedPermissions"] = [check_update(one, version) for one in answer.updated_permissions]
    return _with_tool(asked, payload, version)


def _deny(asked: CanUseTool, answer: Deny, version: Version | None) -> dict[str, Any]:
    if not answer.message or not isinstance(answer.message, str):
        raise LocalProtocolError("a denial needs a message for the model to read; leave it out for a plain one")
    payload: dict[str, Any] = {"behavior": "deny", "message": answer.message}
    if answer.interrupt:
        payload["interrupt"] = True
    return _with_tool(asked, payload, version)


def _with_tool(asked: CanUseTool, payload: dict[str, Any], version: Version | None) -> dict[str, Any]:
    if asked.tool_use_id and (version is None or version > RUNS_TWICE_BY_TOOL_ID):
        payload["toolUseID"] = asked.tool_use_id
    return payload


def check_update(update: Mapping[str, Any], version: Version | None) -> dict[str, Any]:
    """One entry of ``updatedPermissions``. Raises ``LocalProtocolError``: older CLIs refuse the whole answer over a bad one."""
    kind = update.get("type") if isinstance(update, Mapping) else update
    needs = UPDATE_KINDS.get(kind) if isinstance(kind, str) else None
    if needs is None:
        raise LocalProtocolError(f"no permission update {kind!r}; there are {', '.join(UPDATE_KINDS)}")
    missing = [name for name in (*needs, "destination") if name not in update]
    if missing:
        raise LocalProtocolError(f"the permission update {kind} lacks {', '.join(missing)}")
    if str(update["destination"]) not in DESTINATIONS:
        raise LocalProtocolError(f"no destination {update['destination']!r}; there are {', '.join(sorted(DESTINATIONS))}")
    odd = [name for name in needs if not _FITS[name](update[name])]
    if odd or (kind == "setMode" and not mode_is_legal(update["mode"], version)):
        name = odd[0] if odd else "mode"
        raise LocalProtocolError(f"{update[name]!r} can't be the {name} of the permission update {kind}")
    return dict(update)


def _are_rules(value: object) -> bool:
    """A rule without content is about the whole tool."""
    return isinstance(value, list | tuple) and all(
        isinstance(rule, Mapping)
        and isinstance(rule.get("toolName"), str)
        and isinstance(rule.get("ruleContent", ""), str | None)
        for rule in value
    )


_FITS: dict[str, Callable[[object], bool]] = {
    "rules": _are_rules,
    "behavior": lambda value: value in ("allow", "deny", "ask"),
    "mode": lambda value: isinstance(value, str),
    "directories": lambda value: isinstance(value, list | tuple) and all(isinstance(one, str) for one in value),
}


def _check_choice(asked: Mapping[str, Any], updated: dict[str, Any]) -> None:
    if "answers" not in updated:
        raise LocalProtocolError("an AskUserQuestion is answered with its questions and answers; see choose()")
    if not isinstance(updated["answers"], Mapping):
        raise LocalProtocolError("`answers` maps each question's text to its answer; see choose()")
    updated.setdefault("questions", asked.get("questions", []))
    texts = {choice.question for choice in choices_of(asked)}
    strangers = [key for key in updated["answers"] if texts and key not in texts]
    if strangers:
        raise LocalProtocolError(f"no question {strangers[0]!r} was asked; the key is the question's exact text")


def _choice(fields: Mapping[str, Any]) -> Choice:
    listed = fields.get("options")
    options = tuple(_option(one) for one in listed) if isinstance(listed, list) else ()
    multiple = bool(fields.get("multiSelect", fields.get("multi_select", False)))
    header = fields.get("header")
    return Choice(str(fields.get("question", "")), header if isinstance(header, str) else None, multiple, options)


def _option(entry: object) -> Option:
    if isinstance(entry, Mapping):
        description = entry.get("description")
        return Option(str(entry.get("label", "")), description if isinstance(description, str) else None)
    return Option(str(entry))
