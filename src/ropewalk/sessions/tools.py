"""A tool call in a few words: what it does, its one telling argument, what came of it. The one mapping for all faces; pure.

Refuses to judge whether it may run, and to look at the machine: the home folder is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..protocol.answers import choices_of
from ..protocol.content import ToolResultBlock
from .figures import count

AGENTS = frozenset({"Task", "Agent"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
COMMANDS = frozenset({"Bash", "BashOutput", "KillShell", "KillBash"})
READS = frozenset({"Read", "LS", "NotebookRead"})
SEARCHES = frozenset({"Glob", "Grep", "WebSearch"})
MOVES = frozenset({"EnterWorktree", "ExitWorktree"})
"""After these the CLI works in another folder; 2.1.62 and later let them run unasked (measured)."""
TODOS = frozenset({"TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"})
"""TaskCreate and its kin are the list of 2.1.326, where it is switched on."""
PLANS = frozenset({"EnterPlanMode", "ExitPlanMode"})

DOES: Mapping[str, str] = {
    **dict.fromkeys(COMMANDS | {"TaskOutput", "TaskStop"}, "run"),
    **dict.fromkeys(EDITS, "edit"),
    **dict.fromkeys(READS, "read"),
    **dict.fromkeys(SEARCHES, "search"),
    **dict.fromkeys(AGENTS, "agent"),
    **dict.fromkeys(TODOS, "todo"),
    **dict.fromkeys(PLANS, "plan"),
    "WebFetch": "fetch",
    "AskUserQuestion": "ask",
    "ListMcpResourcesTool": "mcp",
    "ReadMcpResourceTool": "mcp",
}
"""Tool → what kind of thing it does; ``mcp__…`` is mcp, every other tool is other."""

KNOWN = frozenset(DOES) | {"Skill", "StructuredOutput"}
"""Tools whose input we know how to show."""

TELLING: Mapping[str, tuple[str, ...]] = {
    "Bash": ("command",),
    "KillShell": ("command", "shell_id"),
    "KillBash": ("command", "shell_id"),
    "BashOutput": ("command", "bash_id", "shell_id"),
    "Read": ("file_path", "path"),
    "Glob": ("pattern",),
    "Grep": ("pattern",),
    "LS": ("path",),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Task": ("description", "prompt"),
    "Agent": ("description", "prompt"),
    "Skill": ("skill", "command"),
    "TaskCreate": ("subject", "description"),
    "TaskUpdate": ("subject", "taskId"),
    "TaskOutput": ("task_id",),
    "TaskStop": ("task_id",),
}
ANY = ("file_path", "path", "notebook_path", "command", "url", "query", "pattern", "description", "name", "title", "id")
_KEYS = {name: (*keys, *ANY) for name, keys in TELLING.items()}
FIXED: Mapping[str, str] = {
    "TodoWrite": "todos updated",
    "TodoRead": "todos read",
    "TaskList": "todos read",
    "EnterPlanMode": "plans first",
    "ExitPlanMode": "plan to review",
}
"""Tools whose input has no one telling argument."""

LONGEST = 400
"""Characters of a title; the input has the rest."""


def does(name: str) -> str:
    """read, edit, run, search, fetch, agent, todo, plan, ask, mcp or other."""
    return DOES.get(name) or ("mcp" if name.startswith("mcp__") else "other")


def tool_label(name: str) -> str:
    """``mcp__linear__create_issue`` → ``linear create_issue``; others as they are."""
    if name.startswith("mcp__") and name.count("__") >= 2:
        _, server, tool = name.split("__", 2)
        return f"{server} {tool}"
    return name


def title_of(name: str, given: Mapping[str, Any], folder: str, home: str = "") -> str:
    """The one argument that says what the call is about, or nothing; paths inside the folder without it."""
    if name in FIXED:
        return FIXED[name]
    if name == "AskUserQuestion":
        return f"asks: {'; '.join(choice.question for choice in choices_of(given))}"[:LONGEST]
    for key in _KEYS.get(name, ANY):
        value = given.get(key)
        if isinstance(value, str) and value:
            return shown_path(value[:LONGEST], folder, home) if key.endswith("path") else value[:LONGEST]
    return ""


def shown_path(path: str, folder: str, home: str = "") -> str:
    """Relative inside the folder, with ~ for the home, else whole."""
    inside = folder.rstrip("/") + "/"
    return path[len(inside) :] if path.startswith(inside) else from_home(path, home)


def from_home(path: str, home: str) -> str:
    """With ~ where it lies in the home."""
    if home not in ("", "/") and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def file_of(given: Mapping[str, Any]) -> str:
    """The file that an edit is about."""
    for key in ("file_path", "path", "notebook_path"):
        value = given.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def outcome_of(name: str, given: Mapping[str, Any], details: Any) -> str:
    """What came of it in at most four words; empty when nothing is worth a word. ``details``: the tool's own object."""
    found = details if isinstance(details, dict) else {}
    if name in EDITS:
        return _changed(name, given, found)
    if name == "Read":
        file = found.get("file")
        return _count(file.get("numLines"), "line") if isinstance(file, dict) else ""
    if name in ("Grep", "Glob"):
        return _count(found.get("numFiles"), "file")
    if name == "Bash":
        said = str(found.get("stdout") or "").strip("\n")
        if found.get("backgroundTaskId"):
            return "in the background"
        return count(said.count("\n") + 1, "line") if said else ""
    if name in AGENTS:
        return "in the background" if found.get("isAsync") else _count(found.get("totalToolUseCount"), "tool call")
    return ""


def _count(number: object, thing: str) -> str:
    return count(number, thing) if type(number) is int else ""


def _changed(name: str, given: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    patch = details.get("structuredPatch")
    hunks = [hunk.get("lines") for hunk in patch if isinstance(hunk, dict)] if isinstance(patch, list) else []
    lines = [line for hunk in hunks if isinstance(hunk, list) for line in hunk if isinstance(line, str)]
    if lines:
        more, less = sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
        return f"+{more} −{less}"
    if name == "Write":
        return count(str(given.get("content", "")).count("\n") or 1, "line")
    return ""


def first_words(block: ToolResultBlock) -> str:
    """The first line of a failure that says something."""
    return next((line.strip() for line in block.text.splitlines() if line.strip()), "")
