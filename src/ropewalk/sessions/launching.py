"""From a session to the process that serves it: flags and environment. Pure; refuses what the configuration does not allow."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..config import Config
from ..errors import NotAllowed, UsageError
from ..events.commands import SessionOptions
from ..store.rows import SessionRow
from ..transports.environment import environment_for, refuse_impossible
from ..transports.flags import CHECKPOINTS, words
from ..transports.launch import Launch
from .holding import HELD, KEEP
from .kept import Begun
from .world import Program

STAND_IN = frozenset({"ROPEWALK_SIM_SCENARIO", "ROPEWALK_SIM_VERSION", "ROPEWALK_SIM_SPEED", "ROPEWALK_SIM_FAULT"})
"""Variables of the stand-in that anybody may set for a session on it."""


def stand_in_folder(config: Config) -> str:
    """Where the stand-in keeps its records: never among those of the person's own sessions."""
    return os.path.join(config.home, "stand-in")


def check_options(options: SessionOptions, mode: str | None, config: Config) -> None:
    """Raises ``NotAllowed`` for what a client may not name by itself, ``UsageError`` for what can't be meant."""
    if (options.allow_bypass or mode == "bypassPermissions") and not config.allow_bypass:
        raise NotAllowed("bypassPermissions is switched off here; set allow_bypass = true in the configuration to permit it")
    own = options.env.keys() - STAND_IN if options.sim or config.sim else options.env.keys()
    if own and not config.allow_env:
        raise NotAllowed("variables of its own are switched off here; set allow_env = true in the configuration to permit them")
    if (options.mcp_config or options.settings) and not config.allow_mcp:
        raise NotAllowed("settings and MCP files are switched off here; set allow_mcp = true in the configuration to permit them")
    scenario = options.env.get("ROPEWALK_SIM_SCENARIO", "")
    if not config.sim and not scenario.replace("-", "").isalnum() and scenario:
        raise NotAllowed(
            "a scenario can run commands: name one that ships, such as demo; files are for hubs that run with sim = true"
        )
    if config.roots:
        for folder in options.add_dirs:
            check_folder(folder, config)
    refuse_impossible(options.env)
    for rule in (*options.allowed_tools, *options.disallowed_tools):
        if rule.startswith("-"):
            raise UsageError(f"{rule!r} is no rule of a tool; write one such as 'Read' or 'Bash(git log:*)'")


def check_folder(cwd: str, config: Config) -> str:
    """The folder as it will be used: absolute, links followed. Raises ``UsageError`` or ``NotAllowed``."""
    if not os.path.isabs(os.path.expanduser(cwd)):
        raise UsageError(f"the folder must be absolute, not {cwd!r}")
    folder = os.path.realpath(os.path.expanduser(cwd))
    roots = [os.path.realpath(os.path.expanduser(root)) for root in config.roots]
    if roots and not any(folder == root or folder.startswith(root.rstrip(os.sep) + os.sep) for root in roots):
        raise NotAllowed(f"{cwd} is outside the folders that sessions may work in ({', '.join(config.roots)})")
    return folder


def how_to_begin(begun: Begun, cli_session: str | None, new_session: str) -> dict[str, Any]:
    """New, resumed, or forked, as words of ``launch_for``. One whose conversation has begun goes on with it."""
    if begun.fork_of is not None and not begun.turns:
        return {"resume": begun.fork_of, "fork": True, "resume_at": begun.fork_at}
    if cli_session is not None and (begun.turns or begun.resumed):
        return {"resume": cli_session}
    return {"new_session": new_session}


def launch_for(
    row: SessionRow,
    options: SessionOptions,
    program: Program,
    config: Config,
    environ: Mapping[str, str],
    *,
    resume: str | None = None,
    new_session: str | None = None,
    fork: bool = False,
    resume_at: str | None = None,
    settings: str = HELD,
) -> Launch:
    """How its next process is started. ``settings``: of ``settings_for``."""
    switches = {
        "--include-partial-messages": True,
        "--allow-dangerously-skip-permissions": options.allow_bypass and config.allow_bypass,
        "--fork-session": fork,
    }
    values: dict[str, object] = {
        "--permission-mode": row.mode or "default",
        "--model": row.model or None,
        "--fallback-model": options.fallback_model,
        "--resume": resume,
        "--resume-session-at": resume_at,
        "--session-id": new_session,
        "--max-turns": options.max_turns,
        "--max-budget-usd": options.max_budget_usd,
        "--mcp-config": options.mcp_config,
        "--settings": settings,
    }
    lists = {
        "--allowedTools": options.allowed_tools,
        "--disallowedTools": options.disallowed_tools,
        "--add-dir": options.add_dirs,
    }
    asked = {CHECKPOINTS: "1", **config.environment, **options.env, KEEP: "1"}
    if row.sim:
        asked.setdefault("CLAUDE_CONFIG_DIR", stand_in_folder(config))
    env = environment_for(environ, asked, api_billing=config.api_billing)
    return Launch(program.words, words(switches, values, lists), row.cwd, env)
