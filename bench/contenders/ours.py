"""ropewalk behind the bench's verbs, by its public names only. Refuses shortcuts that a user of the library would not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.contenders import END, Seen
from ropewalk import Allow, Assistant, Client, ClientOptions, Question, Result, StreamEvent

DELTA_FIELDS = ("text", "thinking", "signature", "partial_json")
CONTROL = frozenset({"control_request", "control_response"})
"""``receive`` gives these too; the others keep them to themselves, so they are not counted when messages are compared."""


class Ours:
    """See ``Contender``."""

    async def start(self, cli: list[str], *, lazy: bool = False, on_question: Callable[[], None] | None = None) -> None:
        async def allow(question: Question) -> Allow:
            if on_question is not None:
                on_question()
            return Allow()

        self._client = Client(ClientOptions(cli=cli, lazy=lazy, on_question=allow))
        await self._client.connect()

    async def prompt(self, text: str) -> None:
        self._client.prompt(text)

    async def drain(self) -> int:
        count = 0
        async for message in self._client.receive():
            count += 1
            if type(message) is Result and message.result == END:
                break
        return count

    async def collect(self, into: list[Seen]) -> None:
        async for message in self._client.receive():
            typed: Any = getattr(message, "message", message) if type(message).__name__ == "LazyMessage" else message
            kind = type(typed).__struct_config__.tag or typed.fields().get("type", "")
            if kind in CONTROL:
                continue
            kind = "system" if typed.raw.startswith(b'{"type":"system"') else kind
            into.append(Seen(str(kind), chars(typed), len(typed.content) if isinstance(typed, Assistant) else 1))
            if type(typed) is Result and typed.result == END:
                return

    async def interrupt(self) -> None:
        await self._client.interrupt()

    async def close(self) -> None:
        await self._client.close()


def chars(message: Any) -> int:
    """Characters in the typed parts of a message."""
    if isinstance(message, StreamEvent):
        delta = getattr(message.event, "delta", None)
        return sum(len(getattr(delta, name, "")) for name in DELTA_FIELDS)
    if isinstance(message, Assistant):
        return sum(len(getattr(block, "text", "") or getattr(block, "thinking", "")) for block in message.content)
    return 0


def create() -> Ours:
    return Ours()
