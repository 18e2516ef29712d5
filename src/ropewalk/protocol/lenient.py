"""JSON past what the fast codec takes: lone surrogates, numbers of any size, any depth. Refuses to guess what is no JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from re import DOTALL
from re import compile as pattern
from typing import Any

import msgspec

MAX_DIGITS = 4000
"""Python refuses to read integers past 4,300 digits; a longer one is kept as its digits."""


class Numeral(str):
    """A number that no float or int can hold, kept as it was written."""

    __slots__ = ()


def load(text: bytes) -> Any:
    """The value in ``text``. Raises ``ValueError`` when it is no JSON and ``RecursionError`` when it is nested too deep."""
    return _DECODER.decode(text.decode("utf-8", "surrogateescape").removeprefix("\ufeff").strip())


def dump(value: Any) -> bytes:
    """``value`` in plain ASCII, however deep: what is no legal Unicode goes out as escapes, as it came. No recursion.

    Raises ``TypeError`` for what JSON has no word for and ``ValueError`` for a value that contains itself.
    """
    out: list[str] = []
    around: set[int] = set()  # the containers that hold what is being written
    todo: list[Any] = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, _Text):
            out.append(one)
        elif isinstance(one, _End):
            around.remove(one.container)
        elif isinstance(one, Mapping | list | tuple):
            if id(one) in around:
                raise ValueError("a value that contains itself can't be JSON")
            around.add(id(one))
            todo += reversed([*_parts(one), _End(id(one))])
        elif isinstance(one, str | int | float | None):
            out.append(_scalar(one))
        else:
            todo.append(msgspec.to_builtins(one))  # structs, dates, bytes …
    return "".join(out).encode("ascii")


class _Text(str):
    """Finished JSON."""

    __slots__ = ()


@dataclass(slots=True)
class _End:
    container: int


def _parts(container: Any) -> Iterator[Any]:
    if isinstance(container, Mapping):
        yield _Text("{")
        for number, (key, entry) in enumerate(container.items()):
            yield _Text(f"{',' if number else ''}{json.dumps(str(key))}:")
            yield entry
        yield _Text("}")
    else:
        yield _Text("[")
        for number, entry in enumerate(container):
            yield _Text("," if number else "")
            yield entry
        yield _Text("]")


def _scalar(value: str | int | float | None) -> str:
    if isinstance(value, Numeral):
        return str(value)
    return json.dumps(value) if not isinstance(value, float) or isfinite(value) else "null"


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= MAX_DIGITS else Numeral(digits)


def _float(text: str) -> Any:
    number = float(text)
    return number if number not in (float("inf"), float("-inf")) else Numeral(text)


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=lambda _: None, strict=False)


_STRICT = json.JSONDecoder(parse_int=Numeral, parse_float=Numeral, parse_constant=lambda name: float(f"not {name}"))


# A line nested deeper than any parser goes is taken apart by position: where each member of an object ends is found by counting
# brackets, and only those that are not too deep themselves are read.

_KEY = pattern(rb'[\s,]*"((?:[^"\\]++|\\.)*+)"\s*:\s*', DOTALL)
_CLOSE = pattern(rb"\s*}")
_SCALAR = pattern(rb'"(?:[^"\\]++|\\.)*+"|[^\s,{}\[\]"]+', DOTALL)
_BRACKETS = pattern(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([\[{]+|[\]}]+)', DOTALL)

SLICE = 200
"""Levels that are read at once while a deep value is checked: fewer than what is left of the stack anywhere."""


Path = tuple[str, ...]


def read_apart(
    line: bytes, start: int, into: frozenset[str], too_deep: dict[Path, bytes], path: Path = ()
) -> tuple[dict[str, Any], int]:
    """The object that begins at ``start``, less what is too deep, and where it ends (0: it does not). ``into``: members that
    are themselves taken apart; ``too_deep``: gets the bytes of each member that was left out."""
    fields: dict[str, Any] = {}
    at = start + 1
    while at and (key := _KEY.match(line, at)) is not None:
        name, begin = _name(key[1]), key.end()
        if name in into and line[begin : begin + 1] == b"{":
            fields[name], at = read_apart(line, begin, frozenset(), too_deep, (*path, name))
            continue
        at = _end_of(line, begin)
        try:
            fields[name] = load(line[begin:at])
        except RecursionError:
            too_deep[(*path, name)] = line[begin:at]
        except ValueError:
            return fields, 0
    end = _CLOSE.match(line, at) if at else None
    return fields, end.end() if end else 0


def _end_of(line: bytes, start: int) -> int:
    """Where the value that begins at ``start`` ends; 0 when it does not."""
    if line[start : start + 1] not in (b"{", b"["):
        scalar = _SCALAR.match(line, start)
        return scalar.end() if scalar else 0
    depth, at = 0, start
    while (run := _BRACKETS.match(line, at)) is not None:  # never a search: that would be quadratic on half a string
        first, at = run.span(1)
        if line[first] in b"{[":
            depth += at - first
        elif depth <= at - first:
            return first + depth
        else:
            depth -= at - first
    return 0


def is_whole(text: bytes) -> bool:
    """Is this one JSON value, however deep? Every ``SLICE`` levels the inside is read by itself and leaves a 0 behind."""
    outer: list[list[bytes]] = [[]]
    depth = at = begin = 0
    while (run := _BRACKETS.match(text, at)) is not None:
        first, at = run.span(1)
        for here in range(first, at):
            if text[here] in b"{[":
                depth += 1
                if depth % SLICE == 0:
                    outer[-1].append(text[begin:here])
                    outer.append([])
                    begin = here
            else:
                if depth and depth % SLICE == 0:
                    if not _is_json(b"".join(outer.pop()) + text[begin : here + 1]):
                        return False
                    outer[-1].append(b"0")
                    begin = here + 1
                depth -= 1
                if depth < 0:
                    return False
    return depth == 0 and _is_json(b"".join(outer[0]) + text[begin:])


def _is_json(text: bytes) -> bool:
    try:
        _STRICT.decode(text.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return False
    return True


def _name(key: bytes) -> str:
    try:
        return str(load(b'"' + key + b'"'))
    except ValueError:
        return key.decode("utf-8", "replace")
