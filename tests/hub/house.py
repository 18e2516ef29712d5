"""A whole hub in the test's own process: real SQLite file, real runner process, scripted CLIs. Leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from ropewalk import daemon
from ropewalk.config import Config, load
from ropewalk.events import commands as c
from ropewalk.events import views as v
from ropewalk.events.commands import Principal
from ropewalk.hub.hub import Hub
from ropewalk.sim.claude.ledger import read

GUARD = 30.0
MIA = Principal("Mia", frozenset({"admin"}), "the page", "t-mia")
JO = Principal("Jo", frozenset({"prompt", "answer"}), "Telegram", "t-jo")
EVE = Principal("Eve", frozenset({"watch"}), "the page", "t-eve")
T = TypeVar("T")
Step = dict[str, Any]


async def until(look: Callable[[], Awaitable[T | None]], what: str) -> T:
    """The first true answer. Fails after 30 s."""
    try:
        async with asyncio.timeout(GUARD):
            while True:
                if found := await look():
                    return found
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"no {what} within {GUARD:.0f} s") from None


class House:
    """Where a hub lives. ``opened()`` is one life of it; what one leaves the next finds."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.ledger = folder / "home", folder / "project", folder / "ledger"
        for made in (self.home, self.project):
            made.mkdir(mode=0o700)
        self.rules: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {}
        self.variables: dict[str, str] = {}
        self.runners: set[int] = set()

    def rule(self, prompt: str, *steps: Step, **more: Any) -> None:
        """What the scripted CLI does at this prompt."""
        self.rules.append({"prompt": prompt, "steps": list(steps), **more})
        (self.home / "scenario.json").write_text(json.dumps({"rule": self.rules, "otherwise": [{"text": "Yes: {prompt}"}]}))

    @property
    def config(self) -> Config:
        if not (self.home / "scenario.json").exists():
            self.rule("never said")
        environment = {
            "ROPEWALK_SIM_SCENARIO": str(self.home / "scenario.json"),
            "ROPEWALK_SIM_LEDGER": str(self.ledger),
            "ROPEWALK_SIM_SPEED": "1e8",
            **self.variables,
        }
        told = {"home": str(self.home), "sim": True, "port": 0, "environment": environment, "idle_after": 0.0, **self.settings}
        return load(told, {"ROPEWALK_HOME": str(self.home), "HOME": str(self.home)})

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Talk]:
        async with daemon.open_hub(self.config, {**os.environ, "HOME": str(self.home)}) as hub:
            self.met(hub)
            yield Talk(self, hub)

    def met(self, hub: Hub) -> None:
        assert hub.world.link.welcome is not None
        self.runners.add(hub.world.link.welcome.pid)

    def heard_by_cli(self) -> list[dict[str, Any]]:
        """Every line that CLIs were given, as they tell it."""
        return [json.loads(entry.line or b"{}") for entry in read(self.ledger) if entry.direction == "in"]

    def prompts_heard(self) -> list[str]:
        return [str(line["uuid"]) for line in self.heard_by_cli() if line["type"] == "user"]

    async def end_runner(self) -> None:
        """The runners that were met, and so their CLIs, by their own ids."""
        for pid in self.runners:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        await until(lambda: gone(*self.runners), "end of the runner")


async def gone(*pids: int) -> bool:
    return not any(os.path.exists(f"/proc/{pid}") for pid in pids)


class Talk:
    """One life of the hub, and short words for what tests do with it."""

    def __init__(self, house: House, hub: Hub) -> None:
        self.house, self.hub = house, hub

    async def new(self, prompt: str | None = None, **fields: Any) -> v.SessionView:
        return await self.hub.create(MIA, c.CreateSession(cwd=str(self.house.project), prompt=prompt, **fields))

    async def events(self, session: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while page := await self.hub.events(MIA, session, after=len(found), limit=1000):
            found += [json.loads(body) for _, body in page]
        assert [event["seq"] for event in found] == list(range(1, len(found) + 1))
        return found

    async def kinds(self, session: str) -> list[str]:
        return [event["kind"] for event in await self.events(session)]

    async def told(self, session: str, kind: str, **fields: Any) -> dict[str, Any]:
        """Wait for an event like this; the first."""

        async def look() -> dict[str, Any] | None:
            for event in await self.events(session):
                if event["kind"] == kind and all(event.get(name) == value for name, value in fields.items()):
                    return event
            return None

        return await until(look, f"{kind} {fields}")

    async def status(self, session: str, *wanted: str) -> v.SessionView:
        async def look() -> v.SessionView | None:
            view = await self.hub.session(MIA, session)
            return view if view.status in wanted else None

        return await until(look, f"status {wanted}")

    async def question(self, session: str) -> v.QuestionView:
        async def look() -> v.QuestionView | None:
            return next(iter(await self.hub.questions(MIA, session=session)), None)

        return await until(look, "question")

    async def turns(self, session: str, count: int) -> list[dict[str, Any]]:
        async def look() -> list[dict[str, Any]] | None:
            ended = [event for event in await self.events(session) if event["kind"] == "turn_ended"]
            return ended if len(ended) >= count else None

        return await until(look, f"{count} turns")

    async def prompt(self, session: str, text: str, when: c.When = "next", **more: Any) -> v.PromptView:
        return await self.hub.prompt(MIA, session, c.Prompt(text=text, when=when, **more))

    async def pid(self, session: str) -> int:
        async def look() -> int | None:
            return (await self.hub.session(MIA, session)).pid

        return await until(look, "pid")
