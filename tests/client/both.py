"""One session, driven by a Client or by a Remote through a whole hub: the same words for both. Refuses what only one can do."""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropewalk import Allow, Assistant, Client, ClientOptions, Deny, Question, Remote, Result
from ropewalk.events import events as e
from ropewalk.sim.claude.ledger import read
from tests.cli.hub.conftest import HubDesk

GUARD = 30.0
Json = dict[str, Any]


@dataclass
class Ended:
    """How a turn ended, and every text of its main thread."""

    texts: list[str]
    text: str
    failed: bool
    interrupted: bool


@dataclass
class Asked:
    id: str
    tool: str
    input: Json


class Driver(ABC):
    def __init__(self, desk: HubDesk) -> None:
        self.desk = desk
        self.asked: asyncio.Queue[Asked] = asyncio.Queue()

    def heard(self, **wanted: Any) -> list[Json]:
        """The lines that the CLI was given."""
        path = Path(self.desk.env["ROPEWALK_SIM_LEDGER"])
        entries = list(read(path)) if path.exists() else []
        lines = [json.loads(entry.line or b"{}") for entry in entries if entry.direction == "in"]
        return [line for line in lines if all(line.get(name) == value for name, value in wanted.items())]

    async def question(self) -> Asked:
        return await asyncio.wait_for(self.asked.get(), GUARD)

    @abstractmethod
    async def query(self, prompt: str) -> Ended: ...
    @abstractmethod
    async def allow(self, question: str, changed: Json | None = None) -> None: ...
    @abstractmethod
    async def deny(self, question: str, words: str, interrupt: bool = False) -> None: ...
    @abstractmethod
    async def interrupt(self) -> None: ...
    @abstractmethod
    async def control(self, subtype: str, **fields: Any) -> Json: ...
    @abstractmethod
    async def end_and_resume(self) -> None: ...


class ByClient(Driver):
    """Drives the process itself."""

    client: Client

    def options(self, resume: str | None = None) -> ClientOptions:
        names = ("ROPEWALK_SIM_SCENARIO", "ROPEWALK_SIM_LEDGER", "ROPEWALK_SIM_SPEED", "CLAUDE_CONFIG_DIR", "HOME")
        env = {name: self.desk.env[name] for name in names}
        program = (sys.executable, "-m", "ropewalk.sim.claude")
        return ClientOptions(cwd=self.desk.project, cli=program, env=env, resume=resume, on_question=self._note)

    async def _note(self, question: Question) -> None:
        self.asked.put_nowait(Asked(question.request_id, question.tool_name, question.input))

    async def query(self, prompt: str) -> Ended:
        texts: list[str] = []
        async for message in self.client.query(prompt):
            if isinstance(message, Assistant) and message.text:
                texts.append(message.text)
            if isinstance(message, Result):
                return Ended(texts, message.result or "", message.failed, message.interrupted)
        raise AssertionError("the query ended without a result")

    async def allow(self, question: str, changed: Json | None = None) -> None:
        await self.client.control_response(question, Allow(updated_input=changed))

    async def deny(self, question: str, words: str, interrupt: bool = False) -> None:
        await self.client.control_response(question, Deny(words, interrupt=interrupt))

    async def interrupt(self) -> None:
        await self.client.interrupt()

    async def control(self, subtype: str, **fields: Any) -> Json:
        return await self.client.control_request(subtype, **fields)

    async def end_and_resume(self) -> None:
        session = self.client.session_id
        await self.client.close()
        self.client = Client(self.options(session))
        await self.client.connect()


class ByRemote(Driver):
    """Asks a hub, over HTTP."""

    remote: Remote
    session: str

    async def query(self, prompt: str) -> Ended:
        texts: list[str] = []
        last: e.Event | None = None
        async for event in self.remote.query(self.session, prompt):
            if isinstance(event, e.Text) and event.parent is None:
                texts.append(event.text)
            if isinstance(event, e.QuestionOpened):
                self._note(event)
            last = event
        assert isinstance(last, e.TurnEnded), last
        return Ended(texts, last.text, last.failed, last.interrupted)

    def _note(self, event: e.QuestionOpened) -> None:
        asked = event.asked
        assert isinstance(asked, dict)
        self.asked.put_nowait(Asked(event.question, event.tool, asked["input"]))

    async def allow(self, question: str, changed: Json | None = None) -> None:
        await self.remote.answer(question, behavior="allow", updated_input=changed)

    async def deny(self, question: str, words: str, interrupt: bool = False) -> None:
        await self.remote.answer(question, behavior="deny", message=words, interrupt=interrupt)

    async def interrupt(self) -> None:
        await self.remote.interrupt(self.session)

    async def control(self, subtype: str, **fields: Any) -> Json:
        return await self.remote.control(self.session, subtype, **fields)

    async def end_and_resume(self) -> None:
        await self.remote.stop(self.session)
        await self.remote.wake(self.session)


@asynccontextmanager
async def driven(kind: str, desk: HubDesk) -> AsyncIterator[Driver]:
    async with AsyncExitStack() as stack:
        if kind == "client":
            driver = ByClient(desk)
            driver.client = Client(driver.options())
            await driver.client.connect()
            stack.push_async_callback(lambda: driver.client.close())
            yield driver
            return
        await asyncio.to_thread(desk.start)
        address = json.loads((desk.state / "hub.json").read_text())
        other = ByRemote(desk)
        other.remote = await stack.enter_async_context(Remote(address["url"], (desk.state / "token").read_text().strip()))
        other.session = (await other.remote.start(desk.project)).id
        yield other
