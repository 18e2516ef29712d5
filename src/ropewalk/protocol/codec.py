"""Lines to messages and objects to lines. Reading never raises and never loses the raw; writing yields whole, legal lines or raises."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import msgspec

from . import tolerant
from .messages import Dropped, Message
from .framing import TooLong
from .system import KnownSystem


class _SystemLine(Message, tag_field="type", tag="system", gc=False):
    """Only tells that a second look, by subtype, is due."""


@cache
def _by_type() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(tolerant.TOP | _SystemLine)


@cache
def _by_subtype() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(KnownSystem)


def decode(line: bytes | TooLong) -> Message:
    """The message in one line. What we have no struct for comes as Unknown…, what is no JSON as Garbage, a dropped line as Dropped."""
    if isinstance(line, TooLong):
        return Dropped(raw=line.head, size=line.size)
    try:
        message: Message = _by_type().decode(line)
        if type(message) is _SystemLine:
            message = _by_subtype().decode(line)
    except (msgspec.DecodeError, RecursionError):  # a ValidationError is a DecodeError
        return tolerant.read(line)
    message.raw = line
    return message


_encode = msgspec.json.Encoder().encode


def encode(fields: Any) -> bytes:
    """One whole line, newline included. Text that is no legal Unicode goes out as escapes, as it came."""
    try:
        line = _encode(fields)
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):
        line = _encode_odd(msgspec.to_builtins(fields) if isinstance(fields, msgspec.Struct) else fields).encode("ascii")
    return line + b"\n"


def _encode_odd(value: Any) -> str:
    """JSON in plain ASCII for what the fast encoder refuses: lone surrogates, numbers of any length."""
    if isinstance(value, tolerant.Numeral):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{_encode_odd(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_encode_odd, value)) + "]"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "null"
    return json.dumps(value)
