"""The second reader, for lines that the fast one refuses: lone surrogates, huge numbers, depth, fields of another type. Never raises.

Legal JSON that msgspec refuses still has to be a question that can be answered and a result that ends a turn.
"""

from __future__ import annotations

import json
import re
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from . import content, control, messages, stream, system
from .messages import Message

MAX_DIGITS = 4000
"""Python refuses to read integers past 4,300 digits; a longer one is kept as its digits."""


class Numeral(str):
    """A number that no float or int can hold, kept as it was written."""

    __slots__ = ()


def read(line: bytes) -> Message:
    """The best message that can be made of ``line``; its ``raw`` is always the line."""
    message = _read(line)
    message.raw = line
    return message


def _read(line: bytes) -> Message:
    try:
        found = _DECODER.decode(line.decode("utf-8", "surrogateescape").strip())
    except RecursionError:
        return _read_shallow(line)
    except ValueError:
        return messages.Garbage()
    if not isinstance(found, dict):
        return messages.Garbage()
    return message_from(found)


def message_from(fields: dict[str, Any]) -> Message:
    """A message from a parsed object, part by part: what fits is typed, what does not is named in ``misfits``."""
    kind = fields.get("type")
    if not isinstance(kind, str):
        return messages.Unknown()
    if kind == "system":
        return _system_from(fields)
    known = BY_TYPE.get(kind)
    if known is not None:
        return _message(known, fields)
    named = messages.Tidings if kind in messages.NAMED_ONLY else messages.Unknown
    return named(type=kind, session_id=_text(fields, "session_id"), uuid=_text(fields, "uuid"))


def _system_from(fields: dict[str, Any]) -> Message:
    subtype = fields.get("subtype")
    known = SYSTEM_BY_SUBTYPE.get(subtype) if isinstance(subtype, str) else None
    if known is not None:
        return _message(known, fields)
    name = subtype if isinstance(subtype, str) else ""
    named = system.OtherSystem if name in system.NAMED_ONLY_SUBTYPES else system.UnknownSystem
    return named(subtype=name, session_id=_text(fields, "session_id"), uuid=_text(fields, "uuid"))


def _message(known: type[Message], fields: dict[str, Any]) -> Message:
    misfits: list[str] = []
    message: Message = _struct(known, fields, misfits)
    message.misfits = tuple(misfits)
    return message


def _struct(known: type[Any], fields: dict[str, Any], misfits: list[str]) -> Any:
    values: dict[str, Any] = {}
    hints = _hints(known)
    for name in known.__struct_fields__:
        if name in fields and name in hints:
            try:
                values[name] = _value(hints[name], fields[name], misfits)
            except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
                misfits.append(name)
    return known(**values)


def _value(wanted: Any, value: Any, misfits: list[str]) -> Any:
    """``value`` as ``wanted``; unions of tagged structs fall back to their Unknown…, lists do so entry by entry."""
    if wanted is Any:
        return value
    union = _TAGGED.get(wanted) or _TAGGED.get(_without_none(wanted))
    if union is not None and isinstance(value, dict):
        return _tagged(union, value, misfits)
    for option in _options(wanted):
        if isinstance(value, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            return _struct(option, value, misfits)
        if isinstance(value, list) and get_origin(option) is list:
            return [_value(get_args(option)[0], entry, misfits) for entry in value]
        if isinstance(value, dict) and get_origin(option) is dict:
            return {key: _value(get_args(option)[1], entry, misfits) for key, entry in value.items()}
    return msgspec.convert(value, wanted, strict=False)


def _tagged(union: _Union, value: dict[str, Any], misfits: list[str]) -> Any:
    tag = value.get(union.field)
    known = union.by_tag.get(tag) if isinstance(tag, str) else None
    if known is not None:
        return _struct(known, value, misfits)
    return union.unknown(tag if isinstance(tag, str) else "", value)


class _Union:
    """A family of structs told apart by one field, and what stands in for a stranger."""

    def __init__(self, members: Any, unknown: type[Any]) -> None:
        self.by_tag = {str(one.__struct_config__.tag): one for one in get_args(members)}
        self.field = str(get_args(members)[0].__struct_config__.tag_field)
        self.unknown = unknown


_TAGGED: dict[Any, _Union] = {
    content.KnownBlock: _Union(content.KnownBlock, content.UnknownBlock),
    stream.KnownEvent: _Union(stream.KnownEvent, stream.UnknownEvent),
    stream.KnownDelta: _Union(stream.KnownDelta, stream.UnknownDelta),
    control.KnownQuestion: _Union(control.KnownQuestion, control.UnknownQuestion),
}

TOP = (
    messages.Assistant | messages.User | messages.StreamEvent | messages.Result | messages.CommandLifecycle
    | messages.ConversationReset | messages.RateLimitEvent | messages.ToolProgress | messages.ToolUseSummary
    | messages.KeepAlive | messages.AuthStatus | messages.StreamlinedText | messages.StreamlinedToolUseSummary
    | messages.PromptSuggestion | messages.ErrorLine
    | control.ControlRequest | control.ControlResponse | control.ControlCancelRequest
)  # fmt: skip
"""Every type of line that has a struct of its own, ``system`` aside."""

BY_TYPE: dict[str, type[Message]] = {str(one.__struct_config__.tag): one for one in get_args(TOP)}
SYSTEM_BY_SUBTYPE: dict[str, type[Message]] = {str(one.__struct_config__.tag): one for one in get_args(system.KnownSystem)}

_hint_cache: dict[type[Any], dict[str, Any]] = {}


def _hints(known: type[Any]) -> dict[str, Any]:
    if known not in _hint_cache:
        hidden = {
            name for name, wire in zip(known.__struct_fields__, known.__struct_encode_fields__, strict=True) if wire[0] == " "
        }
        _hint_cache[known] = {name: hint for name, hint in get_type_hints(known).items() if name not in hidden}
    return _hint_cache[known]


def _options(wanted: Any) -> tuple[Any, ...]:
    return get_args(wanted) if get_origin(wanted) in (Union, UnionType) else (wanted,)


def _without_none(wanted: Any) -> Any:
    options = [one for one in _options(wanted) if one is not type(None)]
    return options[0] if len(options) == 1 else wanted


def _text(fields: dict[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= MAX_DIGITS else Numeral(digits)


def _float(text: str) -> Any:
    number = float(text)
    return number if number not in (float("inf"), float("-inf")) else Numeral(text)


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, strict=False)


# A line nested deeper than any parser here goes: its heads are found by walking tokens, and nothing below the second level is read.

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
MAX_SHALLOW = 16 * 1024 * 1024
"""Bytes of a too deep line that are walked (a few million tokens a second); what identifies it sits near the start on every CLI seen."""


def _read_shallow(line: bytes) -> Message:
    heads, spans = _heads(line[:MAX_SHALLOW])
    kind = heads.get(("type",), "")
    if kind == "control_request":
        start, end = spans.get(("request", "input"), (0, 0))
        asked: Any = control.UnknownQuestion(heads.get(("request", "subtype"), ""), {})
        if asked.subtype == "can_use_tool":
            tool_use_id = heads.get(("request", "tool_use_id"))
            asked = control.CanUseTool(tool_name=heads.get(("request", "tool_name"), ""), tool_use_id=tool_use_id)
        question = control.ControlRequest(request_id=heads.get(("request_id",), ""), request=asked, misfits=("request",))
        question.input_raw = line[start:end]
        return question
    if kind == "control_response":
        answer = control.ControlAnswer(heads.get(("response", "subtype"), ""), heads.get(("response", "request_id"), ""))
        answer.error = heads.get(("response", "error"))
        return control.ControlResponse(response=answer, misfits=("response",))
    fields: dict[str, Any] = {path[0]: text for path, text in heads.items() if len(path) == 1}
    message = message_from(fields)  # numbers and flags come as words here: ``convert`` reads those that it knows
    message.misfits = (*message.misfits, "too deep")
    return message


def _heads(line: bytes) -> tuple[dict[tuple[str, ...], str], dict[tuple[str, ...], tuple[int, int]]]:
    """Scalars of the first two levels by path, and where each value of the second level begins and ends."""
    heads: dict[tuple[str, ...], str] = {}
    spans: dict[tuple[str, ...], tuple[int, int]] = {}
    path: list[str] = []
    depth, key, awaiting_value, began = 0, "", False, 0
    for token in _TOKEN.finditer(line):
        text = token.group()
        if text in (b"{", b"["):
            if depth == 2 and awaiting_value:
                began = token.start()
            depth += 1
            path.append(key) if depth in (2, 3) else None
            awaiting_value = False
        elif text in (b"}", b"]"):
            depth -= 1
            if depth in (1, 2) and path:
                ended = tuple(path)
                path.pop()
                if depth == 2:
                    spans[ended] = (began, token.end())
        elif text == b":":
            awaiting_value = True
        elif text == b",":
            awaiting_value = False
        elif depth <= 2:
            if awaiting_value:
                heads.setdefault((*path, key), _scalar(text))
                awaiting_value = False
            else:
                key = _scalar(text)
    return heads, spans


def _scalar(token: bytes) -> str:
    try:
        return (
            str(json.loads(token.decode("utf-8", "surrogateescape"), strict=False))
            if token[:1] == b'"'
            else token.decode("ascii", "replace")
        )
    except ValueError:
        return ""
