"""A CLI that a test plays line by line, with a Client in front of it. No process: the exact order of things is the test's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ropewalk import Client, ClientOptions
from ropewalk.transports.launch import Launch
from ropewalk.transports.memory import MemoryTransport, memory_pair

GUARD = 30.0
"""Seconds after which something that should have happened counts as never: the machine may be busy."""

Line = dict[str, Any]


class PlayedCli:
    """The CLI's side. ``newer``: it tells receipts as 2.1.326 does; else it echoes prompts as 2.1.37 and 2.1.62 do."""

    def __init__(self, newer: bool = True, **pair: Any) -> None:
        self.newer = newer
        self.transport: MemoryTransport
        self.transport, self.cli = memory_pair(**pair)
        self.launch: Launch | None = None
        self.program: list[str] | None = ["claude"]

    def road(self, launch: Launch) -> MemoryTransport:
        self.launch = launch
        return self.transport

    def options(self, **more: Any) -> ClientOptions:
        return ClientOptions(**{"transport": self.road, "cli": self.program, "close_patience": 0.2, **more})

    # -- hearing

    async def hear(self) -> Line:
        """The next line of the client's."""
        async with asyncio.timeout(GUARD):
            line: Line = json.loads(await self.cli.hear_line())
        return line

    async def request(self, subtype: str) -> Line:
        """The next line, which must be this request."""
        line = await self.hear()
        assert line["type"] == "control_request" and line["request"]["subtype"] == subtype, line
        return line

    async def prompt(self, words: str) -> str:
        """The next line, which must be this prompt; its uuid."""
        line = await self.hear()
        assert line["type"] == "user" and line["message"]["content"] == words, line
        return str(line["uuid"])

    async def answer(self, request_id: str) -> Line:
        """The next line, which must answer this question; its inner part."""
        line = await self.hear()
        assert line["type"] == "control_response" and line["response"]["request_id"] == request_id, line
        inner: Line = line["response"]
        return inner

    # -- speaking

    def say(self, *lines: Line) -> None:
        """All in one piece, as one write of the CLI would come."""
        self.cli.say(b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    def succeed(self, request: Line, response: Line | None = None) -> None:
        self.say(success(request["request_id"], response))

    def fail(self, request: Line, error: str, **more: Any) -> None:
        inner = {"subtype": "error", "request_id": request["request_id"], "error": error, **more}
        self.say({"type": "control_response", "response": inner})

    def turn(self, *prompts: str, words: str = "Yes.") -> None:
        """A whole short turn for these prompts."""
        self.say(*self.begin(*prompts), text(words), self.result(*prompts, words=words))

    def begin(self, *prompts: str) -> list[Line]:
        """How a turn begins: receipts and init, in the order of the version."""
        echoes = [echo(uuid) for uuid in prompts]
        if not self.newer:
            return [init(), *echoes]
        started = [{"type": "command_lifecycle", "command_uuid": uuid, "state": "started", "uuid": "l"} for uuid in prompts]
        more = {"user_message_uuids": list(prompts)} if prompts else {}
        return [*started, init(**more), *echoes]

    def result(self, *prompts: str, words: str = "Yes.", **more: Any) -> Line:
        named = {"user_message_uuid": prompts[-1], "user_message_uuids": list(prompts)} if self.newer and prompts else {}
        return result(words, **named, **more)


@asynccontextmanager
async def connected(cli: PlayedCli, response: Line | None = None, **more: Any) -> AsyncIterator[Client]:
    """A client whose CLI has answered ``initialize``."""
    client = Client(cli.options(**more))
    async with asyncio.timeout(GUARD), asyncio.TaskGroup() as group:
        started = group.create_task(client.connect())
        newer = {"claude_code_version": "2.1.326", "capabilities": ["msg_lifecycle_v1"]} if cli.newer else {}
        cli.succeed(await cli.request("initialize"), newer if response is None else response)
        await started
    try:
        yield client
    finally:
        async with asyncio.timeout(GUARD):
            while cli.cli.unheard and client.end is None:
                await asyncio.sleep(0)
            await client.close()


def success(request_id: str, response: Line | None = None) -> Line:
    inner: Line = {"subtype": "success", "request_id": request_id}
    return {"type": "control_response", "response": inner if response is None else {**inner, "response": response}}


def init(**more: Any) -> Line:
    return {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/", "tools": [], "uuid": "i", **more}


def echo(uuid: str) -> Line:
    return {"type": "user", "message": {"role": "user", "content": "…"}, "uuid": uuid, "isReplay": True, "session_id": "s"}


def text(words: str) -> Line:
    message = {"id": "m", "role": "assistant", "model": "x", "content": [{"type": "text", "text": words}]}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s", "uuid": "a"}


def delta(words: str) -> Line:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": words}}
    return {"type": "stream_event", "event": event, "session_id": "s", "uuid": "e", "parent_tool_use_id": None}


def result(words: str = "Yes.", **more: Any) -> Line:
    told = {"is_error": False, "num_turns": 1, "result": words, "session_id": "s", "uuid": "r", "total_cost_usd": 0.1}
    return {"type": "result", "subtype": "success", **told, **more}


def task_ended(task_id: str = "b1") -> Line:
    return {"type": "system", "subtype": "task_notification", "task_id": task_id, "status": "completed", "uuid": "t"}


def question(request_id: str, tool: str = "Bash", tool_input: Line | None = None, **more: Any) -> Line:
    given = {"command": "ls"} if tool_input is None else tool_input
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": f"use-{request_id}", **more}
    return {"type": "control_request", "request_id": request_id, "request": request}


def withdrawal(request_id: str) -> Line:
    return {"type": "control_cancel_request", "request_id": request_id}
