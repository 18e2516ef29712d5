"""From options to a road: which program, environment, transport. Refuses roads that this CLI would not take, in words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ..protocol.versions import LAST_LOCAL_LINK, Version
from ..transports.base import Transport
from ..transports.environment import environment_for
from ..transports.launch import Launch, find_cli
from ..transports.stdio import StdioTransport
from .options import ClientOptions, flags
from .version import cli_version

CHECKPOINTS = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"


def launch_for(options: ClientOptions) -> Launch:
    """How the CLI is started. Raises ``CliNotFound`` or another ``UsageError``; starts nothing."""
    asked = dict(options.env)
    if options.checkpoints:
        asked.setdefault(CHECKPOINTS, "1")
    env = environment_for(os.environ, asked, api_billing=options.api_billing)
    program = program_of(options.cli)
    return Launch(program=program, args=flags(options), cwd=str(Path(options.cwd).expanduser().absolute()), env=env)


def program_of(cli: str | os.PathLike[str] | Sequence[str] | None) -> tuple[str, ...]:
    """The words that start the CLI."""
    if cli is None or isinstance(cli, str | os.PathLike):
        return find_cli(cli, os.environ)
    return tuple(cli)


async def open_road(options: ClientOptions) -> tuple[Transport, str, Version | None, bool]:
    """The transport (not started), what to say of it, the version where it was asked for, and whether the link can break."""
    launch = launch_for(options)
    launch.check()
    if callable(options.transport):
        return options.transport(launch), "custom", None, False
    if options.transport == "stdio":
        return StdioTransport(launch), "stdio", None, False
    version = await cli_version(launch.program, launch.env)
    if version is not None and version > LAST_LOCAL_LINK:
        told = ".".join(map(str, version))
        return StdioTransport(launch), f"stdio: claude {told} takes --sdk-url only to its vendor's hosts", version, False
    from ..transports.websocket.transport import WebSocketTransport  # noqa: PLC0415 - websockets is loaded only for those who use it

    return WebSocketTransport(launch, hybrid=options.transport == "hybrid"), options.transport, version, True
