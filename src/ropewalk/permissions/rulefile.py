"""Rules out of texts: our TOML file, lists in a request, the CLI's own settings (for show). Opens no file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ..errors import UsageError
from .request import STRICTEST_FIRST, Behavior
from .rules import Rule, Scope, Source, parse_rule
from .secrets import built_in

KEYS = frozenset({"rules", "folder", "built_in"})
HOW = 'write [rules] with allow, ask and deny as lists of texts, e.g. allow = ["Bash(git diff:*)"]'


class RuleFile(Struct, frozen=True):
    """The rules of a file, and which built-in ones it switches off."""

    rules: tuple[Rule, ...] = ()
    off: tuple[str, ...] = ()


def rules_from_toml(text: str, name: str = "the rules file") -> RuleFile:
    """``[rules]`` hold everywhere, each ``[[folder]]`` in its ``path``; ``[built_in] off = ["env"]``.

    Raises `UsageError` that names every rule that is not taken: a file with one mistake is not taken at all.
    """
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as wrong:
        raise UsageError(f"{name} is no TOML: {wrong}") from None
    if unknown := sorted(tables.keys() - KEYS):
        raise UsageError(f"{name} holds {', '.join(unknown)}, which means nothing here; {HOW}")
    rules = list(rules_from_lists(_table(tables.get("rules", {}), name), source="file", made_by=name))
    folders = tables.get("folder", [])
    if not isinstance(folders, list):
        raise UsageError(f"{name}: a folder's rules stand under [[folder]] with its path")
    for table in folders:
        lists = dict(_table(table, name))
        path = lists.pop("path", None)
        if not isinstance(path, str):
            raise UsageError(f"{name}: each [[folder]] has a path, e.g. path = '/home/mia/shop'")
        rules += rules_from_lists(lists, source="file", made_by=name, scope="folder", place=path)
    return RuleFile(tuple(rules), _off(tables.get("built_in", {}), name))


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{name}: {HOW}")
    return value


def _off(value: Any, name: str) -> tuple[str, ...]:
    off = _table(value, name).get("off", [])
    if set(value) - {"off"} or not isinstance(off, list) or not all(isinstance(id, str) for id in off):
        raise UsageError(f'{name}: built-in rules are switched off by their ids: [built_in] off = ["env"]')
    built_in(off)
    return tuple(off)


def rules_from_lists(
    lists: Mapping[Any, Any], *, source: Source = "given", made_by: str = "", scope: Scope = "everywhere", place: str = ""
) -> tuple[Rule, ...]:
    """``{"allow": […], "ask": […], "deny": […]}``. Raises `UsageError` that names every rule that is not taken."""
    if unknown := sorted(str(key) for key in lists if key not in STRICTEST_FIRST):
        raise UsageError(f"rules are deny, ask or allow, not {', '.join(unknown)}; {HOW}")
    rules, wrong = list[Rule](), list[str]()
    for behavior in STRICTEST_FIRST:
        for text in _texts(lists.get(behavior, []), behavior):
            try:
                rules.append(parse_rule(text, behavior, source=source, made_by=made_by, scope=scope, place=place))
            except UsageError as refused:
                wrong.append(str(refused))
    if wrong:
        raise UsageError("; ".join(wrong))
    return tuple(rules)


def _texts(value: Any, behavior: Behavior) -> list[Any]:
    if not isinstance(value, list):
        raise UsageError(f"{behavior} is a list of rules: {HOW}")
    return value


class ShownSettings(Struct, frozen=True):
    """What the CLI's settings say about permissions, for show: the CLI itself applies them, before we are asked."""

    file: str
    rules: tuple[Rule, ...] = ()
    not_read: tuple[tuple[Behavior, str, str], ...] = ()
    """Behaviour, text and why we would not take it: the CLI may read it more widely than we do."""
    mode: str = ""
    folders: tuple[str, ...] = ()


def rules_from_settings(text: str, file: str) -> ShownSettings:
    """The permissions in a ``settings.json`` of Claude Code. Raises `UsageError` where it is no such file."""
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError) as wrong:
        raise UsageError(f"{file} is no JSON: {wrong}") from None
    permissions = settings.get("permissions", {}) if isinstance(settings, dict) else None
    if not isinstance(permissions, dict):
        raise UsageError(f"{file} is not a settings file of Claude Code: permissions is no object")
    rules, not_read = list[Rule](), list[tuple[Behavior, str, str]]()
    for behavior in STRICTEST_FIRST:
        listed = permissions.get(behavior)
        for one in listed if isinstance(listed, list) else ():
            try:
                rules.append(parse_rule(one, behavior, source="cli", made_by=file))
            except UsageError as wrong:
                not_read.append((behavior, str(one), str(wrong)))
    mode, folders = permissions.get("defaultMode"), permissions.get("additionalDirectories")
    return ShownSettings(
        file, tuple(rules), tuple(not_read), mode if isinstance(mode, str) else "",
        tuple(one for one in folders if isinstance(one, str)) if isinstance(folders, list) else (),
    )  # fmt: skip
