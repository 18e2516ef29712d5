"""A scenario file (TOML or JSON) into a Script. Refuses keys that it does not know: a misspelt one would change the story."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ropewalk.errors import UsageError
from ropewalk.sim.model.script import Block, Reply, Rule, Script, text, thinking

RULE_KEYS = {"when", "for", "then", "reply"}
SHORT_KEYS = {"text", "thinking", "tool", "input", "blocks"}
REPLY_KEYS = {f.name for f in dataclasses.fields(Reply)} | SHORT_KEYS


def load_scenario(path: str | Path) -> Script:
    """Read a scenario file. Raises ``UsageError`` with the place and what to change."""
    path = Path(path)
    try:
        content = path.read_bytes()
        tree = json.loads(content) if path.suffix == ".json" else tomllib.loads(content.decode())
    except OSError as why:
        raise UsageError(f"the scenario {path} can't be read: {why.strerror}") from None
    except ValueError as why:
        raise UsageError(f"the scenario {path} is not {'JSON' if path.suffix == '.json' else 'TOML'}: {why}") from None
    return script_from(tree, str(path))


def script_from(tree: Any, where: str = "scenario") -> Script:
    known(tree, {"rule"}, where)
    rules = listed(tree.get("rule", []), f"{where}: rule")
    return Script([rule_from(rule, f"{where}: rule {n}") for n, rule in enumerate(rules, 1)])


def rule_from(tree: Any, where: str) -> Rule:
    known(tree, RULE_KEYS, where)
    replies = listed(tree.get("reply", []), f"{where}: reply")
    if not replies:
        raise UsageError(f"{where} has no reply")
    made = [reply_from(one, f"{where}, reply {n}") for n, one in enumerate(replies, 1)]
    try:
        return Rule(made, when=tree.get("when"), kind=tree.get("for", "main"), then=tree.get("then", "pass"))
    except UsageError as why:
        raise UsageError(f"{where}: {why}") from None


def reply_from(tree: Any, where: str) -> Reply:
    if isinstance(tree, str):
        return Reply((text(tree),))
    known(tree, REPLY_KEYS, where)
    fields = {key: value for key, value in tree.items() if key not in SHORT_KEYS}
    return Reply(blocks_from(tree, where), **fields)


def blocks_from(tree: Mapping[str, Any], where: str) -> tuple[Block, ...]:
    """``blocks`` as they are, or the short keys in the order in which a model speaks: thinking, text, tool."""
    blocks: list[Block] = []
    if "thinking" in tree:
        blocks.append(thinking(tree["thinking"]))
    if "text" in tree:
        blocks.append(text(tree["text"]))
    if "tool" in tree:
        blocks.append({"type": "tool_use", "name": tree["tool"], "input": tree.get("input", {})})
    for block in listed(tree.get("blocks", []), f"{where}: blocks"):
        if not isinstance(block, dict) or "type" not in block:
            raise UsageError(f"{where}: every one of `blocks` is a table with a `type`")
        blocks.append(block)
    return tuple(blocks)


def known(tree: Any, keys: set[str], where: str) -> None:
    if not isinstance(tree, dict):
        raise UsageError(f"{where} must be a table, not {tree!r}")
    if strange := sorted(set(tree) - keys):
        raise UsageError(f"{where}: unknown {', '.join(strange)}; known are {', '.join(sorted(keys))}")


def listed(tree: Any, where: str) -> list[Any]:
    if not isinstance(tree, list):
        raise UsageError(f"{where} must be a list")
    return tree
