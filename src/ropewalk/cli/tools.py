"""A tool call in a few words: its name, its one telling argument, what came of it. Refuses to judge whether it may run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..protocol.answers import choices_of
from ..protocol.content import ToolResultBlock

AGENTS = frozenset({"Task", "Agent"})
EDITS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
COMMANDS = frozenset({"Bash", "BashOutput", "KillShell", "KillBash"})
KNOWN = (
    AGENTS
    | EDITS
    | COMMANDS
    | {"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "Skill", "ExitPlanMode"}
    | {"AskUserQuestion", "EnterPlanMode", "TaskOutput", "TaskStop", "TaskCreate", "TaskUpdate", "StructuredOutput"}
)
"""Tools whose input we know how to show."""

TELLING: Mapping[str, tuple[str, ...]] = {
    "Bash": ("command",),
    "Read": ("file_path", "path"),
    "Glob": ("pattern",),
    "Grep": ("pattern",),
    "LS": ("path",),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Task": ("description", "prompt"),
    "Agent": ("description", "prompt"),
    "Skill": ("skill", "command"),
}
ANY = ("file_path", "path", "notebook_path", "command", "url", "query", "pattern", "description", "name", "title", "id")


def tool_label(name: str) -> str:
    """``mcp__linear__create_issue`` → ``linear create_issue``; others as they are."""
    if name.startswith("mcp__") and name.count("__") >= 2:
        _, server, tool = name.split("__", 2)
        return f"{server} {tool}"
    return name


def title_of(name: str, given: Mapping[str, Any], folder: str) -> str:
    """The one argument that says what the call is about; paths inside the folder without it."""
    if name == "TodoWrite":
        return "todos updated"
    if name == "AskUserQuestion":
        return "; ".join(choice.question for choice in choices_of(given))
    for key in (*TELLING.get(name, ()), *ANY):
        value = given.get(key)
        if isinstance(value, str) and value:
            return shown_path(value, folder) if key.endswith("path") else value
    return ""


def shown_path(path: str, folder: str) -> str:
    """Relative inside the folder, with ~ for the home, else whole."""
    inside = folder.rstrip("/") + "/"
    return path[len(inside) :] if path.startswith(inside) else home_path(path)


def home_path(path: str) -> str:
    home = os.path.expanduser("~")
    if home not in ("", "/") and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def outcome_of(name: str, given: Mapping[str, Any], details: Any, block: ToolResultBlock) -> str:
    """What came of it in at most four words; empty when nothing is worth a word."""
    found = details if isinstance(details, dict) else {}
    if name in EDITS:
        return _changed(name, given, found)
    if name == "Read":
        file = found.get("file")
        lines = file.get("numLines") if isinstance(file, dict) else None
        return count(lines, "line") if isinstance(lines, int) else ""
    if name in ("Grep", "Glob"):
        files = found.get("numFiles")
        return count(files, "file") if isinstance(files, int) else ""
    if name == "Bash" and not found.get("backgroundTaskId"):
        said = str(found.get("stdout") or "").strip("\n")
        return count(said.count("\n") + 1, "line") if said else ""
    return ""


def _changed(name: str, given: Mapping[str, Any], details: Mapping[str, Any]) -> str:
    patch = details.get("structuredPatch")
    lines = [line for hunk in patch for line in hunk.get("lines", [])] if isinstance(patch, list) and patch else []
    if lines:
        more, less = sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
        return f"+{more} −{less}"
    if name == "Write":
        return count(str(given.get("content", "")).count("\n") or 1, "line")
    return ""


def first_words(block: ToolResultBlock) -> str:
    """The first line of a failure that says something."""
    return next((line.strip() for line in block.text.splitlines() if line.strip()), "")


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def seconds(spent: float) -> str:
    """0.1 s, 21 s, 1 min 40 s, 2 h 5 min."""
    if spent < 9.95:
        return f"{spent:.1f} s"
    whole = round(spent)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def dollars(cost: float) -> str:
    if 0 < cost < 0.01:
        return "<$0.01"
    return f"${cost:.2f}"
