"""Everything that the CLI asks and waits for: permission, hooks, MCP messages. Refuses to judge: the asker reads the answer.

One table by ``request_id``; an entry leaves by answer or by withdrawal, and a late answer is nobody's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from .session import Json


@dataclass(frozen=True)
class Answer:
    """What came back. ``error`` is the text of an error response; ``closed`` says that nobody is left to answer."""

    response: object = None
    error: str | None = None
    closed: bool = False


@dataclass
class Open:
    request: Json
    answered: asyncio.Future[Answer]


class Questions:
    """The table of open questions."""

    def __init__(self, send: Callable[[Json], None], new_id: Callable[[], str]) -> None:
        self._send = send
        self._new_id = new_id
        self._open: dict[str, Open] = {}
        self._closed = False

    def put(self, request: Json) -> tuple[str, asyncio.Future[Answer]]:
        """Ask now; await the future for the answer. When the input has ended the answer is there at once."""
        request_id = self._new_id()
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self._closed:
            future.set_result(Answer(closed=True))
            return request_id, future
        self._open[request_id] = Open(request, future)
        self._send({"type": "control_request", "request_id": request_id, "request": request})
        return request_id, future

    async def ask(self, request: Json) -> Answer:
        return await self.put(request)[1]

    def settle(self, inner: Json) -> None:
        """A ``control_response``'s inner object. Unknown ids and second answers are dropped (measured, all versions)."""
        entry = self._open.pop(str(inner.get("request_id")), None)
        if entry is None or entry.answered.done():
            return
        error = str(inner.get("error")) if inner.get("subtype") == "error" else None
        entry.answered.set_result(Answer(inner.get("response"), error))

    def withdraw(self, request_id: str) -> None:
        """Take one back and say so."""
        entry = self._open.pop(request_id, None)
        if entry is not None:
            self._send({"type": "control_cancel_request", "request_id": request_id})
            entry.answered.cancel()

    def withdraw_asked_by(self, agent_ids: set[str | None]) -> None:
        """Take back every permission question of these agents (None = the main thread)."""
        for request_id, entry in list(self._open.items()):
            if entry.request["subtype"] == "can_use_tool" and entry.request.get("agent_id") in agent_ids:
                self.withdraw(request_id)

    def close(self) -> None:
        """The input has ended: every question counts as refused."""
        self._closed = True
        entries, self._open = self._open, {}
        for entry in entries.values():
            if not entry.answered.done():
                entry.answered.set_result(Answer(closed=True))

    def pending(self) -> list[Json]:
        """The open permission questions as whole lines: what a second ``initialize`` lists."""
        return [
            {"type": "control_request", "request_id": request_id, "request": entry.request}
            for request_id, entry in self._open.items()
            if entry.request["subtype"] == "can_use_tool"
        ]
