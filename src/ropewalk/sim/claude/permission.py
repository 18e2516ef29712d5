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
SIDE_BY_SIDE = READ_ONLY | {"Task", "Agent"}
INTERACTIVE = frozenset({"AskUserQuestion", "ExitPlanMode"})
EDITS = frozenset({"Write", "Edit", "NotebookEdit", "MultiEdit"})
FILE_COMMANDS = frozenset({"touch", "mkdir", "mv", "cp", "rm", "rmdir", "sed"})
HARMLESS = frozenset(
    {"ls", "cat", "pwd", "echo", "sleep", "head", "tail", "wc", "true", "false", "date", "whoami", "seq", "grep", "find"}
)


@dataclass(frozen=True)
class Decision:
    """``behavior`` is allow, ask or deny; the rest is what a question, or the line about a refusal, tells.

    ``why`` is 2.1.326's reason_type; ``kind`` its non_execution_kind; ``told`` = system/permission_denied is sent.
    """

    behavior: str
    why: str = "other"
    reason: str | None = None
    path: str | None = None
    suggestions: list[Json] = field(default_factory=list)
    more: Json = field(default_factory=dict)
    source: str = "config"
    kind: str = "permission-rule"
    told: bool = True
    counted: bool = True


def decide(session: Session, tool: str, given: Json, step: Step | None = None) -> Decision:
    """First deny rules, then what must be asked of a person, then mode and rules, then the nature of the tool."""
    if any(covers(rule, tool, given) for rule in session.deny_rules):
        return Decision("deny", "rule", f"Permission to use {tool} has been denied.", more={"decision_reason_type": "rule"})
    if tool in INTERACTIVE:
        return Decision("ask" if session.mode != "dontAsk" else "deny", "mode")
    forced = step.get("ask") if step is not None else None
    if tool in ALWAYS_RUN and not (tool == "EnterPlanMode" and forced):
        return Decision("allow", "")
    if forced is not None:
        return _question(session, tool, given, step) if forced else Decision("allow", "rule")
    if session.mode == "bypassPermissions":
        return Decision("allow", "mode")
    rule = next((rule for rule in session.allow_rules if covers(rule, tool, given)), None)
    if rule is not None and (session.traits.rules_cover_files or not _file_asked(session, rule, tool, given)):
        source = "user_permanent" if rule in session.lasting_rules else "config"
        return Decision("allow", "subcommandResults" if "(" in rule and source == "config" else "rule", source=source)
    return _by_nature(session, tool, given, step)


def _by_nature(session: Session, tool: str, given: Json, step: Step | None) -> Decision:
    path = str(given.get("file_path") or given.get("path") or "")
    if session.plan_file is not None and path == session.plan_file:
        return Decision("allow")
    inside = not path or is_inside(session, path)
    if tool in READ_ONLY and inside:
        return Decision("allow", "mode")
    if tool == "Bash" and harmless(str(given.get("command", ""))):
        return Decision("allow", "subcommandResults")
    if tool == "Bash" and session.mode == "plan" and session.traits.checks_modes:
        return _no_classifier(tool)
    by_mode = session.mode == "auto" or (session.mode == "acceptEdits" and (tool in EDITS or _first_word(given) in FILE_COMMANDS))
    if by_mode and inside:
        return Decision("allow", "subcommandResults" if tool == "Bash" and session.mode == "acceptEdits" else "mode")
    if session.mode == "dontAsk":
        words = f"Permission to use {tool} has been denied because Claude Code is running in don't ask mode."
        return Decision("deny", "mode", words, more={"decision_reason_type": "mode"})
    return _question(session, tool, given, step)


def _file_asked(session: Session, rule: str, tool: str, given: Json) -> bool:
    """2.1.37 and 2.1.62 ask about a command that touches a file even when a rule by prefix covers the command."""
    touches = ">" in str(given.get("command", "")) or _first_word(given) in FILE_COMMANDS
    return tool == "Bash" and "(" in rule and touches and session.cwd not in session.directories


def _no_classifier(tool: str) -> Decision:
    """2.1.326 sends Bash in plan mode to a check on the vendor's server; behind a gateway it is refused (measured)."""
    words = f"Auto mode is unavailable: its safety check does not run for this session, so {tool} was not run."
    more = {"decision_reason_type": "classifier", "decision_reason_code": "auto_mode_no_check_in_session"}
    more["decision_reason"] = "Classifier unavailable"
    return Decision("deny", "classifier", words, more=more, kind="automode-unavailable")


def asked_by_hook(session: Session, decision: Decision, reason: str) -> Decision:
    """A hook that says "ask": 2.1.326 names it in the question and leaves the suggestions out, the older ones ask as ever."""
    if not session.traits.rich_questions:
        return Decision("ask", suggestions=decision.suggestions, path=decision.path)
    more = {
        "decision_reason_type": "hook",
        "decision_reason_hook_event": "PreToolUse",
        "decision_reason_hook_source": "PreToolUse:Callback",
    }
    return Decision("ask", reason=reason, more=more)


def nobody_to_ask(tool: str, decision: Decision) -> Decision:
    """Without a prompt tool a question is a refusal."""
    words = f"Claude requested permissions to use {tool}, but you haven't granted it yet."
    return Decision("deny", "", words, kind="user-rejected")


def _question(session: Session, tool: str, given: Json, step: Step | None) -> Decision:
    from_step = step.more if step is not None else {}
    asked = _ask_about(session, tool, given)
    return Decision(
        "ask",
        reason=from_step.get("reason", asked.reason),
        path=from_step.get("path", asked.path),
        suggestions=list(from_step.get("suggestions", asked.suggestions)),
        more={**asked.more, **from_step.get("with_question", {})},
    )


def _ask_about(session: Session, tool: str, given: Json) -> Decision:
    """Path, reason and suggestions as the version words them (measured)."""
    rich = session.traits.rich_questions
    policy: Json = {"server_policy_ask_only": True} if rich else {}
    if tool in EDITS:
        if rich and session.mode == "plan":
            return Decision("ask", more={"decision_reason_type": "mode"})
        return Decision("ask", suggestions=[{"type": "setMode", "mode": "acceptEdits", "destination": "session"}], more=policy)
    path = str(given.get("file_path") or given.get("path") or "")
    if tool in READ_ONLY and path:
        rule = {"toolName": tool, "ruleContent": f"/{os.path.dirname(path)}/**"}
        more: Json = {"decision_reason_type": "workingDir", **policy} if rich else {}
        return Decision(
            "ask", reason="Path is outside allowed working directories", suggestions=[_rule(rule, "session")], more=more
        )
    if tool == "Bash":
        return _ask_about_command(session, str(given.get("command", "")))
    if tool.startswith("mcp__"):
        server: Json = {"mcp_server": {"name": tool.split("__")[1], "source": "sdk"}} if rich else {}
        return Decision("ask", suggestions=[_rule({"toolName": tool}, "localSettings")], more={**server, **policy})
    return Decision("ask")


def _rule(rule: Json, destination: str) -> Json:
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}


def _ask_about_command(session: Session, command: str) -> Decision:
    """Commands that touch a file name it; the CLI offers the folder, the mode, and (2.1.326) a rule."""
    rich, words = session.traits.rich_questions, command.split()
    suggestions: list[Json] = []
    folder: Json = {"type": "addDirectories", "directories": [session.cwd], "destination": "session"}
    redirect = re.search(r">\s*([^\s;&|]+)", command)
    if rich:
        content = f"{' '.join(words[:2])} *" if redirect else command
        suggestions.append(_rule({"toolName": "Bash", "ruleContent": content}, "localSettings"))
    if redirect:
        return Decision("ask", path=os.path.join(session.cwd, redirect.group(1)), suggestions=[*suggestions, folder])
    if words and words[0] in FILE_COMMANDS:
        mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        return Decision("ask", path=os.path.join(session.cwd, words[-1]), suggestions=[*suggestions, folder, mode])
    if not rich and words:
        suggestions.append(_rule({"toolName": "Bash", "ruleContent": f"{words[0]}:*"}, "localSettings"))
    return Decision("ask", suggestions=suggestions)


def covers(rule: str, tool: str, given: Json) -> bool:
    """Does a rule such as ``Bash``, ``Bash(touch:*)`` or ``mcp__server`` cover this call?"""
    name, bracket, content = rule.partition("(")
    if not bracket:
        return name == tool or (tool.startswith(f"{name}__") and name.startswith("mcp__"))
    if name != tool:
        return False
    content = content.removesuffix(")")
    subject = str(given.get("command") or given.get("file_path") or given.get("path") or "")
    if content.endswith((":*", " *")):
        prefix = content[:-2]
        return subject == prefix or subject.startswith(prefix + " ")
    return subject == content or (content.endswith("**") and subject.startswith(content.lstrip("/")[:-2].rstrip("/")))


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
