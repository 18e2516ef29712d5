"""A CLI that is killed at any moment, and many clients at once: every waiter ends, nothing is mixed up, nothing is left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from ropewalk import Allow, Client, Question, Result, SessionGone
from tests.client.leftovers import alive, descriptors, tasks
from tests.client.scripted import GUARD, ScriptedCli

pytestmark = pytest.mark.slow


def touch(name: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": f"touch {name}"}, "ask": True}


WORK: list[dict[str, Any]] = [{"text": "Word by word. " * 20, "pace": 0.001}, touch("it"), {"text": "Done."}]
SEED = 20261118


async def everything(client: Client, ends: list[str]) -> None:
    """A turn, a request and a reader at the same time; how each of them ended."""

    async def turn() -> None:
        ends.append(type(await client.query("work")).__name__)

    async def request() -> None:
        while True:
            await client.mcp_status()

    async def reader() -> None:
        async for _ in client.receive():
            pass

    async def ended(work: Any) -> None:
        try:
            await work
        except SessionGone as gone:
            ends.append(f"gone {gone.exit_code}")

    async with asyncio.TaskGroup() as group:
        for work in (turn(), request(), reader()):
            group.create_task(ended(work))


@pytest.mark.parametrize("blow", range(12))
async def test_a_kill_at_any_moment_of_a_turn_ends_every_waiter_with_the_exit_code(tmp_path: Path, blow: int) -> None:
    """ours: a dead session says that it is dead. Seeded: blow n falls after the same number of messages each time."""
    cli = ScriptedCli(tmp_path)
    after = random.Random(SEED + blow).randrange(1, 60)
    heard, ends = 0, []  # type: ignore[var-annotated]

    def kill(message: object) -> None:
        nonlocal heard
        heard += 1
        if heard == after:
            assert client.pid
            os.kill(client.pid, signal.SIGKILL)

    async def decide(question: Question) -> Allow:
        await asyncio.sleep(0)
        return Allow()

    before = descriptors()
    client = Client(cli.options({"work": WORK}, on_question=decide, on_message=kill))
    async with asyncio.timeout(GUARD), client:
        await everything(client, ends)
        assert set(ends) <= {f"gone {-signal.SIGKILL}", Result.__name__} and len(ends) in (2, 3), ends
        assert client.end and client.end.code == -signal.SIGKILL and not client.questions
    assert tasks() == set() and descriptors() == before and alive(f"HOME={cli.home}") == []


async def test_many_clients_at_once_get_their_own_answers_and_leave_nothing(tmp_path: Path) -> None:
    """ours: twenty processes on one loop, each with a question of its own."""
    places = [tmp_path / str(number) for number in range(20)]
    before = descriptors()

    async def one(place: Path) -> tuple[str | None, list[str]]:
        place.mkdir()
        asked: list[str] = []

        def decide(question: Question) -> Allow:
            asked.append(question.input["command"])
            return Allow()

        rules = {"work": [touch(place.name), {"text": f"Answer {place.name}."}]}
        async with Client(ScriptedCli(place).options(rules, on_question=decide)) as client:
            return (await client.query("work")).result, asked

    async with asyncio.timeout(GUARD * 2):
        answers = await asyncio.gather(*map(one, places))
    assert answers == [(f"Answer {place.name}.", [f"touch {place.name}"]) for place in places]
    assert tasks() == set() and descriptors() == before and alive(f"HOME={tmp_path}") == []
