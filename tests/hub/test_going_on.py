"""What the next life of a hub or a runner finds: numbers, places, leftovers, and sessions that were in the midst of something."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from ropewalk.errors import Conflict
from ropewalk.events import commands as c
from ropewalk.sessions.translate import Translator
from ropewalk.transports.runner import RunnerLink
from tests.hub.house import MIA, House, Talk, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
LONG: dict[str, Any] = {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 6e9}


async def test_turns_are_numbered_on_after_a_restart_of_the_hub(house: House) -> None:
    """ours"""
    async with house.opened() as talk:
        session = await talk.new("one")
        await talk.turns(session.id, 1)
        await talk.prompt(session.id, "two")
        await talk.turns(session.id, 2)
    async with house.opened() as talk:
        await talk.prompt(session.id, "three")
        assert [turn["turn"] for turn in await talk.turns(session.id, 3)] == [1, 2, 3]


async def test_a_turn_that_was_taken_over_holds_its_place(house: House) -> None:
    """ours: the limit counts what runs, whoever started it"""
    house.settings["max_turns"] = 1
    house.rule("work", LONG)
    async with house.opened() as talk:
        first = await talk.new("work")
        await talk.told(first.id, "tool_started")
    async with house.opened() as talk:
        await until(lambda: taken_over(talk, first.id), "take-over")
        assert talk.hub.world.slots.running == 1
        second = await talk.new("hello")
        await talk.status(second.id, "idle")
        assert (await talk.hub.session(MIA, second.id)).queued == 1
        await talk.hub.interrupt(MIA, first.id, c.Interrupt())
        await talk.turns(second.id, 1)


async def taken_over(talk: Talk, session: str) -> bool:
    awake = talk.hub.roster.awake.get(session)
    return awake is not None and awake.wire is not None


async def test_what_was_said_and_stored_is_not_told_again_as_being_said(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: a hub that died before it acknowledged is told the same deltas again"""
    house.rule("tell", {"text": "A long story, told in many pieces."}, LONG)
    with monkeypatch.context() as dying:
        dying.setattr(RunnerLink, "stored", lambda self, process, n: None)
        async with house.opened() as talk:
            session = await talk.new("tell")
            await talk.told(session.id, "tool_started")
    async with house.opened() as talk:
        await until(lambda: taken_over(talk, session.id), "take-over")
        await talk.hub.control(MIA, session.id, c.Control(subtype="mcp_status"))  # what it said before was heard before this
        assert (await talk.hub.snapshot(MIA, session.id)).partial == []
        assert (await talk.kinds(session.id)).count("text") == 1


async def test_an_end_that_the_runner_was_not_told_to_forget_is_forgotten_later(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: else spools of processes that ended long since fill the disk"""
    with monkeypatch.context() as dying:
        dying.setattr(RunnerLink, "forget", lambda self, process: None)
        async with house.opened() as talk:
            session = await talk.new("hello")
            await talk.turns(session.id, 1)
            await talk.hub.stop(MIA, session.id, c.Stop())
    spool = house.home / "runner" / "spool" / "processes"
    kept = await asyncio.to_thread(lambda: [entry.name for entry in spool.iterdir() if entry.is_dir()])
    assert kept
    async with house.opened() as talk:

        async def empty() -> bool:
            return not await asyncio.to_thread(lambda: [name for name in kept if (spool / name).exists()])

        await until(empty, "end of the spool")


async def test_a_start_that_died_with_the_hub_is_not_shown_for_ever(house: House) -> None:
    """ours: no session stands as one with a process that has none"""
    async with house.opened() as talk:
        session = await talk.new("hello")
        await talk.turns(session.id, 1)
        await talk.hub.stop(MIA, session.id, c.Stop())
    with closing(sqlite3.connect(house.home / "ropewalk.db")) as database, database:
        database.execute("UPDATE session SET status = 'starting', why = 'waiting for claude'")
    async with house.opened() as talk:
        await talk.status(session.id, "stopped")


async def test_a_session_that_can_not_be_heard_again_fails_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: a fault of ours with one session's lines keeps no other from going on"""
    house.rule("bad", ASKS)
    house.rule("good", ASKS, {"text": "Good."})
    async with house.opened() as talk:
        bad, good = await talk.new("bad"), await talk.new("good")
        await talk.question(bad.id)
        await talk.question(good.id)
        pid = await talk.pid(bad.id)
    events = Translator.events

    def stumble(self: Translator, *told: Any) -> Any:
        if self.session == bad.id:
            raise RuntimeError("our own fault")
        return events(self, *told)

    with monkeypatch.context() as faulty:
        faulty.setattr(Translator, "events", stumble)
        async with house.opened() as talk:
            await talk.status(bad.id, "failed")
            assert await talk.told(bad.id, "question_closed", fate="lost")
            question = await talk.question(good.id)
            await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
            await talk.turns(good.id, 1)
            await until(lambda: _gone(pid), "end of the one that nobody hears")


async def _gone(pid: int) -> bool:
    return not os.path.exists(f"/proc/{pid}")


async def test_while_the_runner_is_not_heard_it_says_so_and_goes_on_afterwards(house: House, talk: Talk) -> None:
    """ours: a stop is refused in words, a prompt waits; nothing is stuck when the runner is back, nothing runs twice"""
    house.rule("ask", ASKS, {"text": "Asked."})
    asking, sleeping, resting = await talk.new("ask"), await talk.new(), await talk.new("hello")
    await talk.question(asking.id)
    await talk.turns(resting.id, 1)
    runner = next(iter(house.runners))
    os.kill(runner, signal.SIGSTOP)
    try:
        waiting = await talk.prompt(sleeping.id, "hello")
        await talk.prompt(resting.id, "and this")
        await talk.status(resting.id, "unreachable")
        with pytest.raises(Conflict, match="not heard"):
            await talk.hub.stop(MIA, asking.id, c.Stop(patience=1))
    finally:
        os.kill(runner, signal.SIGCONT)
    await talk.told(sleeping.id, "turn_ended", text="Yes: hello")
    await talk.told(resting.id, "turn_ended", text="Yes: and this")
    question = await talk.question(asking.id)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    await talk.told(asking.id, "turn_ended", text="Asked.")
    assert house.prompts_heard().count(waiting.id) == 1
    await talk.prompt(asking.id, "more")
    await talk.told(asking.id, "turn_ended", text="Yes: more")

    async def three() -> bool:
        alive = {account.process for account in await talk.hub.world.link.accounts()}
        named = {(await talk.hub.session(MIA, one.id)).process for one in (asking, sleeping, resting)}
        return alive == named

    await until(three, "one process a session")


async def test_what_is_asked_before_the_process_is_found_waits_for_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: right after a restart a question is listed already; its answer is not refused because we are still looking"""
    house.rule("ask", ASKS, {"text": "Asked."})
    async with house.opened() as talk:
        session = await talk.new("ask")
        question = await talk.question(session.id)
    looked, found, keys = asyncio.Event(), asyncio.Event(), RunnerLink.keys

    async def later(link: RunnerLink, process: str) -> set[str]:
        looked.set()
        await found.wait()
        return await keys(link, process)

    monkeypatch.setattr(RunnerLink, "keys", later)
    async with house.opened() as talk:
        await looked.wait()
        async with asyncio.TaskGroup() as group:
            answering = group.create_task(talk.hub.answer(MIA, question.id, c.Answer(behavior="allow")))
            for _ in range(20):
                await asyncio.sleep(0)
            assert not answering.done() and not await taken_over(talk, session.id)
            found.set()
        await talk.told(session.id, "turn_ended", text="Asked.")
