"""The limit prototype behind the bench's verbs. Refuses to add anything to its hot path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.contenders import END, Seen
from bench.contenders.prototype import Prototype
from bench.contenders.shapes import Assistant, BlockDelta, ControlRequest, Result, StreamEvent


class Limit:
    """See ``Contender``."""

    async def start(self, cli: list[str], *, lazy: bool = False, on_question: Callable[[], None] | None = None) -> None:
        async def allow(question: ControlRequest) -> bool:
            if on_question is not None:
                on_question()
            return True

        self._lazy = lazy
        self._client = await Prototype.open(cli, allow, lazy=lazy)

    async def prompt(self, text: str) -> None:
        self._client.prompt(text)

    async def drain(self) -> int:
        return await (self._drain_lazily() if self._lazy else self._drain_typed())

    async def _drain_typed(self) -> int:
        count = 0
        async for message in self._client.messages():
            count += 1
            if type(message) is Result and message.result == END:
                break
        return count

    async def _drain_lazily(self) -> int:
        count = 0
        async for message in self._client.messages():
            count += 1
            if message.type == "result" and message.typed.result == END:
                break
        return count

    async def collect(self, into: list[Seen]) -> None:
        async for message in self._client.messages():
            typed = message.typed if self._lazy else message
            into.append(Seen(typed.__struct_config__.tag, chars(typed)))
            if type(typed) is Result and typed.result == END:
                return

    async def interrupt(self) -> None:
        await self._client.request("interrupt")

    async def close(self) -> None:
        await self._client.close()


def chars(message: Any) -> int:
    """Characters in the typed parts of a message."""
    if isinstance(message, StreamEvent) and isinstance(message.event, BlockDelta):
        delta: Any = message.event.delta
        return sum(len(getattr(delta, name)) for name in delta.__struct_fields__)
    if isinstance(message, Assistant):
        return sum(len(getattr(block, "text", "") or getattr(block, "thinking", "")) for block in message.message.content)
    return 0


def create() -> Limit:
    return Limit()
