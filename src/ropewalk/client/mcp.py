"""MCP servers that live in your program, served over the control channel. Refuses to import ``mcp`` before one is used."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Protocol

from ..errors import UsageError

Notify = Callable[[str, dict[str, Any]], None]
"""Hands a notification of a server to the CLI: (server's name, JSON-RPC message)."""

Responder = Callable[[dict[str, Any]], Awaitable[Mapping[str, Any] | None]]
"""The smallest server: an async function from a JSON-RPC message to its response."""

METHOD_FAILED = -32603


class Served(Protocol):
    """A server that can be spoken to."""

    async def respond(self, message: dict[str, Any]) -> dict[str, Any]: ...


class McpDesk:
    """The servers of one client by name. Their tasks end with it."""

    def __init__(self, servers: Mapping[str, Any], notify: Notify) -> None:
        self._given = {name: server for name, server in servers.items() if not isinstance(server, Mapping)}
        self.configured = {name: dict(server) for name, server in servers.items() if isinstance(server, Mapping)}
        """Servers that the CLI itself is to start."""
        self._notify = notify
        self._served: dict[str, Served] = {}
        self._stack = AsyncExitStack()

    @property
    def names(self) -> list[str]:
        """Servers that run here."""
        return list(self._given)

    async def open(self) -> None:
        """Start the servers that run here."""
        for name, server in self._given.items():
            self._served[name] = await self._open(name, server)

    async def close(self) -> None:
        await self._stack.aclose()

    async def respond(self, server: str, message: Any) -> dict[str, Any]:
        """The payload for one ``mcp_message``. Raises ``UsageError`` for a name that is not served here."""
        served = self._served.get(server)
        if served is None:
            raise UsageError(f"no MCP server {server!r} runs here; there are {', '.join(self._served) or 'none'}")
        if not isinstance(message, dict):
            raise UsageError("an mcp_message carries a JSON-RPC object")
        return {"mcp_response": await served.respond(message)}

    async def _open(self, name: str, server: Any) -> Served:
        low = getattr(server, "_lowlevel_server", None) or getattr(server, "_mcp_server", None) or server
        if hasattr(low, "run") and hasattr(low, "create_initialization_options"):
            bridge = SdkBridge(low, lambda message: self._notify(name, message))
            self._stack.push_async_callback(bridge.close)
            bridge.open()
            return bridge
        if callable(server):
            return FunctionServer(server)
        raise UsageError(f"the MCP server {name!r} is neither of the mcp SDK, nor an async function, nor a configuration")


class FunctionServer:
    """A server that is one async function."""

    def __init__(self, function: Responder) -> None:
        self._function = function

    async def respond(self, message: dict[str, Any]) -> dict[str, Any]:
        return dict(await self._function(message) or _nothing(message))


class SdkBridge:
    """A server of the official SDK, run over memory streams in a task of its own.

    Ids are exchanged for our own on the way in and put back on the way out: 2.1.62 shakes hands twice, interleaved, with the
    same ids, and ids are numbers or texts by version.
    """

    def __init__(self, server: Any, notify: Callable[[dict[str, Any]], None]) -> None:
        self._server = server
        self._notify = notify
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="mcp server")

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        for waiting in self._waiting.values():
            waiting.cancel()

    async def respond(self, message: dict[str, Any]) -> dict[str, Any]:
        if "id" not in message or "method" not in message:
            self._inbox.put_nowait(message)
            return _nothing(message)
        ours = next(self._ids)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ours] = answer
        self._inbox.put_nowait({**message, "id": ours})
        try:
            return {**await answer, "id": message["id"]}
        finally:
            self._waiting.pop(ours, None)

    async def _run(self) -> None:
        import anyio  # noqa: PLC0415 - both come with the mcp SDK, which only users of in-process servers have
        from mcp.shared.message import SessionMessage  # noqa: PLC0415
        from mcp.types import jsonrpc_message_adapter  # noqa: PLC0415

        to_server, server_reads = anyio.create_memory_object_stream[Any](16)
        server_writes, from_server = anyio.create_memory_object_stream[Any](16)

        async def feed() -> None:
            while True:
                message = await self._inbox.get()
                await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

        async def drain() -> None:
            async for said in from_server:
                self._said(said.message.model_dump(by_alias=True, mode="json", exclude_none=True))

        try:
            async with asyncio.TaskGroup() as group, to_server, server_reads, server_writes, from_server:
                group.create_task(feed())
                group.create_task(drain())
                await self._server.run(server_reads, server_writes, self._server.create_initialization_options())
        finally:
            for waiting in self._waiting.values():
                waiting.cancel()

    def _said(self, message: dict[str, Any]) -> None:
        waiting = self._waiting.get(message["id"]) if "method" not in message and isinstance(message.get("id"), int) else None
        if waiting is not None and not waiting.done():
            waiting.set_result(message)
        elif "method" in message:
            self._notify(message)


def _nothing(message: Mapping[str, Any]) -> dict[str, Any]:
    """What a notification is answered with: the CLI wants an answer to it too."""
    return {"jsonrpc": "2.0", "result": {}, **({"id": message["id"]} if "id" in message else {"id": 0})}
