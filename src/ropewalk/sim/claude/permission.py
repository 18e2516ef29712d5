"""Would this CLI run a tool, refuse it, or ask? A small copy of the real rules. Refuses to ask: it only says so.

Enough for scripted tools: rules by tool name and command prefix, the modes, paths inside and outside the folder. A scenario step
can always say ``ask = true`` or ``ask = false`` instead.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from .scenario import Step
from .session import Json, Session

READ_ONLY = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "TaskOutput", "WebSearch"})
ALWAYS_RUN = frozenset(
    {"TodoWrite", "Task", "Agent", "EnterPlanMode", "Skill", "TaskStop", "TaskCreate", "TaskUpdate", "StructuredOutput"}
)
INTERACTIVE = frozenset({"AskUserQuestion", "ExitPlanMode"})
EDITS = frozenset({"Write", "Edit", "NotebookEdit", "MultiEdit"})
FILE_COMMANDS = frozenset({"touch", "mkdir", "mv", "cp", "rm", "rmdir", "sed"})
HARMLESS = frozenset(
    {"ls", "cat", "pwd", "echo", "sleep", "head", "tail", "wc", "true", "false", "date", "whoami", "seq", "grep", "find"}
)


@dataclass(frozen=True)
class Decision:
    """``behavior`` is allow, ask or deny; the rest is what a question, or the line about a refusal, tells."""

    behavior: str
    why: str = "other"
    reason: str | None = None
    path: str | None = None
    suggestions: list[Json] = field(default_factory=list)
    more: Json = field(default_factory=dict)


def decide(session: Session, tool: str, given: Json, step: Step | None = None) -> Decision:
    """First deny rules, then what must be asked of a person, then mode and rules, then the nature of the tool."""
    if any(covers(rule, tool, given) for rule in session.deny_rules):
        return Decision("deny", "rule", f"Permission to use {tool} has been denied.")
    if tool in INTERACTIVE:
        return Decision("ask" if session.mode != "dontAsk" else "deny", "mode")
    if tool in ALWAYS_RUN:
        return Decision("allow")
    forced = step.get("ask") if step is not None else None
    if forced is not None:
        return _question(session, tool, given, step) if forced else Decision("allow")
    if session.mode == "bypassPermissions":
        return Decision("allow", "mode")
    if any(covers(rule, tool, given) for rule in session.allow_rules):
        return Decision("allow", "rule")
    return _by_nature(session, tool, given, step)


def _by_nature(session: Session, tool: str, given: Json, step: Step | None) -> Decision:
    path = str(given.get("file_path") or given.get("path") or "")
    if session.plan_file is not None and path == session.plan_file:
        return Decision("allow")
    inside = not path or is_inside(session, path)
    if tool in READ_ONLY and inside:
        return Decision("allow")
    if tool == "Bash" and harmless(str(given.get("command", ""))):
        return Decision("allow")
    if session.mode == "acceptEdits" and inside and (tool in EDITS or _first_word(given) in FILE_COMMANDS):
        return Decision("allow", "mode")
    if session.mode == "dontAsk":
        return Decision(
            "deny", "mode", f"Permission to use {tool} has been denied because Claude Code is running in don't ask mode."
        )
    return _question(session, tool, given, step)


def _question(session: Session, tool: str, given: Json, step: Step | None) -> Decision:
    from_step = step.more if step is not None else {}
    path, reason, suggestions = _ask_about(session, tool, given)
    return Decision(
        "ask",
        reason=from_step.get("reason", reason),
        path=from_step.get("path", path),
        suggestions=list(from_step.get("suggestions", suggestions)),
        more=dict(from_step.get("with_question", {})),
    )


def _ask_about(session: Session, tool: str, given: Json) -> tuple[str | None, str | None, list[Json]]:
    """Path, reason and suggestions as the version words them."""
    path = str(given.get("file_path") or given.get("path") or "")
    if tool in EDITS:
        return None, None, [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    if tool in READ_ONLY and path:
        folder = os.path.dirname(path)
        rule = {"toolName": tool, "ruleContent": f"/{folder}/**"}
        return (
            path,
            "Path is outside allowed working directories",
            [{"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}],
        )
    if tool == "Bash":
        return _ask_about_command(session, str(given.get("command", "")))
    return None, None, []


def _ask_about_command(session: Session, command: str) -> tuple[str | None, str | None, list[Json]]:
    suggestions: list[Json] = []
    folder: Json = {"type": "addDirectories", "directories": [session.cwd], "destination": "session"}
    redirect = re.search(r">\s*([^\s;&|]+)", command)
    words = command.split()
    path = None
    if session.traits.rich_questions:
        rule = {"toolName": "Bash", "ruleContent": f"{' '.join(words[:2] if redirect else words[:1])} *"}
        suggestions.append({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"})
    if redirect:
        path = os.path.join(session.cwd, redirect.group(1))
        suggestions.append(folder)
    elif words and words[0] in FILE_COMMANDS:
        path = os.path.join(session.cwd, words[-1])
        suggestions += [folder, {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]
    elif not session.traits.rich_questions and words:
        rule = {"toolName": "Bash", "ruleContent": f"{words[0]}:*"}
        suggestions.append({"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"})
    return path, None, suggestions


def covers(rule: str, tool: str, given: Json) -> bool:
    """Does a rule such as ``Bash``, ``Bash(touch:*)`` or ``mcp__server`` cover this call?"""
    name, bracket, content = rule.partition("(")
    if not bracket:
        return name == tool or tool.startswith(f"{name}__") and name.startswith("mcp__")
    if name != tool:
        return False
    content = content.removesuffix(")")
    subject = str(given.get("command") or given.get("file_path") or given.get("path") or "")
    if content.endswith((":*", " *")):
        prefix = content[:-2]
        return subject == prefix or subject.startswith(prefix + " ")
    return subject == content or content.endswith("**") and subject.startswith(content.lstrip("/")[:-2].rstrip("/"))


def is_inside(session: Session, path: str) -> bool:
    whole = os.path.normpath(os.path.join(session.cwd, path))
    return any(whole == folder or whole.startswith(folder.rstrip("/") + "/") for folder in (session.cwd, *session.directories))


def harmless(command: str) -> bool:
    """Only commands that read, without redirection, substitution or joining to others that write."""
    if any(sign in command for sign in (">", "$(", "`", "&")):
        return False
    parts = [part.split() for part in re.split(r"[;|]", command) if part.strip()]
    return bool(parts) and all(part[0] in HARMLESS for part in parts)


def _first_word(given: Json) -> str:
    words = str(given.get("command", "")).split()
    return words[0] if words else ""
