"""Our own Client on a real CLI, shared by the facts of a file since a start costs a second. Refuses to hand on a broken one."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ropewalk import Allow, Client, ClientOptions, Query, Question, Result, RopewalkError
from ropewalk.protocol.answers import Answer
from ropewalk.protocol.control import CanUseTool, ControlRequest
from ropewalk.sim.model import Asked, Reply, Rule, SimModel, reply
from tests.real.rig import Place, place
from tests.real.rig_raw import GUARD

Kind = TypeVar("Kind")
Decide = Callable[[Question], Answer | None]


@dataclass
class Played:
    """A turn that was run: everything that was told of it."""

    messages: list[Any]
    questions: list[Question] = field(default_factory=list)

    @property
    def result(self) -> Result:
        last = self.messages[-1]
        assert isinstance(last, Result), last
        return last

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [message for message in self.messages if isinstance(message, kind)]


@dataclass
class Stage:
    """A client, the model behind its CLI, and their place."""

    version: str
    model: SimModel
    place: Place
    client: Client
    counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def newest(self) -> bool:
        return self.version == "2.1.326"

    def script(self, *replies: Reply | str) -> str:
        """A fresh prompt that gets these replies, one a call of the main thread."""
        prompt = f"scene {next(self.counter)}."
        made = [reply(one) if isinstance(one, str) else one for one in replies]
        self.model.add(Rule(made, when=prompt.replace(".", r"\."), then="last"))
        return prompt

    def calls(self, prompt: str) -> list[Asked]:
        """What the model was asked for it."""
        return [asked for asked in self.model.requests if asked.kind == "main" and any(prompt in p for p in asked.prompts)]

    async def play(self, *replies: Reply | str, decide: Decide = lambda question: Allow(), prompt: str | None = None) -> Played:
        """Script a prompt, run it, answer its questions; what was told."""
        return await run(self.client, prompt or self.script(*replies), decide)

    def made(self, name: str) -> bool:
        return (self.place.project / name).exists()


async def run(client: Client, content: Any, decide: Decide = lambda question: Allow()) -> Played:
    """One query to its result, within the guard."""
    played = Played([])
    async with asyncio.timeout(GUARD):
        async for message in client.query(content):
            played.messages.append(message)
            if isinstance(message, ControlRequest) and isinstance(message.request, CanUseTool):
                played.questions.append(Question(message))
                answer = decide(played.questions[-1])
                if answer is not None:
                    await client.control_response(message.request_id, answer)
    return played


class Reading:
    """A query read step by step."""

    def __init__(self, query: Query) -> None:
        self._messages = aiter(query)
        self.seen: list[Any] = []

    async def until(self, kind: type[Kind], wanted: Callable[[Kind], bool] = lambda message: True) -> Kind:
        """The next message like this. Fails after 30 s."""
        async with asyncio.timeout(GUARD):
            async for message in self._messages:
                self.seen.append(message)
                if isinstance(message, kind) and wanted(message):
                    return message
        raise AssertionError(f"no {kind.__name__} came: {[type(one).__name__ for one in self.seen]}")

    async def question(self) -> Question:
        return Question(await self.until(ControlRequest, lambda message: isinstance(message.request, CanUseTool)))


@asynccontextmanager
async def client_at(here: Place, version: str, model: SimModel, **options: Any) -> AsyncIterator[Client]:
    """A client of its own on a CLI of that version at that place; ``cli_env``: more variables for the CLI."""
    env = here.env(model.url, **options.pop("cli_env", {}))
    cwd = options.pop("cwd", here.project)
    async with Client(ClientOptions(cli=here.argv(version, env), cwd=cwd, **options)) as client:
        yield client


class SharedClient:
    """Starts a client when one is wanted and none is in order; owns it to the end."""

    def __init__(self, version: str, options: dict[str, Any]) -> None:
        self._version, self._options = version, options
        self._stack = AsyncExitStack()
        self._stage: Stage | None = None

    async def get(self) -> Stage:
        if self._stage is None:
            model = await self._stack.enter_async_context(SimModel())
            here = self._stack.enter_context(place())
            client = await self._stack.enter_async_context(client_at(here, self._version, model, **self._options))
            self._stage = Stage(self._version, model, here, client)
        return self._stage

    async def tidy(self) -> None:
        """After a fact: whatever runs is interrupted and the mode set back; a client that does not obey is given up."""
        if self._stage is None:
            return
        client = self._stage.client
        try:
            await client.interrupt(within=10)
            if client.mode != "default":
                await client.set_permission_mode("default")
        except RopewalkError:
            await self.close()

    async def close(self) -> None:
        self._stage = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()
