"""A rule: deny, ask or allow for one tool, in Claude Code's own words. Refuses malformed ones; none gets wider than written."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..errors import UsageError
from .commands import CommandPattern, parse_command
from .hosts import HostPattern, parse_host
from .paths import PathPattern, below, normal, parse_path
from .request import Behavior
from .tools import KNOWN, NAMED, ONLY_PEOPLE, READS, WRITES

Scope = Literal["everywhere", "folder", "session"]
Source = Literal["store", "file", "built_in", "cli", "given"]
_TOOL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MCP = re.compile(r"mcp__[A-Za-z0-9_-]+?(?:__(?:\*|[A-Za-z0-9_.-]+))?")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\xa0\xad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_BY_SMALL_LETTERS = {tool.lower(): tool for tool in KNOWN}


class NamePattern(Struct, frozen=True):
    """Exactly this agent or skill."""

    name: str


Pattern = CommandPattern | PathPattern | HostPattern | NamePattern | None


class Rule(Struct, frozen=True):
    """``pattern`` None: every use of the tool. ``place``: the folder or the session that the scope means."""

    text: str
    behavior: Behavior
    tool: str
    pattern: Pattern = None
    scope: Scope = "everywhere"
    place: str = ""
    id: str = ""
    made_by: str = ""
    source: Source = "given"
    note: str = ""

    def in_scope(self, cwd: str, session: str) -> bool:
        if self.scope == "everywhere":
            return True
        if self.scope == "session":
            return bool(session) and session == self.place
        return below(normal(cwd), normal(self.place)) is not None

    def words(self) -> str:
        """The rule in a sentence's place: what it says, who made it."""
        by = " (built in)" if self.source == "built_in" else f" ({self.made_by})" if self.made_by else ""
        return f"{self.text}{by}"


def parse_rule(
    text: str, behavior: Behavior, *, scope: Scope = "everywhere", place: str = "", id: str = "", made_by: str = "",
    source: Source = "given", note: str = "",
) -> Rule:  # fmt: skip
    """The rule that is written. Raises `UsageError` with a sentence that says how to write it."""
    if behavior not in ("deny", "ask", "allow"):
        raise UsageError(f"a rule says deny, ask or allow, not {behavior!r}")
    if scope not in ("everywhere", "folder", "session"):
        raise UsageError(f"a rule holds everywhere, in a folder or for a session, not for {scope!r}")
    if (scope == "everywhere") == bool(place):
        raise UsageError("a rule for a folder or a session says which one; a rule that holds everywhere says none")
    if scope == "folder" and not place.startswith("/"):
        raise UsageError(f"the folder of a rule is an absolute path, not {place!r}")
    if not isinstance(text, str):
        raise UsageError("a rule is a text such as Bash(git diff:*)")
    return replace(
        _parsed(text, behavior), scope=scope, place=place, id=id, made_by=made_by, source=source, note=note
    )  # fmt: skip


@lru_cache(maxsize=8192)
def _parsed(text: str, behavior: Behavior) -> Rule:
    try:
        return _read(text, behavior)
    except UsageError as wrong:
        raise UsageError(f"the rule {_shown(text)} is not taken: {wrong}") from None


def _shown(text: str) -> str:
    plain = _UNSEEN.sub("�", text)
    return repr(plain if len(plain) <= 80 else plain[:79] + "…")


def _read(text: str, behavior: Behavior) -> Rule:
    if not text or text != text.strip():
        raise UsageError("write it without blanks around it, e.g. Bash(git diff:*)")
    if _UNSEEN.search(text):
        raise UsageError("it holds a character that can't be seen: write it in plain letters")
    tool, bracket, rest = text.partition("(")
    if bracket and not rest.endswith(")"):
        raise UsageError(f"the bracket is not closed: write {tool or 'Bash'}(…) with ) at its end")
    _check_tool(tool, bool(bracket))
    if behavior == "allow" and tool in ONLY_PEOPLE:
        raise UsageError(f"only a person answers {tool}: no rule can allow it, only deny or ask")
    return Rule(text, behavior, tool, _pattern(tool, rest[:-1], behavior) if bracket else None)


def _check_tool(tool: str, patterned: bool) -> None:
    right = _BY_SMALL_LETTERS.get(tool.lower())
    if right is not None and right != tool:
        raise UsageError(f"tools are written as Claude Code writes them: {right}{'(…)' if patterned else ''}")
    if tool.startswith("mcp__"):
        if _MCP.fullmatch(tool) is None or tool.rstrip("_") == "mcp" or tool.endswith("__"):
            raise UsageError("write mcp__server__tool for one tool of a server, or mcp__server__* for all of them")
    elif _TOOL.fullmatch(tool) is None:
        raise UsageError("it begins with the name of a tool, e.g. Bash(git diff:*), Read(src/**), WebFetch(domain:example.com)")


def _pattern(tool: str, inside: str, behavior: Behavior) -> Pattern:
    if not inside or inside != inside.strip():
        raise UsageError(f"write between the brackets, without blanks around it, what it is for; plain {tool} is every use of it")
    if tool == "Bash":
        return parse_command(inside, behavior)
    if tool in READS or tool in WRITES:
        return parse_path(inside)
    if tool == "WebFetch":
        return parse_host(inside)
    if tool in NAMED:
        if re.fullmatch(r"[\w.:/ -]+", inside) is None:
            raise UsageError(f"write the one name that it is for, e.g. {tool}(reviewer)")
        return NamePattern(inside)
    raise UsageError(f"{tool} takes no brackets, since ropewalk does not know what they would mean: write plain {tool}")
