"""Requests judged by rules that are given with them: a request's JSON in, a verdict's JSON out. Refuses to need a hub."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ..errors import UsageError
from ..permissions.policy import decide, needs
from ..permissions.request import Context, Request
from ..permissions.rulebook import Rulebook
from ..permissions.rulefile import rules_from_lists, rules_from_toml
from ..permissions.secrets import built_in
from ..permissions.tags import tagged

SHAPE = '{"tool": "Bash", "input": {"command": "git status"}, "cwd": "/home/mia/shop", "rules": {"allow": ["Bash(git:*)"]}}'
Json = dict[str, Any]


class Asked(Struct):
    """One request. ``rules`` None: the saved ones are meant."""

    tool: str
    input: Mapping[str, Any]
    cwd: str
    rules: Mapping[str, Any] | None = None


def asked_from(text: bytes | str, cwd: str) -> Asked:
    """``cwd`` holds where the request names none. Raises ``UsageError`` with what is wrong about it."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise UsageError(f"this is not one request in JSON ({_first(wrong)}); write {SHAPE}") from None
    if not isinstance(given, dict):
        raise UsageError(f"a request is a JSON object: {SHAPE}")
    tool, named, folder, rules = given.get("tool"), given.get("input"), given.get("cwd"), given.get("rules")
    if not isinstance(tool, str) or not tool:
        raise UsageError(f"the request names no tool: {SHAPE}")
    if not isinstance(named, dict):
        raise UsageError(f"the request's input is an object, such as the tool gets: {SHAPE}")
    if folder is not None and not (isinstance(folder, str) and folder.startswith("/")):
        raise UsageError(f"the request's cwd is an absolute path, not {folder!r}")
    if rules is not None and not isinstance(rules, dict):
        raise UsageError(f"rules are an object with allow, ask and deny: {SHAPE}")
    return Asked(tool, named, folder or cwd, rules)


def book_from_file(path: Path) -> Rulebook:
    """Rules in TOML, as the hub's rules file has them, or as JSON lists; with the built-in ones. Raises ``UsageError``."""
    try:
        text = path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise UsageError(f"the rules in {path} can't be read: {getattr(wrong, 'strerror', None) or 'it is no text'}") from None
    if text.lstrip()[:1] == "{":
        return _book_from_json(text, path)
    read = rules_from_toml(text, str(path))
    return Rulebook((*built_in(read.off), *read.rules))


def _book_from_json(text: str, path: Path) -> Rulebook:
    try:
        lists = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise UsageError(f"{path} is no JSON: {_first(wrong)}") from None
    inner = lists.get("rules", lists)
    if not isinstance(inner, dict) or (inner is not lists and len(lists) > 1):
        raise UsageError(f'{path}: write {{"allow": ["Bash(git diff:*)"], "ask": [], "deny": []}}')
    return book_from_lists(inner)


def book_from_lists(lists: Mapping[str, Any]) -> Rulebook:
    """These rules and the built-in ones. The same lists come again and again: they are read once."""
    return _book(json.dumps(lists, sort_keys=True))


@lru_cache(maxsize=64)
def _book(lists: str) -> Rulebook:
    return Rulebook((*built_in(), *rules_from_lists(json.loads(lists))))


def judged(asked: Asked, book: Rulebook, *, resolve: bool) -> Json:
    """The verdict as the API says it. ``resolve``: by the names that files have on this machine, links followed."""
    request = Request(asked.tool, asked.input, asked.cwd)
    home = os.path.expanduser("~")
    context = Context(home=home, resolved=_resolved(request, home) if resolve and os.path.isdir(asked.cwd) else None)
    verdict = tagged(request, decide(request, book, context), context)
    return said(verdict.behavior, verdict.because, ((p.text, p.kind, p.behavior, p.because, p.tags) for p in verdict.parts))


def said(behavior: str, because: str, parts: Any) -> Json:
    """One answer, wherever it was made."""
    names = ("text", "kind", "verdict", "because", "tags")
    return {"behavior": behavior, "because": because, "parts": [dict(zip(names, part, strict=True)) for part in parts]}


def _resolved(request: Request, home: str) -> dict[str, str | None]:
    return {name: _real(name) for name in needs(request, home).paths}


def _real(name: str) -> str | None:
    """None: a name that can't be resolved, links in a circle for one."""
    try:
        real = os.path.realpath(name)
        return None if os.path.islink(real) else real
    except (OSError, ValueError):
        return None


def _first(wrong: Exception) -> str:
    return "it is nested too deep" if isinstance(wrong, RecursionError) else str(wrong).splitlines()[0]
