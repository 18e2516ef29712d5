"""What we know of the CLI's tools: which input names a file, a host, an agent. Refuses to know how they work."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, Literal

from .globs import unbraced

Family = Literal["Read", "Edit"]
FAMILIES: tuple[Family, ...] = ("Read", "Edit")

READS: Mapping[str, str] = {
    "Read": "file_path", "NotebookRead": "notebook_path", "LS": "path", "Grep": "path", "Glob": "path",
}  # fmt: skip
"""Tools that open files for reading, and where their input names them. Rules for ``Read`` cover them all."""
WRITES: Mapping[str, str] = {
    "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path",
}  # fmt: skip
"""Tools that change files. Rules for ``Edit`` cover them all."""
SEARCHES: Mapping[str, str] = {"Grep": "glob", "Glob": "pattern", "LS": ""}
"""Tools that look at a whole folder: the session's own where none is named; and where they say which names in it."""
NAMED: Mapping[str, tuple[str, ...]] = {"Task": ("subagent_type",), "Agent": ("subagent_type",), "Skill": ("skill", "command")}
"""Tools whose rules name one of several things: an agent, a skill."""
SAME: Mapping[str, str] = {"Agent": "Task"}
"""Two names of one tool, by CLI version."""
ONLY_PEOPLE = frozenset({"ExitPlanMode", "EnterPlanMode", "AskUserQuestion"})
"""No rule of any kind allows these."""
PLAIN = frozenset({
    "WebSearch", "TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TaskOutput", "TaskStop",
    "BashOutput", "KillShell", "KillBash", "ListMcpResourcesTool", "ReadMcpResourceTool", "StructuredOutput", "SlashCommand",
})  # fmt: skip
"""Tools that a rule names as a whole or not at all."""
KNOWN = frozenset({*READS, *WRITES, *NAMED, *PLAIN, *ONLY_PEOPLE, "Bash", "WebFetch"})


def family_of(tool: str) -> Family | None:
    return "Read" if tool in READS else "Edit" if tool in WRITES else None


def files_named(tool: str, given: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The files or folders that this use is about, as given; None where the input does not say it as we know it."""
    named = given.get(READS.get(tool) or WRITES[tool])
    if named is None and tool in SEARCHES:
        named = "."
    if not isinstance(named, str) or not named:
        return None
    wanted = given.get(SEARCHES[tool]) if SEARCHES.get(tool) else None
    if wanted is None:
        return (named,)
    if not isinstance(wanted, str):
        return None
    each = tuple(islice(unbraced(wanted), 33))
    if len(each) > 32:
        return None
    return (named, *(one if one.startswith(("/", "~")) else f"{named.rstrip('/')}/{one}" for one in each))


def thing_named(tool: str, given: Mapping[str, Any]) -> str:
    """The agent or skill that this use is about."""
    found = (given.get(key) for key in NAMED.get(tool, ()))
    return next((name for name in found if isinstance(name, str)), "")
