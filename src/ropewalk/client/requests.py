"""A typed method for each control request known by name. Refuses to be the limit: ``control_request`` takes any subtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Rewind(Struct, frozen=True):
    """What a rewind would change (dry run), or that it was done."""

    can_rewind: bool
    files_changed: tuple[str, ...]
    insertions: int
    deletions: int
    error: str | None


class Requests:
    """Mixed into Client: each method waits for the CLI's answer and raises ``RequestFailed`` with its words."""

    __slots__ = ()

    async def control_request(self, subtype: str, *, within: float | None = None, **fields: Any) -> dict[str, Any]:
        """Any control request; see ``Client``."""
        raise TypeError("Requests is mixed into a class that has control_request")

    async def set_permission_mode(self, mode: str, *, within: float = 5.0) -> str:
        """Change the mode in the middle of a session. Raises ``LocalProtocolError`` for a mode that this CLI does not have."""
        response = await self.control_request("set_permission_mode", within=within, mode=mode)
        return str(response.get("mode", mode))

    async def set_model(self, model: str | None = None) -> None:
        """Another model from the next call on; None for the default. The CLI checks no name: a wrong one fails the next turn."""
        await self.control_request("set_model", model="default" if model is None else model)

    async def set_max_thinking_tokens(self, tokens: int | None) -> None:
        """The thinking budget; 0 for none, None for the CLI's own. What it does depends on the model."""
        await self.control_request("set_max_thinking_tokens", max_thinking_tokens=tokens)

    async def mcp_status(self) -> list[dict[str, Any]]:
        """The MCP servers with their states and tools."""
        listed = (await self.control_request("mcp_status")).get("mcpServers", [])
        by_name: dict[Any, dict[str, Any]] = {}
        for server in listed:
            by_name.setdefault(server.get("name"), server)  # 2.1.37 and 2.1.62 list some twice; the first is the true one
        return list(by_name.values())

    async def mcp_set_servers(self, servers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Replace the servers that were set this way before: {added, removed, errors}."""
        return await self.control_request("mcp_set_servers", servers=servers)

    async def mcp_reconnect(self, server: str) -> None:
        """Connect anew to one MCP server."""
        await self.control_request("mcp_reconnect", serverName=server)

    async def mcp_toggle(self, server: str, enabled: bool) -> None:
        """Switch one MCP server on or off."""
        await self.control_request("mcp_toggle", serverName=server, enabled=enabled)

    async def mcp_message(self, server: str, message: Mapping[str, Any]) -> None:
        """A JSON-RPC notification from an MCP server of ours to the CLI."""
        await self.control_request("mcp_message", server_name=server, message=message)

    async def rewind_files(self, prompt_uuid: str, *, dry_run: bool = False) -> Rewind:
        """Put files back to what they were before that prompt. Do a dry run first and show it; needs ``checkpoints``."""
        extra = {"dry_run": True} if dry_run else {}
        response = await self.control_request("rewind_files", user_message_id=prompt_uuid, **extra)
        changed = response.get("filesChanged")
        return Rewind(
            can_rewind=bool(response.get("canRewind")),
            files_changed=tuple(changed) if isinstance(changed, list) else (),
            insertions=int(response.get("insertions") or 0),
            deletions=int(response.get("deletions") or 0),
            error=response.get("error"),
        )

    async def stop_task(self, task_id: str, *, within: float | None = None) -> None:
        """End a background task. 2.1.37 has no such request and gives no answer."""
        await self.control_request("stop_task", within=within, task_id=task_id)

    async def apply_flag_settings(self, settings: Mapping[str, Any]) -> None:
        """Change settings of the living process (2.1.62 and later)."""
        await self.control_request("apply_flag_settings", settings=settings)

    async def context_usage(self) -> dict[str, Any]:
        """What fills the context, by category (newer CLIs)."""
        return await self.control_request("get_context_usage")

    async def cancel_prompt(self, prompt_uuid: str) -> bool:
        """Take back a prompt that no turn has taken yet (newer CLIs)."""
        return bool((await self.control_request("cancel_async_message", message_uuid=prompt_uuid)).get("cancelled"))

    async def rename_session(self, title: str) -> None:
        """Give the session a title (newer CLIs)."""
        await self.control_request("rename_session", title=title)

    async def side_question(self, question: str, *, within: float | None = None) -> str:
        """Ask the model beside the conversation, without a trace in it (newer CLIs)."""
        return str((await self.control_request("side_question", within=within, question=question)).get("response", ""))
