"""The scripted Messages API on a socket: answers by its script, records what it was asked. Refuses to leave loopback unasked."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ropewalk.errors import LinkBroken
from ropewalk.sim.model import http, speech
from ropewalk.sim.model.asked import Asked
from ropewalk.sim.model.script import Block, Reply, Rule, Script, as_script

KEPT = 1000
"""Requests kept in memory; the file keeps all of them."""
GUARD = 30.0


class Cut(Exception):
    """The script wants this connection to end here."""


class SimModel:
    """``async with SimModel(["hello"]) as model:`` then point a CLI's ``ANTHROPIC_BASE_URL`` at ``model.url``."""

    def __init__(
        self,
        script: Script | Iterable[Rule | Reply | Block | str] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        record: str | Path | None = None,
    ) -> None:
        self.script = as_script(script)
        self.requests: deque[Asked] = deque(maxlen=KEPT)
        self.others: deque[http.Request] = deque(maxlen=KEPT)
        """Requests to other places than ``/v1/messages``."""
        self._host, self._port = host, port
        self._record = Path(record) if record else None
        self._server: asyncio.Server | None = None
        self._talks: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}
        self._gates: dict[str, asyncio.Event] = {}
        self._news = asyncio.Event()
        self._numbers, self._messages, self._tools = itertools.count(1), itertools.count(1), itertools.count(1)
        self._back: asyncio.TimerHandle | None = None
        self._returning: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, why: BaseException | None, trace: TracebackType | None) -> None:
        if self._back:
            self._back.cancel()
        if self._returning:
            await self._returning
        await self.down()

    async def up(self) -> None:
        """Listen (again, at the same port). Raises ``LinkBroken`` when the port is taken."""
        try:
            self._server = await asyncio.start_server(self._talk, self._host, self._port, limit=http.HEAD_LIMIT)
        except OSError as why:
            raise LinkBroken(f"the scripted model can't listen at {self._host}:{self._port}: {why.strerror}") from None
        self._port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Go away: connections are cut, new ones refused, until ``up``."""
        if self._server:
            self._server.close()
        me = asyncio.current_task()
        talks = {task: writer for task, writer in self._talks.items() if task is not me}
        for task, writer in talks.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    def add(self, *items: Rule | Reply | Block | str) -> None:
        """More of the script, after what is there."""
        self.script.rules.extend(as_script(items).rules)

    def release(self, gate: str) -> None:
        """Let the replies that ``hold`` at this gate go on, now and later."""
        self._gate(gate).set()

    async def asked(self, wanted: Callable[[Asked], bool] = lambda asked: asked.kind == "main", count: int = 1) -> Asked:
        """Wait for a request like this (the ``count``-th of them, old ones count). Raises ``TimeoutError`` after 30 seconds."""
        async with asyncio.timeout(GUARD):
            while len(found := [a for a in self.requests if wanted(a)]) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks[task] = writer
        try:
            while request := await http.read_request(reader, writer):
                await self._answer(request, writer)
        except http.BadRequest as why:
            with contextlib.suppress(ConnectionError):
                await http.send_json(writer, 400, speech.error_body(400, None, str(why)), {"connection": "close"})
        except Cut:
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the peer or the owner has had enough; nobody is left to tell
        finally:
            del self._talks[task]
            writer.close()

    async def _answer(self, request: http.Request, writer: asyncio.StreamWriter) -> None:
        path = request.path.partition("?")[0].rstrip("/")
        if request.method == "POST" and path.endswith("/v1/messages"):
            await self._answer_message(request, writer)
        elif request.method == "POST" and path.endswith("/v1/messages/count_tokens"):
            self.others.append(request)
            await http.send_json(writer, 200, {"input_tokens": max(1, len(request.body) // 4)})
        elif request.method == "HEAD":
            writer.write(http.head(200, {"content-length": "0"}))
        else:
            self.others.append(request)
            await http.send_json(writer, 200, {"data": [], "has_more": False} if path.endswith("/v1/models") else {})

    async def _answer_message(self, request: http.Request, writer: asyncio.StreamWriter) -> None:
        try:
            body = json.loads(request.body)
        except ValueError:
            raise http.BadRequest("the body is not JSON") from None
        asked = Asked(next(self._numbers), body if isinstance(body, dict) else {}, request.headers)
        self._keep(asked)
        await self._say(self.script.take(asked.kind, asked.prompt), asked, writer)

    def _keep(self, asked: Asked) -> None:
        self.requests.append(asked)
        self._news.set()
        if self._record:
            with self._record.open("a") as file:
                line = {"number": asked.number, "kind": asked.kind, "prompt": asked.prompt, "body": asked.body}
                file.write(json.dumps(line) + "\n")

    async def _say(self, reply: Reply, asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(reply.wait)
        if reply.hold and not reply.hold_after:
            await self._gate(reply.hold).wait()
        if reply.down is not None:
            await self._vanish(reply.down)
        if reply.error is not None:
            await http.send_json(
                writer, reply.error, speech.error_body(reply.error, reply.error_type, reply.message), reply.headers
            )
            return
        whole = speech.message(reply, asked.model, f"msg_{next(self._messages):04}", lambda: f"toolu_{next(self._tools):04}")
        headers = {"request-id": f"req_{asked.number:04}", **reply.headers}
        if asked.body.get("stream"):
            await self._stream(reply, whole, headers, writer)
        else:
            await http.send_json(writer, 200, whole, headers)

    async def _stream(self, reply: Reply, whole: dict[str, Any], headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        stream = http.EventStream(writer)
        await stream.open(headers)
        deltas = 0
        for said in speech.events(whole, reply.chunk):
            if said.delta:
                if await self._spoils(reply, deltas, stream):
                    return
                deltas += 1
            await stream.send(said.words)
        await stream.close()

    async def _spoils(self, reply: Reply, deltas: int, stream: http.EventStream) -> bool:
        """What the script wants before the next delta; True = the answer ended here."""
        if deltas:
            await asyncio.sleep(reply.pause)
        if reply.hold and deltas == reply.hold_after:
            await self._gate(reply.hold).wait()
        if deltas == reply.cut_after:
            raise Cut
        if deltas != reply.error_after:
            return False
        await stream.send(speech.error_event(reply.error_type, reply.message).words)
        await stream.close()
        return True

    async def _vanish(self, seconds: float) -> None:
        await self.down()
        loop = asyncio.get_running_loop()
        self._back = loop.call_later(seconds, self._return)
        raise Cut

    def _return(self) -> None:
        self._returning = asyncio.get_running_loop().create_task(self.up())
