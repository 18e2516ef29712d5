"""What hypothesis draws from: recorded lines, cuts, mutations, and values that JSON can hold. Holds no expectations."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from tests.protocol.captures import every_line, every_process


def tries(count: int) -> settings:
    """So many examples where an ordinary test has 100: fewer or more by the profile that tests/conftest.py loaded."""
    return settings(max_examples=max(1, count * settings().max_examples // 100))


SPEAKING = tuple(one for one in every_process() if one.out)
"""The recorded processes that said something."""

TEXT = st.text(st.characters(codec=None), max_size=20)
"""Any text, lone surrogates included."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=5)


@st.composite
def mutated_lines(draw: st.DrawFn) -> bytes:
    """A recorded line with something done to it: to its bytes, or to its keys and values."""
    _, raw = draw(st.sampled_from(every_line()))
    chance = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(1, 3))):
        raw = draw(st.sampled_from([flip, cut, insert, drop_key, swap_value, swap_two]))(raw, chance)
    return raw.replace(b"\n", b" ") or b"x"


def flip(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw) or 1)
    return raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :]


def cut(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw) or 1)
    return raw[:at] + raw[at + chance.choice([1, 1, 5, 50, len(raw)]) :]


def insert(raw: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(raw) or 1)
    pieces = [b'"', b"{", b"}", b"[", b"\\", b"\\ud800", b"null", b",", b"1e999", b"\x00", b"\xff", b"9" * 5000, b"[" * 1500]
    return raw[:at] + chance.choice(pieces) + raw[at:]


def drop_key(raw: bytes, chance: random.Random) -> bytes:
    return changed(raw, chance, lambda holder, key: holder.pop(key))


def swap_value(raw: bytes, chance: random.Random) -> bytes:
    values: list[Any] = [None, True, 0, -1.5, "", "words", [], {}, [1, {"a": None}], {"type": "odd"}, 10**30, "\ud83d"]
    return changed(raw, chance, lambda holder, key: holder.__setitem__(key, chance.choice(values)))


def swap_two(raw: bytes, chance: random.Random) -> bytes:
    def swap(holder: dict[str, Any], key: str) -> None:
        other = chance.choice(list(holder))
        holder[key], holder[other] = holder[other], holder[key]

    return changed(raw, chance, swap)


def changed(raw: bytes, chance: random.Random, change: Any) -> bytes:
    """The line with ``change`` made to one key of one object in it; as it was when it is no object any more."""
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        return raw
    holders = list(objects_in(found))
    if holders:
        holder = chance.choice(holders)
        change(holder, chance.choice(list(holder)))
    return json.dumps(found).encode()


def objects_in(value: Any) -> Any:
    if isinstance(value, dict):
        if value:
            yield value
        for entry in value.values():
            yield from objects_in(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from objects_in(entry)
