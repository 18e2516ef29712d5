"""What each CLI version can and can't hear, with measured edges. Refuses to guess what a capability list tells."""

from __future__ import annotations

import re

Version = tuple[int, int, int]

TESTED: tuple[Version, ...] = ((2, 1, 37), (2, 1, 62), (2, 1, 120), (2, 1, 326))
"""The versions that our tests run; others work as far as they resemble these."""

LAST_LOCAL_LINK: Version = (2, 1, 120)
"""The last version whose ``--sdk-url`` takes a host that is not its vendor's (measured: 2.1.121 exits 1)."""

SAYS_AGAIN_SINCE: Version = (2, 1, 120)
"""The version measured to say its whole buffer again after a reconnect; 2.1.37 and 2.1.62 lose what fell out."""

CHECKS_MODES_SINCE: Version = (2, 1, 326)
"""2.1.37 and 2.1.62 take any string as a mode, "nonsense" too; 2.1.326 refuses what it does not know."""

IGNORES_ENVIRONMENT_SINCE: Version = (2, 1, 326)
"""2.1.326 takes ``update_environment_variables`` and does nothing; 2.1.37 and 2.1.62 set them for later tools."""

COUNTS_COST_FROM_ZERO: Version = (2, 1, 62)
"""Up to here (measured 2.1.37, 2.1.62) a process that resumes counts its cost from 0; 2.1.326 goes on from the stored total."""

NOTES_BEGIN_NO_TURN: Version = (2, 1, 37)
"""Up to here the end of a background task is told in the turn of a later prompt, if at all; from 2.1.62 on it begins a turn."""

RUNS_TWICE_BY_TOOL_ID: Version = (2, 1, 37)
"""The last version seen to run a tool again when an allow that names its ``toolUseID`` comes a second time (2.1.62 does not)."""

ADVISED: Version = (2, 1, 177)
"""Every version below this lies inside the range of a published security advisory for the CLI."""

MODES = frozenset({"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"})
"""Permission modes that every measured version has."""

NEWER_MODES = {"auto": (2, 1, 326)}
"""Modes that came later, with the version where they were measured."""

UPDATE_KINDS = {
    "addRules": ("rules", "behavior"),
    "replaceRules": ("rules", "behavior"),
    "removeRules": ("rules", "behavior"),
    "setMode": ("mode",),
    "addDirectories": ("directories",),
    "removeDirectories": ("directories",),
}
"""Kinds of ``updatedPermissions`` and what each needs besides ``destination``."""

DESTINATIONS = frozenset({"userSettings", "projectSettings", "localSettings", "session", "cliArg"})

HOOK_EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PermissionRequest",
    "Setup",
    "TeammateIdle",
    "TaskCompleted",
)
"""Hook events that can be registered. SessionStart has run by then, and at SessionEnd the stream is gone."""

RECEIPTS = "msg_lifecycle_v1"
"""The capability of CLIs that tell each step of a prompt and take ``priority``."""


def parse_version(text: str) -> Version | None:
    """``2.1.326 (Claude Code)`` → (2, 1, 326); None when no version is in it."""
    found = re.search(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def mode_is_legal(mode: str, version: Version | None) -> bool:
    """May we name this mode to that CLI? A version past the tested ones checks names by itself, so new ones pass there."""
    if mode in MODES:
        return True
    if version is not None and version > TESTED[-1]:
        return True
    since = NEWER_MODES.get(mode)
    return since is not None and (version is None or version >= since)
