"""What going on with a plan brings: the mode, and the rules that a person ticked. Pure; refuses to make a rule out of mere words.

A plan's ``allowedPrompts`` are words for a person ("run tests"). As rules of the CLI's own they allow nothing (measured 2.1.37,
2.1.62, 2.1.326: the next such command is asked all the same), so what is granted is a rule of ours, for this session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from ..errors import UsageError
from ..permissions.commands import CommandPattern
from ..permissions.rules import parse_rule
from ..permissions.shell.programs import KNOWN
from ..permissions.widths import SUBCOMMANDS

BYPASS = "bypassPermissions"
MODES = ("default", "acceptEdits", "dontAsk", "auto", BYPASS)
"""In which a plan can be carried out."""


SUB_AGENTS = re.compile(r"-agent-([^-]+|[0-9a-f-]{36})\.md$")
"""Behind the name of the main plan. A main plan may have the word in it: 2.1.326 begins with two words of the prompt."""


class Found(Struct, frozen=True):
    """``why``: a file was named and could not be read."""

    text: str | None = None
    file: str | None = None
    why: str = ""


class Effects(Struct, frozen=True):
    """``updates`` go into the answer, ``rules`` become rules of ours for the session."""

    updates: tuple[Mapping[str, Any], ...] = ()
    rules: tuple[str, ...] = ()


def effects(mode: str | None, allowed_prompts: Sequence[Mapping[str, Any]] = ()) -> Effects:
    """``allowed_prompts``: those that a person ticked, as ``{tool, prompt}``, or with the ``rule`` that they shall mean.

    Raises ``UsageError`` for words that no rule can stand for.
    """
    updates = ({"type": "setMode", "mode": mode, "destination": "session"},) if mode else ()
    return Effects(updates, tuple(dict.fromkeys(_rule(one) for one in allowed_prompts)))


def _rule(wish: Mapping[str, Any]) -> str:
    tool, own = str(wish.get("tool") or ""), wish.get("rule")
    text = own if isinstance(own, str) and own else rule_for(wish)
    if text is None:
        words = f"“{wish.get('prompt')}” are words, not a command: give the rule that they shall mean"
        raise UsageError(f"{words}, such as {tool or 'Bash'}(npm run test:*)")
    rule = parse_rule(text, "allow")
    if rule.tool != tool:
        raise UsageError(f"{text} is not about {tool}, which is what the plan asks for")
    if rule.pattern is None and not tool.startswith("mcp__"):
        raise UsageError(f"{text} is for every use of {tool}: that is made among the rules, never on a card")
    return text


def rule_for(wish: Mapping[str, Any]) -> str | None:
    """The rule that says exactly this; None where what it says are words, or the whole tool."""
    tool, prompt = wish.get("tool"), wish.get("prompt")
    if not isinstance(tool, str) or not isinstance(prompt, str):
        return None
    text = tool if tool.startswith("mcp__") else f"{tool}({prompt.strip()})"
    try:
        rule = parse_rule(text, "allow")
    except UsageError:
        return None
    if isinstance(rule.pattern, CommandPattern):
        program = rule.pattern.words[0] if rule.pattern.words else ""
        return text if program in KNOWN or program in SUBCOMMANDS or "/" in program else None
    return text if rule.pattern is not None or tool.startswith("mcp__") else None


def ways(bypass: bool) -> list[dict[str, str]]:
    """How a plan can be answered, in words. ``bypass``: this session may be put into it by name."""
    given = [
        {"plan": "fresh", "mode": "acceptEdits", "words": "Fresh start: forget the talk, keep the plan, accept edits"},
        {"plan": "keep_edits", "mode": "acceptEdits", "words": "Keep the talk, accept edits"},
        {"plan": "keep_ask", "mode": "default", "words": "Keep the talk, ask before each edit"},
        {"plan": "revise", "mode": "plan", "words": "Not yet: say what to change"},
        {"plan": "outline", "mode": "plan", "words": "Not yet: write an outline first"},
        {"plan": "stop", "mode": "plan", "words": "Keep the plan, stop here"},
    ]
    if bypass:
        given += [
            {"plan": "fresh", "mode": BYPASS, "words": "Fresh start, bypass permissions for a while"},
            {"plan": "keep_edits", "mode": BYPASS, "words": "Keep the talk, bypass permissions for a while"},
        ]
    return given


def is_plan_file(path: str, folders: Sequence[str]) -> bool:
    """A main plan, by its name: in one of ``folders`` or any ``.claude/plans``; not a sub-agent's ``…-agent-<id>.md``."""
    folder, name = os.path.split(os.path.normpath(path))
    if not path.startswith("/") or not name.endswith(".md") or SUB_AGENTS.search(name):
        return False
    return folder.endswith("/.claude/plans") or folder in folders
