"""A scenario file, read and checked: which prompt leads to which steps. Refuses what it does not know, and says where it stands.

The format is described in docs/how-to/sim-claude.md; the tables below are its grammar.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .versions import VERSIONS, traits_of

SHIPPED = Path(__file__).resolve().parent.parent / "scenarios"


class ScenarioError(Exception):
    """The file can't be meant. The sentence names the place and what would be right."""


@dataclass(frozen=True)
class Step:
    """One thing that the scripted model, or the CLI around it, does: ``kind`` with its value, and what goes with it."""

    kind: str
    value: Any
    more: Mapping[str, Any] = field(default_factory=dict)

    def get(self, key: str, default: Any = None) -> Any:
        return self.more.get(key, default)


@dataclass(frozen=True)
class Rule:
    """Steps for prompts that contain a text, match a pattern, or for any prompt; ``times`` limits how often."""

    steps: tuple[Step, ...]
    prompt: str | None = None
    regex: re.Pattern[str] | None = None
    times: int | None = None

    def matches(self, text: str) -> bool:
        if self.prompt is not None:
            return self.prompt.lower() in text.lower()
        return self.regex is None or self.regex.search(text) is not None


@dataclass(frozen=True)
class Scenario:
    """A whole file."""

    rules: tuple[Rule, ...] = ()
    otherwise: tuple[Step, ...] = ()
    side_answers: tuple[str, ...] = ()
    version: str | None = None
    model: str | None = None
    pace: float = 0.0
    closing: str = "Done."
    start: tuple[Step, ...] = ()
    title: str = ""


Keys = dict[str, tuple[type, ...]]
TEXT, FLAG, NUMBER, LIST, TABLE = (str,), (bool,), (int, float), (list,), (dict,)
TOOL_KEYS: Keys = {
    "input": TABLE, "result": (str, list), "error": FLAG, "run": FLAG, "ask": FLAG, "suggestions": LIST, "reason": TEXT,
    "path": TEXT, "lasts": NUMBER, "agent": LIST, "then": LIST, "if_denied": LIST, "details": (dict, str, list), "id": TEXT,
    "with_question": TABLE,
}  # fmt: skip
KINDS: dict[str, tuple[tuple[type, ...], Keys]] = {
    "text": (TEXT, {"pace": NUMBER}),
    "thinking": (TEXT, {"pace": NUMBER, "signature": TEXT}),
    "tool": (TEXT, TOOL_KEYS),
    "ask": (LIST, {"if_denied": LIST, "id": TEXT}),
    "plan": (TEXT, {"if_denied": LIST, "allowed_prompts": LIST, "write": FLAG, "id": TEXT}),
    "todos": (LIST, {"id": TEXT}),
    "structured": (TABLE, {"id": TEXT}),
    "together": (LIST, {}),
    "reply": ((str,), {}),
    "wait": (NUMBER, {}),
    "fail": ((int, str), {"times": (int,), "words": TEXT}),
    "stop": (TEXT, {}),
    "usage": (TABLE, {}),
    "compact": (TEXT, {"fails": FLAG, "tokens": (int,)}),
    "rate_limit": (TABLE, {}),
    "line": (TABLE, {}),
    "stderr": (TEXT, {}),
    "fault": (
        TEXT,
        {
            "code": (int,),
            "size": (int,),
            "count": (int,),
            "hold": FLAG,
            "depth": (int,),
            "bytes": TEXT,
            "seconds": NUMBER,
            "way": TEXT,
        },
    ),
}
"""Each kind of step: what its own value may be, and which keys may stand beside it."""
NESTED = {"together", "agent", "then", "if_denied"}
TOP: Keys = {
    "version": TEXT, "model": TEXT, "pace": NUMBER, "closing": TEXT, "title": TEXT, "rule": LIST, "otherwise": LIST,
    "start": LIST, "side_answers": LIST,
}  # fmt: skip
RULE: Keys = {"prompt": TEXT, "regex": TEXT, "times": (int,), "steps": LIST}


def load(name: str) -> Scenario:
    """A scenario by path, or by the name of a shipped one; raises `ScenarioError`."""
    path = Path(name)
    if not path.suffix and not path.exists():
        path = SHIPPED / f"{name}.toml"
    try:
        raw = path.read_bytes()
    except OSError as error:
        shipped = ", ".join(sorted(found.stem for found in SHIPPED.glob("*.toml")))
        raise ScenarioError(f"{name}: {error.strerror}; give a path or one of: {shipped}") from None
    if path.suffix == ".json":
        return from_table(json.loads(raw), path.name)
    return parse(raw.decode(), path.name)


def parse(text: str, name: str = "scenario") -> Scenario:
    """Check a scenario's text; raises `ScenarioError` that names the place."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}: {error}") from None
    return from_table(table, name)


def from_table(table: Mapping[str, Any], name: str = "scenario") -> Scenario:
    """The same for a table that is already read."""
    _check_keys(table, TOP, name)
    version = table.get("version")
    if version is not None and traits_of(version) is None:
        raise ScenarioError(f"{name}: version {version!r} is not known; one of {', '.join(VERSIONS)}")
    return Scenario(
        rules=tuple(_rule(rule, f"{name}: rule {number}") for number, rule in enumerate(table.get("rule", []), 1)),
        otherwise=_steps(table.get("otherwise", []), f"{name}: otherwise"),
        side_answers=tuple(table.get("side_answers", ())),
        version=version,
        model=table.get("model"),
        pace=float(table.get("pace", 0)),
        closing=table.get("closing", "Done."),
        start=_steps(table.get("start", []), f"{name}: start"),
        title=table.get("title", ""),
    )


def _rule(rule: Any, where: str) -> Rule:
    if not isinstance(rule, dict):
        raise ScenarioError(f"{where}: a rule is a table; write [[rule]]")
    _check_keys(rule, RULE, where)
    if "prompt" in rule and "regex" in rule:
        raise ScenarioError(f"{where}: takes prompt or regex, not both")
    if "steps" not in rule:
        raise ScenarioError(f"{where}: has no steps")
    try:
        regex = re.compile(rule["regex"]) if "regex" in rule else None
    except re.error as error:
        raise ScenarioError(f"{where}: regex: {error}") from None
    return Rule(_steps(rule["steps"], where), rule.get("prompt"), regex, rule.get("times"))


def _steps(steps: Sequence[Any], where: str) -> tuple[Step, ...]:
    return tuple(_step(step, f"{where}, step {number}") for number, step in enumerate(steps, 1))


def _step(step: Any, where: str) -> Step:
    if not isinstance(step, dict):
        raise ScenarioError(f'{where}: a step is a table such as {{ text = "Hello." }}')
    kind = next((key for key in step if key in KINDS), None)
    if kind is None:
        raise ScenarioError(f"{where}: no kind of step among {', '.join(step) or 'nothing'}; one of {', '.join(KINDS)}")
    allowed, keys = KINDS[kind]
    _check_keys({key: value for key, value in step.items() if key != kind}, keys, f"{where} ({kind})")
    _check_type(step[kind], allowed, f"{where}: {kind}")
    more = {key: _steps(value, f"{where}, {key}") if key in NESTED else value for key, value in step.items() if key != kind}
    value = _steps(step[kind], f"{where}, {kind}") if kind in NESTED else step[kind]
    return Step(kind, value, more)


def _check_keys(table: Mapping[str, Any], keys: Keys, where: str) -> None:
    for key, value in table.items():
        if key not in keys:
            raise ScenarioError(f"{where}: unknown key {key!r}; it takes {', '.join(keys) or 'none'}")
        _check_type(value, keys[key], f"{where}: {key}")


def _check_type(value: Any, allowed: tuple[type, ...], where: str) -> None:
    if (isinstance(value, bool) and bool not in allowed) or not isinstance(value, allowed):
        names = {str: "a text", int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a table"}
        wanted = " or ".join(dict.fromkeys(names[kind] for kind in allowed))
        raise ScenarioError(f"{where}: must be {wanted}, not {value!r:.60}")
