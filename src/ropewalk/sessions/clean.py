"""Makes of what a CLI said something that every JSON reader takes, and no longer than an event may be. Refuses to raise."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..events.events import TEXT_LIMIT

_HALF = re.compile(rb"\\u[dD]")

DEEPEST = 64
"""Levels of nesting that an event keeps; the line has the rest. Readers of JSON give up at a few hundred."""
LONG = 4096
"""Characters that are kept of each text in an input that is too long as a whole."""
MANY = 1000
"""Entries that are kept of each list or object in such an input."""


def cut(text: str) -> tuple[str, bool]:
    """At most ``TEXT_LIMIT`` characters, and whether some are missing."""
    return (text, False) if len(text) <= TEXT_LIMIT else (text[:TEXT_LIMIT], True)


def readable(raw: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes U+FFFD."""
    return raw.decode("utf-8", "replace")


def is_clean(raw: bytes) -> bool:
    """Can no text of this line hold half a character? (False for escaped pairs too: those are looked at one by one.)"""
    if b"\\" in raw and _HALF.search(raw) is not None:  # one letter is looked for twenty times as fast as three
        return False
    if raw.isascii():
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def whole(text: str) -> str:
    """Lone surrogates become U+FFFD; a pair of them that stands together, one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def harmless(value: Any, depth: int = DEEPEST) -> Any:
    """``value`` with whole characters only, and None for what lies too deep."""
    if isinstance(value, str):
        return whole(str(value))  # a number that no float can hold is a kind of text: it becomes one
    if isinstance(value, Mapping):
        return {whole(str(key)): harmless(entry, depth - 1) for key, entry in value.items()} if depth else None
    if isinstance(value, list | tuple):
        return [harmless(entry, depth - 1) for entry in value] if depth else None
    return value


def is_flat(given: Mapping[str, Any]) -> bool:
    """No value holds others: nothing can lie too deep."""
    for value in given.values():  # noqa: SIM110  # every tool call goes through here, and any() costs a generator
        if type(value) is dict or type(value) is list:
            return False
    return True


def shortened(value: Any, depth: int = 8) -> Any:
    """``value`` with long texts and long lists cut."""
    if isinstance(value, str):
        return value if len(value) <= LONG else value[:LONG]
    if isinstance(value, Mapping):
        return {str(key)[:LONG]: shortened(value[key], depth - 1) for key in list(value)[:MANY]} if depth else None
    if isinstance(value, list):
        return [shortened(entry, depth - 1) for entry in value[:MANY]] if depth else None
    return value


def scrub(struct: Struct) -> None:
    """All texts of an event made of whole characters, in place."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, str | dict | list):
            setattr(struct, name, harmless(value))
