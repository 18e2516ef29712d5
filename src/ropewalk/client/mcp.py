"""MCP servers that live in your program, by name, served over the control channel. Refuses names that it does not serve."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from ..errors import UsageError

JsonRpc = dict[str, Any]

Notify = Callable[[str, JsonRpc], None]
"""Hands a notification of a server to the CLI: (server's name, JSON-RPC message)."""

Responder = Callable[[JsonRpc], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]
"""The smallest server: a function, plain or async, from a JSON-RPC message to its response."""

FAILED = -32603
"""JSON-RPC's code for an error inside the server."""


class Served(Protocol):
    """A server that can be spoken to."""

    async def respond(self, message: JsonRpc) -> JsonRpc: ...

    async def close(self) -> None: ...


class McpDesk:
    """The servers of one client by name. Their tasks end with it."""

    __slots__ = ("_given", "_notify", "_on_error", "_served", "configured")

    def __init__(self, servers: Mapping[str, Any], notify: Notify, on_error: Callable[[Exception], None]) -> None:
        self._given = {name: server for name, server in servers.items() if not isinstance(server, Mapping)}
        self.configured = {name: dict(server) for name, server in servers.items() if isinstance(server, Mapping)}
        """Servers that the CLI itself is to start."""
        self._notify, self._on_error = notify, on_error
        self._served: dict[str, Served] = {}

    @property
    def names(self) -> list[str]:
        """Servers that run here."""
        return list(self._given)

    def open(self) -> None:
        """Start the servers that run here. Raises ``UsageError`` for what is no server."""
        for name, server in self._given.items():
            self._served[name] = self._open(name, server)

    async def close(self) -> None:
        """Bounded: a server that does not end is left to its fate."""
        if self._served:
            await asyncio.gather(*(served.close() for served in self._served.values()))

    def respond(self, server: str, message: Any) -> Awaitable[JsonRpc]:
        """The payload for one ``mcp_message``. Raises ``UsageError`` for a name that is not served here."""
        served = self._served.get(server)
        if served is None:
            raise UsageError(f"no MCP server {server!r} runs here; there are {', '.join(self._served) or 'none'}")
        if not isinstance(message, dict):
            raise UsageError("an mcp_message carries a JSON-RPC object")
        return self._payload(served, message)

    async def _payload(self, served: Served, message: JsonRpc) -> JsonRpc:
        try:
            return {"mcp_response": await served.respond(message)}
        except Exception as error:  # noqa: BLE001 - a caller's server may raise anything; the CLI must not wait
            self._on_error(error)
            return {"mcp_response": failure(message, f"the MCP server failed: {error}")}

    def _open(self, name: str, server: Any) -> Served:
        low = getattr(server, "_lowlevel_server", server)  # MCPServer wraps one
        if hasattr(low, "run") and hasattr(low, "create_initialization_options"):
            from .mcp_sdk import SdkBridge  # noqa: PLC0415 - loads the mcp SDK, which only users of its servers have

            return SdkBridge(low, lambda message: self._notify(name, message), self._on_error)
        if callable(server):
            return FunctionServer(server)
        raise UsageError(f"the MCP server {name!r} is neither of the mcp SDK, nor a function, nor a configuration")


class FunctionServer:
    """A server that is one function."""

    __slots__ = ("_function",)

    def __init__(self, function: Responder) -> None:
        self._function = function

    async def respond(self, message: JsonRpc) -> JsonRpc:
        said = self._function(message)
        response = await said if inspect.isawaitable(said) else said
        return nothing(message) if response is None else {"jsonrpc": "2.0", "id": message.get("id"), **response}

    async def close(self) -> None:
        """Nothing of it runs between two messages."""


def nothing(message: Mapping[str, Any]) -> JsonRpc:
    """What a notification is answered with: the CLI wants an answer to it too."""
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": {}}


def failure(message: Mapping[str, Any], words: str, code: int = FAILED) -> JsonRpc:
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "error": {"code": code, "message": words}}
