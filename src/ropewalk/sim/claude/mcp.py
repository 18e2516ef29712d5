"""MCP servers that live in the controller: the handshake and the calls over ``mcp_message``. Refuses other kinds: they fail."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .calls import Call
from .outcomes import Outcome
from .session import Json

if TYPE_CHECKING:
    from .program import Program

PROTOCOL = "2025-11-25"


@dataclass
class Server:
    """One server as ``mcp_status`` tells of it."""

    name: str
    kind: str = "sdk"
    status: str = "pending"
    tools: list[Json] = field(default_factory=list)
    about: Json | None = None
    error: str | None = None
    config: Json | None = None
    dynamic: bool = False
    calls: int = 0
    prefix: str = field(default_factory=lambda: secrets.token_hex(4))

    @property
    def source(self) -> str:
        return "sdk" if self.kind == "sdk" else "dynamic"


class Mcp:
    """The servers of this process."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.servers: dict[str, Server] = {}

    def register(self, names: Any) -> None:
        for name in names if isinstance(names, list) else []:
            self.servers[str(name)] = Server(str(name))

    async def greet(self, server: Server) -> None:
        """The first of the three messages; the answer says who the server is."""
        about: Json = {"name": "claude-code", "version": self._program.traits.version}
        if self._program.traits.mcp_string_ids:
            about |= {
                "title": "Claude Code",
                "description": "Anthropic's agentic coding tool",
                "websiteUrl": "https://claude.com/claude-code",
            }
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about}
        answer = await self._call(server, "initialize", hello)
        server.about = answer.get("serverInfo") if answer else None
        server.status = "connected" if answer is not None else "failed"

    async def list_tools(self, server: Server) -> None:
        if server.status != "connected":
            return
        await self._send(server, {"method": "notifications/initialized", "jsonrpc": "2.0"})
        answer = await self._call(server, "tools/list", None)
        tools = answer.get("tools") if answer else None
        server.tools = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    async def connect_late(self, server: Server) -> None:
        """After mcp_set_servers: 2.1.37 and 2.1.62 do everything twice, interleaved (measured)."""
        if not self._program.traits.mcp_set_twice:
            return await self.connect(server)
        shadow = Server(server.name)
        await asyncio.gather(self.connect(shadow), self.connect(server))
        return None

    async def connect(self, server: Server) -> None:
        await self.greet(server)
        await self.list_tools(server)

    async def call_tool(self, call: Call) -> Outcome | None:
        """The outcome of an ``mcp__server__tool`` call; None when no server of ours has it."""
        server, tool = self.find(call.name)
        if server is None:
            return None
        meta = {"claudecode/toolUseId": call.id, "progressToken": server.calls}
        answer = await self._call(server, "tools/call", {"name": tool, "arguments": call.given, "_meta": meta})
        if answer is None:
            return Outcome("MCP error", "Error: MCP error", error=True)
        content = answer.get("content", [])
        if answer.get("isError"):
            words = "\n".join(str(block.get("text", "")) for block in content if isinstance(block, dict))
            return Outcome(words, f"Error: {words}", error=True)
        return Outcome(content, content)

    def find(self, name: str) -> tuple[Server | None, str]:
        for server in self.servers.values():
            if name.startswith(f"mcp__{server.name}__") and server.kind == "sdk":
                return server, name.removeprefix(f"mcp__{server.name}__")
        return None, ""

    async def _call(self, server: Server, method: str, params: Json | None) -> Json | None:
        number: object = f"{server.prefix}:{server.calls}" if self._program.traits.mcp_string_ids else server.calls
        server.calls += 1
        message: Json = {"method": method, "params": params, "jsonrpc": "2.0", "id": number}
        if params is None:
            del message["params"]
        answer = await self._send(server, message)
        result = answer.get("result") if isinstance(answer, dict) else None
        return result if isinstance(result, dict) else None

    async def _send(self, server: Server, message: Json) -> object:
        answer = await self._program.questions.ask({"subtype": "mcp_message", "server_name": server.name, "message": message})
        return answer.response.get("mcp_response") if isinstance(answer.response, dict) else None

    def tool_names(self) -> list[str]:
        return [f"mcp__{server.name}__{tool.get('name')}" for server in self.servers.values() for tool in server.tools]

    def for_init(self) -> list[Json]:
        rich = self._program.traits.rich_results
        return [
            {"name": server.name, "status": server.status} | ({"source": server.source} if rich else {})
            for server in self._listed()
        ]

    def status(self) -> list[Json]:
        """The older ones list a server of mcp_set_servers that did not come up twice (measured)."""
        twice = [] if self._program.traits.rich_results else [server for server in self.servers.values() if server.error]
        return [self._status(server) for server in [*twice, *self._listed()]]

    def _listed(self) -> list[Server]:
        """2.1.326 lists those that did not come up first."""
        if not self._program.traits.rich_results:
            return list(self.servers.values())
        return sorted(self.servers.values(), key=lambda server: server.status == "connected")

    def _status(self, server: Server) -> Json:
        rich = self._program.traits.rich_results
        entry: Json = {"name": server.name, "status": server.status}
        if server.error:
            entry["error"] = server.error
        if server.about and (rich or server.kind != "sdk"):
            entry["serverInfo"] = server.about
        if server.config:
            entry["config"] = server.config
        if rich:
            entry["transport"] = server.kind
        entry["scope"] = "dynamic"
        if rich:
            entry["source"] = server.source
        if server.status == "connected":
            entry["tools"] = [{"name": tool.get("name"), "annotations": {}} for tool in server.tools]
        return entry

    def replace(self, table: Json) -> Json:
        """``mcp_set_servers``: what this request named before is dropped, what it names now is added."""
        removed = [name for name, server in self.servers.items() if server.dynamic and name not in table]
        added = [name for name in table if name not in self.servers]
        for name in removed:
            del self.servers[name]
        errors: Json = {}
        for name in added:
            config = table[name] if isinstance(table[name], dict) else {}
            kind = str(config.get("type", "stdio"))
            self.servers[name] = server = Server(name, kind, dynamic=True, config=None if kind == "sdk" else dict(config))
            if kind != "sdk":
                server.status = "failed"
                server.error = errors[name] = "Connection closed"
        return {"added": added, "removed": removed, "errors": errors}
