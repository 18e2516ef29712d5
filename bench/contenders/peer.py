"""The peer, claude-agent-sdk, behind the bench's verbs and used as its documentation shows. Refuses to touch its insides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found, unused-ignore]  # it lives in a venv of its own
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
)

from bench.contenders import END, Seen

DELTA_FIELDS = ("text", "thinking", "signature", "partial_json")


class Peer:
    """See ``Contender``. It has no lazy way: the typed one is measured for both."""

    async def start(self, cli: list[str], *, lazy: bool = False, on_question: Callable[[], None] | None = None) -> None:
        async def allow(tool: str, given: dict[str, Any], context: Any) -> PermissionResultAllow:
            if on_question is not None:
                on_question()
            return PermissionResultAllow()

        asks = allow if on_question is not None else None
        self._client = ClaudeSDKClient(ClaudeAgentOptions(cli_path=cli[0], include_partial_messages=True, can_use_tool=asks))
        await self._client.connect()

    async def prompt(self, text: str) -> None:
        await self._client.query(text)

    async def drain(self) -> int:
        count = 0
        async for message in self._client.receive_messages():
            count += 1
            if type(message) is ResultMessage and message.result == END:
                break
        return count

    async def collect(self, into: list[Seen]) -> None:
        async for message in self._client.receive_messages():
            blocks = len(message.content) if isinstance(message, AssistantMessage) else 1
            into.append(Seen(KINDS.get(type(message).__name__, "other"), chars(message), blocks))
            if type(message) is ResultMessage and message.result == END:
                return

    async def interrupt(self) -> None:
        await self._client.interrupt()

    async def close(self) -> None:
        await self._client.disconnect()


KINDS = {
    "StreamEvent": "stream_event",
    "AssistantMessage": "assistant",
    "UserMessage": "user",
    "ResultMessage": "result",
    "SystemMessage": "system",
}


def chars(message: Any) -> int:
    """Characters in the typed parts of a message; an event is a dict here."""
    if isinstance(message, StreamEvent):
        delta = message.event.get("delta", {})
        return sum(len(delta[name]) for name in DELTA_FIELDS if name in delta)
    if isinstance(message, AssistantMessage):
        return sum(len(getattr(block, "text", "") or getattr(block, "thinking", "")) for block in message.content)
    return 0


def create() -> Peer:
    return Peer()
