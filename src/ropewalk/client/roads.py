"""From options to a road: which program, environment, transport. Refuses roads that this CLI would not take, in words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import CliNotFound
from ..protocol.versions import LAST_LOCAL_LINK, Version
from ..transports.base import Transport
from ..transports.environment import environment_for
from ..transports.flags import CHECKPOINTS
from ..transports.launch import Launch, find_cli
from ..transports.stdio import StdioTransport
from .options import ClientOptions, flags
from .version import cli_version


def launch_for(options: ClientOptions) -> Launch:
    """How the CLI is started. Raises ``CliNotFound`` or another ``UsageError``; starts nothing."""
    asked = dict(options.env)
    if options.checkpoints:
        asked.setdefault(CHECKPOINTS, "1")
    env = environment_for(os.environ, asked, api_billing=options.api_billing)
    cwd = os.path.abspath(os.path.expanduser(options.cwd))
    return Launch(program=_program(options), args=flags(options), cwd=cwd, env=env)


def _program(options: ClientOptions) -> tuple[str, ...]:
    try:
        return program_of(options.cli)
    except CliNotFound:
        if options.cli is None and callable(options.transport):
            return ("claude",)  # a road of the caller's own may start nothing
        raise


def program_of(cli: str | os.PathLike[str] | Sequence[str] | None) -> tuple[str, ...]:
    """The words that start the CLI."""
    if cli is None or isinstance(cli, str | os.PathLike):
        return find_cli(cli, os.environ)
    return tuple(cli)


class Opened(NamedTuple):
    """A road that was chosen; its transport is not started yet."""

    transport: Transport
    argv: tuple[str, ...]
    name: str
    version: Version | None = None
    """Where it had to be asked for."""
    breaks: bool = False
    """The link can be lost while the CLI lives on."""


async def open_road(options: ClientOptions) -> Opened:
    """The road that these options ask for, or the one that this CLI takes instead."""
    launch = launch_for(options)
    launch.check()
    argv = tuple(launch.argv)
    if callable(options.transport):
        transport = options.transport(launch)
        return Opened(transport, argv, "custom", breaks=getattr(transport, "breaks", False))
    if options.transport == "stdio":
        return Opened(StdioTransport(launch), argv, "stdio")
    version = await cli_version(launch.program, launch.env)
    if version is not None and version > LAST_LOCAL_LINK:
        told = ".".join(map(str, version))
        return Opened(StdioTransport(launch), argv, f"stdio: claude {told} takes --sdk-url only to its vendor's hosts", version)
    from ..transports.websocket.transport import WebSocketTransport  # noqa: PLC0415 - websockets is loaded only for those who use it

    link = WebSocketTransport(launch, hybrid=options.transport == "hybrid")
    return Opened(link, argv, options.transport, version, breaks=link.breaks)
