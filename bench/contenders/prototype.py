"""The limit: what Python can do at best with this wire, in a few dozen lines. Refuses everything a product needs besides.

Honest in what it does do: every line becomes a typed struct with its raw bytes kept, questions are answered by a callback with
the whole input, requests are correlated. It has no states, no deadlines, no stop ladder and no second reader.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from bench.contenders.shapes import Answer, ControlRequest, ControlResponse, Light, LightMessage, Message

READ = 64 * 1024
"""asyncio's own 256 KiB makes the allocator map and unmap every read."""

_decode = msgspec.json.Decoder(Message).decode
_glance = msgspec.json.Decoder(Light).decode
_encode = msgspec.json.Encoder().encode


OnQuestion = Callable[[ControlRequest], Awaitable[bool]]


class Prototype(asyncio.Protocol):
    """One CLI on pipes of our own: asyncio's subprocess transport would add a turn of the loop to every read."""

    _process: subprocess.Popen[bytes]
    _stdout: asyncio.ReadTransport
    _stdin: asyncio.WriteTransport

    def __init__(self, on_question: OnQuestion, *, lazy: bool) -> None:
        self._on_question, self._lazy = on_question, lazy
        self._rest: list[bytes] = []
        self._unread: deque[Any] = deque()
        self._reader: asyncio.Future[None] | None = None
        self._pending: dict[str, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._ended = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, argv: list[str], on_question: OnQuestion, *, lazy: bool = False) -> Prototype:
        loop, self = asyncio.get_running_loop(), cls(on_question, lazy=lazy)
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._stdout, _ = await loop.connect_read_pipe(lambda: self, self._process.stdout)
        self._stdin, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        self._stdout.max_size = READ  # type: ignore[attr-defined]
        await self.request("initialize")
        return self

    def data_received(self, data: bytes) -> None:
        lines = data.split(b"\n")
        if len(lines) == 1:
            self._rest.append(data)
            return
        if self._rest:
            lines[0] = b"".join((*self._rest, lines[0]))
            self._rest.clear()
        if last := lines.pop():
            self._rest.append(last)
        (self._glance_at if self._lazy else self._take)(lines)
        if self._reader is not None and self._unread and not self._reader.done():
            self._reader.set_result(None)

    def _take(self, lines: list[bytes]) -> None:
        unread = self._unread.append
        for line in lines:
            message = _decode(line)
            message.raw = line
            kind = type(message)
            if kind is ControlRequest:
                self._asked(message)
            elif kind is ControlResponse:
                self._answered(message)
            else:
                unread(message)

    def _glance_at(self, lines: list[bytes]) -> None:
        unread = self._unread.append
        for line in lines:
            kind = _glance(line).type
            if kind == "control_request" or kind == "control_response":
                self._take([line])
            else:
                unread(LightMessage(kind, line))

    def _asked(self, question: ControlRequest) -> None:
        task = asyncio.get_running_loop().create_task(self._answer(question))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, question: ControlRequest) -> None:
        allowed = await self._on_question(question)
        said = Answer("allow", question.request.input) if allowed else Answer("deny", message="no")
        response = {"subtype": "success", "request_id": question.request_id, "response": said}
        self._stdin.write(_encode({"type": "control_response", "response": response}) + b"\n")

    def _answered(self, message: ControlResponse) -> None:
        if waiter := self._pending.pop(message.response.request_id, None):
            waiter.set_result(message.response.response)

    async def request(self, subtype: str) -> Any:
        request_id = f"r{len(self._pending)}-{id(self):x}"
        waiter = self._pending[request_id] = asyncio.get_running_loop().create_future()
        self._stdin.write(_encode({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype}}) + b"\n")
        return await waiter

    def prompt(self, text: str) -> None:
        self._stdin.write(_encode({"type": "user", "message": {"role": "user", "content": text}}) + b"\n")

    async def messages(self) -> AsyncIterator[Any]:
        unread = self._unread
        while True:
            while unread:
                yield unread.popleft()
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader

    def connection_lost(self, error: Exception | None) -> None:
        self._ended.set_result(None)

    async def close(self) -> None:
        self._stdin.close()
        await self._ended
        self._process.wait()
