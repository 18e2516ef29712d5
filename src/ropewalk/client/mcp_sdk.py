"""Runs a server of the official mcp SDK in a task and speaks JSON-RPC with it. Refuses to wait for a server that has ended.

Ids are exchanged for our own on the way in and put back on the way out: 2.1.62 shakes hands twice, interleaved, with the same
ids, and ids are numbers or texts by version.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
from collections.abc import Callable
from typing import Any

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from .mcp import JsonRpc, failure, nothing

log = logging.getLogger("ropewalk.client")

PATIENCE = 6.0
"""Seconds for a cancelled server to end: the SDK gives its own cleaning up 5."""

INVALID = -32600
"""JSON-RPC's code for what is no message."""

CANCELLED = "notifications/cancelled"


class SdkBridge:
    """One server. It is started by the first message, and again by a handshake after it broke."""

    def __init__(self, server: Any, notify: Callable[[JsonRpc], None], on_error: Callable[[Exception], None]) -> None:
        self._server, self._notify, self._on_error = server, notify, on_error
        self._ids = itertools.count(1)
        self._waiting: dict[int, tuple[JsonRpc, asyncio.Future[JsonRpc]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._to_server: Any = None
        self._why = ""

    async def close(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        _, deaf = await asyncio.wait([self._task], timeout=PATIENCE)
        if deaf:
            log.error("the MCP server %r did not end when it was cancelled", getattr(self._server, "name", self._server))

    async def respond(self, message: JsonRpc) -> JsonRpc:
        """The answer to one message; an error where the server is gone or the message none."""
        is_request = "id" in message and "method" in message
        if self._task is None or (self._task.done() and message.get("method") == "initialize"):
            self._start()
        if self._task is not None and self._task.done():
            return failure(message, f"the MCP server has ended: {self._why}")
        try:
            if not is_request:
                self._hear(message)
                return nothing(message)
            return await self._ask(message)
        except ValidationError as error:
            return failure(message, f"this is no JSON-RPC message: {error}", INVALID)

    def _start(self) -> None:
        # The stream to the server has no limit: the CLI waits for every answer, so that little can pile up.
        self._to_server, server_reads = anyio.create_memory_object_stream[Any](math.inf)
        self._task = asyncio.get_running_loop().create_task(self._run(server_reads), name="ropewalk mcp server")

    def _tell(self, message: JsonRpc) -> None:
        self._to_server.send_nowait(SessionMessage(jsonrpc_message_adapter.validate_python(message)))

    async def _ask(self, message: JsonRpc) -> JsonRpc:
        ours = next(self._ids)
        answer: asyncio.Future[JsonRpc] = asyncio.get_running_loop().create_future()
        self._tell({**message, "id": ours})
        self._waiting[ours] = (message, answer)
        try:
            return {**await answer, "id": message["id"]}
        except asyncio.CancelledError:  # the CLI waits no longer: neither shall the server work on
            if self._task is not None and not self._task.done():
                self._tell({"jsonrpc": "2.0", "method": CANCELLED, "params": {"requestId": ours}})
            raise
        finally:
            self._waiting.pop(ours, None)

    def _hear(self, message: JsonRpc) -> None:
        """A notification, or the answer to a request of the server's. A cancellation names its request by the CLI's id."""
        params = message.get("params")
        if message.get("method") != CANCELLED or not isinstance(params, dict):
            self._tell(message)
            return
        for ours, (asked, answer) in list(self._waiting.items()):
            if asked["id"] == params.get("requestId") and not answer.done():
                self._tell({**message, "params": {**params, "requestId": ours}})
                answer.set_result(failure(asked, "cancelled"))  # the server gives no answer to what is cancelled

    async def _run(self, server_reads: Any) -> None:
        self._why = "it was closed"
        try:
            await self._serve(server_reads)
            self._why = "it ended by itself"
        except Exception as error:
            self._why = _words_of(error)
            log.exception("the MCP server %r broke", getattr(self._server, "name", self._server))
            self._on_error(error)
        finally:
            for message, answer in list(self._waiting.values()):
                if not answer.done():
                    answer.set_result(failure(message, f"the MCP server has ended: {self._why}"))

    async def _serve(self, server_reads: Any) -> None:
        server_writes, from_server = anyio.create_memory_object_stream[Any](16)

        async def hear() -> None:
            async for said in from_server:
                self._said(said.message.model_dump(by_alias=True, mode="json", exclude_unset=True))

        async with asyncio.TaskGroup() as group, self._to_server, server_reads, server_writes, from_server:
            hearing = group.create_task(hear())
            await self._server.run(server_reads, server_writes, self._server.create_initialization_options())
            hearing.cancel()

    def _said(self, message: JsonRpc) -> None:
        if "method" in message:
            self._notify(message)
            return
        entry = self._waiting.get(message.get("id", 0))
        if entry is not None and not entry[1].done():
            entry[1].set_result(message)


def _words_of(error: BaseException) -> str:
    """The first cause: the SDK's task groups wrap it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
