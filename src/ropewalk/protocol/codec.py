"""Lines to messages and objects to lines. Refuses half lines of ours; reading never raises and never loses the raw."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from ..errors import LocalProtocolError
from . import tolerant
from .control import ControlRequest
from .framing import TooLong
from .lenient import dump
from .messages import Dropped, Message
from .system import KnownSystem


class _SystemLine(Message, tag_field="type", tag="system", gc=False):
    """Only tells that a second look, by subtype, is due."""


@cache
def _by_type() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(tolerant.TOP | _SystemLine)


@cache
def _by_subtype() -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(KnownSystem)


def typed() -> Callable[[bytes], Any]:
    """The fast reader alone, for loops that put what it refuses, and system lines, to ``decode``. Leaves ``raw`` unset."""
    return _by_type().decode


def decode(line: bytes | TooLong) -> Message:
    """The message in one line: Unknown… where we have no struct, Garbage where it is no JSON, Dropped where it was too long."""
    if isinstance(line, TooLong):
        return Dropped(raw=line.head, size=line.size)
    try:
        message: Message = _by_type().decode(line)
        kind = type(message)
        if kind is _SystemLine:
            message = _by_subtype().decode(line)
        elif kind is ControlRequest:
            message.input_raw = b""  # type: ignore[attr-defined]  # ours alone to fill, whatever the line holds
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # a ValidationError is a DecodeError
        return tolerant.read(line)
    message.raw = line
    return message


_encode = msgspec.json.Encoder().encode


def encode(fields: Any) -> bytes:
    """One whole line, newline included. Raises ``LocalProtocolError`` for what JSON has no word for."""
    try:
        line = _encode(fields)
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):
        try:
            line = dump(fields)
        except (TypeError, ValueError, RecursionError) as error:
            raise LocalProtocolError(f"this can't be said in JSON: {error}") from None
    return line + b"\n"
