"""One started CLI shared by the facts of a file, since a start costs a second. Refuses to hand on one in disorder."""

from __future__ import annotations

import itertools
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import pytest

from ropewalk.sim.model import Reply, Rule, SimModel, reply, tool
from ropewalk.sim.model.asked import Asked
from tests.real.rig import Place, place
from tests.real.rig_raw import STREAM, Line, RawCli, raw_cli

LOOP = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Talk:
    """A CLI, its model and its place. Each prompt of ``script`` is new, so that facts don't get each other's replies."""

    version: str
    model: SimModel
    place: Place
    cli: RawCli
    counter: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def newest(self) -> bool:
        return self.version == "2.1.326"

    def script(self, *replies: Reply | str) -> str:
        """A fresh prompt that gets these replies, one a call."""
        prompt = f"fact {next(self.counter)}."
        made = [reply(one) if isinstance(one, str) else one for one in replies]
        self.model.add(Rule(made, when=prompt.replace(".", r"\."), then="last"))
        return prompt

    def calls(self, prompt: str) -> list[Asked]:
        """What the model was asked for it."""
        return [asked for asked in self.model.requests if asked.kind == "main" and any(prompt in p for p in asked.prompts)]

    async def ask_to_touch(self, name: str, *more: str) -> tuple[str, Line]:
        """A prompt whose tool makes a file, up to the question; (prompt, question)."""
        prompt = self.script(touch(name), *(more or ("Done.",)))
        self.cli.prompt(prompt)
        return prompt, await self.cli.question("Bash")

    def made(self, name: str) -> bool:
        return (self.place.project / name).exists()


def command(words: str, **more: object) -> Reply:
    """The model calls Bash with this."""
    return reply(tool("Bash", command=words, description="do it", **more))


def touch(name: str) -> Reply:
    return command(f"touch {name}")


class Shared:
    """Starts a CLI when one is wanted and none is in order; owns it to the end."""

    def __init__(self, version: str, *args: str, **env: str) -> None:
        self._version, self._args, self._env = version, args, env
        self._stack = AsyncExitStack()
        self._talk: Talk | None = None

    async def get(self) -> Talk:
        if self._talk is None:
            model = await self._stack.enter_async_context(SimModel())
            here = self._stack.enter_context(place())
            env = here.env(model.url, **self._env)
            argv = [*here.argv(self._version), *STREAM]
            cli = await self._stack.enter_async_context(raw_cli(argv, *self._args, cwd=here.project, env=env))
            await cli.request("initialize")
            self._talk = Talk(self._version, model, here, cli)
        return self._talk

    async def tidy(self) -> None:
        """After a fact: whatever runs is interrupted and its result awaited, so that the next fact does not take it for its own.

        A CLI that does not answer any more is given up.
        """
        if self._talk is None:
            return
        try:
            await self._talk.cli.request("interrupt")
            await self._talk.cli.quiet()
            self._talk.cli.skip()
        except (AssertionError, ConnectionError):
            await self.close()

    async def close(self) -> None:
        self._talk = None
        await self._stack.aclose()
        self._stack = AsyncExitStack()
