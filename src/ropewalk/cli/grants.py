"""The CLI's own "always allow" offers, in words and letter by letter. Refuses to put two together: one is granted at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..client.question import Question
from ..errors import LocalProtocolError
from ..protocol.answers import check_update
from ..sessions.tools import KNOWN
from .modes import mode_words
from .safe import one_line

PLACES = {
    "session": "this session",
    "localSettings": ".claude/settings.local.json",
    "projectSettings": ".claude/settings.json",
    "userSettings": "~/.claude/settings.json",
    "cliArg": "this process",
}
PASSING = frozenset({"session", "cliArg"})


@dataclass(frozen=True, slots=True)
class Offer:
    """One suggestion of the CLI. ``update`` goes back unchanged; ``words`` say its effect with the exact rule."""

    update: Mapping[str, Any]
    words: str
    place: str
    lasting: bool
    warning: str = ""


def offers_of(question: Question) -> tuple[list[Offer], str]:
    """What may be offered besides "once", and a sentence where something is left out."""
    asked = question.asked
    if not question.suggestions:
        return [], ""
    if asked.suppress_always_allow_rule:
        return [], "Claude Code wants no lasting rule for this: once only."
    if asked.tool_name not in KNOWN and not asked.tool_name.startswith("mcp__"):
        return [], f"{one_line(asked.tool_name)} is not known to ropewalk yet: once only."
    offers = [offer for one in question.suggestions if (offer := _offer(one)) is not None]
    left = len(question.suggestions) - len(offers)
    return offers, f"{left} more offered by Claude Code that ropewalk does not know; left out." if left else ""


def _offer(update: Mapping[str, Any]) -> Offer | None:
    try:
        check_update(update, None)
    except LocalProtocolError:
        return None
    words, warning = _effect(update)
    destination = str(update["destination"])
    return Offer(update, words, PLACES.get(destination, destination), destination not in PASSING, warning) if words else None


def _effect(update: Mapping[str, Any]) -> tuple[str, str]:
    match update:
        case {"type": "setMode", "mode": str(mode)}:
            warning = "nothing will be asked any more" if mode == "bypassPermissions" else ""
            return f"switch to {mode_words(mode)}", warning
        case {"type": "addDirectories" | "removeDirectories" as kind, "directories": list(folders)}:
            verb = "trust" if kind == "addDirectories" else "no longer trust"
            return f"{verb} the folder{'s' if len(folders) > 1 else ''} {', '.join(map(str, folders))}", ""
        case {"type": "addRules" | "replaceRules" | "removeRules" as kind, "rules": list(rules), "behavior": str(behavior)}:
            names = [rule_text(rule) for rule in rules if isinstance(rule, Mapping)]
            if len(names) != len(rules) or not names:
                return "", ""
            verb = {"addRules": f"{behavior} ", "replaceRules": f"{behavior} only ", "removeRules": f"no longer {behavior} "}[
                kind
            ]
            verb = "" if verb == "allow " else verb
            bare = [name for name in names if "(" not in name and not name.startswith("mcp__")]
            warning = f"every use of {bare[0]}, whatever it does" if bare and behavior == "allow" else ""
            return f"{verb}{'  '.join(names)}", warning
    return "", ""


def rule_text(rule: Mapping[str, Any]) -> str:
    """``Bash(npm run migrate:*)``."""
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
