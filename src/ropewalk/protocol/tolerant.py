"""The second reader, for lines that the fast one refuses: lone surrogates, huge numbers, depth, odd fields. Never raises.

Legal JSON that msgspec refuses still has to be a question that can be answered and a result that ends a turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from . import content, control, messages, stream, system
from .lenient import dump, is_whole, load, read_apart
from .messages import Message

_MISFIT = (msgspec.ValidationError, TypeError, ValueError, RecursionError)

MOST_MISFITS = 100
"""A list or object with more entries that don't fit is a misfit as a whole: a million of them would hold up the loop."""


def read(line: bytes) -> Message:
    """The best message that can be made of ``line``; its ``raw`` is always the line."""
    message = _read(line)
    message.raw = line
    return message


def _read(line: bytes) -> Message:
    if line[:1] == b"[":
        return messages.Garbage()  # no message, however long it would take to see the whole of it
    try:
        found = load(line)
    except RecursionError:
        return _read_apart(line)
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
    if isinstance(message, control.ControlRequest) and "input" in misfits:
        message.input_raw = _dump_input(fields)
    return message


def _dump_input(fields: dict[str, Any]) -> bytes:
    """An input that is no object (no CLI was seen to send one): an unchanged allow returns it all the same."""
    try:
        return dump(fields["request"]["input"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return b""


def _struct(known: type[Any], fields: dict[str, Any], misfits: list[str]) -> Any:
    values: dict[str, Any] = {}
    hints = _hints(known)
    for name in known.__struct_fields__:
        if name in fields and name in hints:
            try:
                values[name] = _value(hints[name], fields[name], misfits)
            except _MISFIT:
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
            return list(_entries(get_args(option)[0], enumerate(value), misfits).values())
        if isinstance(value, dict) and get_origin(option) is dict:
            return _entries(get_args(option)[1], value.items(), misfits)
    return msgspec.convert(value, wanted, strict=False)


def _entries(wanted: Any, listed: Iterable[tuple[Any, Any]], misfits: list[str]) -> dict[Any, Any]:
    """Those that fit; one that does not costs only itself."""
    kept: dict[Any, Any] = {}
    takes_text = str in _options(wanted)
    for key, entry in listed:
        if takes_text and type(entry) is str:
            kept[key] = entry
            continue
        if len(misfits) > MOST_MISFITS:
            raise ValueError("too many entries that don't fit")
        try:
            kept[key] = _value(wanted, entry, misfits)
        except _MISFIT:
            misfits.append(f"[{key}]")
    return kept


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


_TAKEN_APART = frozenset({"request", "response", "message"})
"""Members whose own members count one by one; elsewhere half an object would be worse than none."""


def _read_apart(line: bytes) -> Message:
    """A line nested deeper than any parser goes: all of it but the members that are too deep, which are named in ``misfits``."""
    begin = line.find(b"{")
    too_deep: dict[tuple[str, ...], bytes] = {}
    fields, end = read_apart(line, begin, _TAKEN_APART, too_deep)
    if line[:begin].strip(b"\xef\xbb\xbf \t\r") or not end:
        return messages.Garbage()
    message = message_from(fields)
    message.misfits = (*message.misfits, *(path[-1] for path in too_deep))
    given = too_deep.get(("request", "input"), b"")
    if isinstance(message, control.ControlRequest) and given and is_whole(given):
        message.input_raw = given
    return message
