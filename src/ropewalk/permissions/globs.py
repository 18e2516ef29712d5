"""Globs as in .gitignore, made into patterns that take linear time. Refuses what could be meant in two ways.

Two readings. *Tight*, for allow: only what is written. *Wide*, for deny and ask: any depth where no slash is written, everything
below a folder that matches, and no difference between large and small letters, since some disks make none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import normalize

from ..errors import UsageError

LONGEST = 1000
"""Characters of a pattern: no person writes more."""
_BRACES = re.compile(r"(?<!\\)[{}]")
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
_RANGE = re.compile(r"\{[^{}]*\.\.[^{}]*\}")
_CLASS = re.compile(r"\[(!|\^)?(\]?(?:\\.|[^\]\\/])*)\]")


def check_glob(glob: str) -> None:
    """Raises `UsageError` with a sentence that says how to write it."""
    if len(glob) > LONGEST:
        raise UsageError(f"a path pattern has at most {LONGEST} characters")
    if glob.startswith("!"):
        raise UsageError("a rule can't take back another one: leave out the leading ! and write a deny or allow rule instead")
    if _BRACES.search(glob):
        raise UsageError("braces are not expanded here: write one rule for each name")
    segments = glob.removesuffix("/").split("/")
    if ".." in segments:
        raise UsageError("a rule does not climb with ..: write the folder as //absolute/path or ~/path")
    if "" in segments or "." in segments:
        raise UsageError("write the path without empty or . segments, e.g. src/** or //tmp/build/**")
    for segment in segments:
        _chunks(segment)


@lru_cache(maxsize=4096)
def regex_of(glob: str, *, wide: bool) -> str:
    """The expression that a name, relative to where the rule begins, must match from end to end."""
    folder = glob.endswith("/")
    segments = normalize("NFC", glob.removesuffix("/")).split("/")
    if wide and len(segments) == 1 and segments[0] != "**":
        segments.insert(0, "**")
    if folder and segments[-1] != "**":
        segments.append("**")
    return _joined(segments, wide)


def _joined(segments: list[str], wide: bool) -> str:
    """Between two ``**`` the leftmost place that fits is as good as any other: atomic, so that nothing is tried twice."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    text, open_end = "/".join(groups[0]), segments[-1] == "**"
    below = "(?:/.*)?" if wide else "/.+" if open_end else ""
    rest = ["/".join(group) for group in groups[1:] if group]
    if not rest:
        return text + below if text else below[1:] if not wide else ".*"
    text += "/" if text else ""
    text += "".join(f"(?>(?:[^/]+/)*?{group}/)" for group in rest[:-1])
    return f"{text}(?:[^/]+/)*{rest[-1]}{below}"


def _segment(segment: str) -> str:
    first, *rest = _chunks(segment)
    if not rest:
        return first
    if not first and rest == [""]:
        return "[^/]+"
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle if chunk) + f"[^/]*{last}"


def _chunks(segment: str) -> list[str]:
    """What stands between the stars, as expressions."""
    chunks, at = [""], 0
    while at < len(segment):
        char = segment[at]
        at += 1
        if char == "*":
            chunks.append("")
        elif char == "?":
            chunks[-1] += "[^/]"
        elif char == "[":
            text, at = _class(segment, at - 1)
            chunks[-1] += text
        elif char == "\\":
            if at == len(segment):
                raise UsageError("a path pattern does not end with a backslash: write \\\\ for the character itself")
            chunks[-1] += re.escape(segment[at])
            at += 1
        else:
            chunks[-1] += re.escape(char)
    return chunks


def _class(segment: str, at: int) -> tuple[str, int]:
    found = _CLASS.match(segment, at)
    if found is None or not found[2]:
        raise UsageError("the bracket [ is not closed: write [abc], or \\[ for the character itself")
    inside = re.sub(r"([\[&~|^])", r"\\\1", found[2].replace("]", "\\]") if found[2][0] == "]" else found[2])
    text = f"(?!/)[{'^' if found[1] else ''}{inside}]"
    try:
        re.compile(text)
    except re.error:
        raise UsageError(f"{found[0]} is no range of characters: write the smaller one first, e.g. [a-z]") from None
    return text, found.end()


def unbraced(text: str) -> Iterator[str]:
    """What the braces of a shell or of a search stand for: ``{a,b}`` is either, ``{1..3}`` is anything in one name."""
    found = _CHOICE.search(text)
    if found is None:
        yield _RANGE.sub("*", text)
        return
    for piece in found[1].split(","):
        yield from unbraced(text[: found.start()] + piece + text[found.end() :])


def escaped(name: str) -> str:
    """The pattern that means exactly this name."""
    return re.sub(r"([\\*?\[\]{}]|^[!~])", r"\\\1", name)
