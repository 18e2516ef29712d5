"""Prompts that do not come to a turn: refused, dropped, not written; what waits behind them goes on, and no place is lost."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ropewalk.errors import Conflict, StoreUnavailable
from ropewalk.events import commands as c
from ropewalk.hub import watch
from ropewalk.sessions.session import Session
from tests.hub.house import MIA, House, Talk, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
LONG: dict[str, Any] = {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 6e9}


async def rests(talk: Talk) -> bool:
    return talk.hub.world.slots.running == 0


@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.326"])
async def test_a_prompt_sent_now_into_a_question_that_is_interrupted_ends_visibly(house: House, version: str) -> None:
    """measured (all): an interrupt withdraws the question; what waits at the CLI's side is run next or dropped"""
    house.variables["ROPEWALK_SIM_VERSION"] = version
    house.rule("first", ASKS, {"text": "One."})
    async with house.opened() as talk:
        session = await talk.new("first")
        await talk.question(session.id)
        now = await talk.prompt(session.id, "and this", "now")
        await talk.told(session.id, "prompt_sent", prompt=now.id)
        await talk.hub.interrupt(MIA, session.id, c.Interrupt())
        await talk.prompt(session.id, "last")
        await talk.told(session.id, "turn_ended", text="Yes: last")
        await until(lambda: rests(talk), "rest")
        assert (await talk.hub.snapshot(MIA, session.id)).queue == []


async def test_a_prompt_that_the_cli_drops_makes_room_for_the_next(house: House, talk: Talk) -> None:
    """measured (2.1.326): command_lifecycle tells it; no turn ends"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    awake = await talk.hub.roster.get(session.id)
    assert awake.wire is not None
    wire, write = awake.wire, talk.hub.world.link.write
    dropped = ""

    def drop(process: str, key: str, data: bytes) -> None:
        """What the CLI would say of a prompt that it does not take."""
        nonlocal dropped
        if not dropped and json.loads(data)["type"] == "user":
            dropped = key
        else:
            write(process, key, data)

    talk.hub.world.link.write = drop  # type: ignore[method-assign]
    one = await talk.prompt(session.id, "one")
    two = await talk.prompt(session.id, "two")
    assert (await talk.hub.session(MIA, session.id)).queued == 1
    line = {"type": "command_lifecycle", "command_uuid": one.id, "state": "cancelled"}
    wire.lines(10_000, json.dumps(line).encode() + b"\n")
    await talk.told(session.id, "prompt_withdrawn", prompt=one.id)
    await talk.told(session.id, "prompt_sent", prompt=two.id)


async def test_a_prompt_that_can_not_be_written_fails_and_the_next_goes(house: House, talk: Talk) -> None:
    """ours: the runner refuses a write; the session is not stuck behind it"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    write = talk.hub.world.link.write
    awake = await talk.hub.roster.get(session.id)
    assert awake.wire is not None
    refused: list[str] = []

    def refuse(process: str, key: str, data: bytes) -> None:
        if not refused and json.loads(data)["type"] == "user":
            refused.append(key)
            assert awake.wire is not None
            asyncio.get_running_loop().call_soon(awake.wire.unwritten, key, "no room")
        else:
            write(process, key, data)

    talk.hub.world.link.write = refuse  # type: ignore[method-assign]
    one = await talk.prompt(session.id, "one")
    await talk.told(session.id, "prompt_failed", prompt=one.id)
    await talk.prompt(session.id, "two")
    await talk.told(session.id, "turn_ended", text="Yes: two")
    await until(lambda: rests(talk), "rest")


async def test_now_on_a_session_at_rest_keeps_to_the_limit_of_turns(house: House) -> None:
    """ours: only into a turn that runs may it go at once"""
    house.settings["max_turns"] = 1
    house.rule("work", LONG)
    async with house.opened() as talk:
        resting = await talk.new("hello")
        await talk.turns(resting.id, 1)
        working = await talk.new("work")
        await talk.told(working.id, "tool_started")
        now = await talk.prompt(resting.id, "quick", "now")
        assert (await talk.hub.session(MIA, resting.id)).queued == 1
        await talk.hub.interrupt(MIA, working.id, c.Interrupt())
        assert (await talk.told(resting.id, "turn_ended", text="Yes: quick"))["prompts"] == [now.id]


async def test_a_mode_set_while_it_starts_is_the_mode_it_has(house: House, talk: Talk) -> None:
    """ours: nobody is told of a mode that the CLI does not have"""
    session = await talk.new("hello")
    await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="plan"))
    await talk.hub.set_model(MIA, session.id, c.SetModel(model="sonnet"))
    await talk.turns(session.id, 1)
    await talk.prompt(session.id, "again")
    await talk.turns(session.id, 2)
    view = await talk.hub.session(MIA, session.id)
    assert view.mode == "plan"
    reply = await talk.hub.control(MIA, session.id, c.Control(subtype="set_permission_mode", fields={"mode": "plan"}))
    assert reply.reply == {"mode": "plan"}


async def test_a_failed_start_is_not_tried_again_and_again(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: three times, then a person; also on the stand-in, where no claude is looked for"""
    monkeypatch.setattr(watch, "TICK", 0.05)
    house.variables["ROPEWALK_SIM_FAULT"] = "crash code=7"
    async with house.opened() as talk:
        session = await talk.new("hello")
        await talk.told(session.id, "failed", code="start")
        before = len(await talk.events(session.id))
        for _ in range(10):
            await asyncio.sleep(0.05)
        assert len(await talk.events(session.id)) == before


async def test_an_answer_that_could_not_be_stored_when_its_process_died_leaves_no_question_open(
    house: House, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: no session waits for a person whose answer nobody could hear"""
    house.rule("ask", ASKS)
    session = await talk.new("ask")
    question = await talk.question(session.id)
    awake = await talk.hub.roster.get(session.id)

    async def sick(self: Session, *told: Any, **more: Any) -> None:
        """The disk fails, and while it is found out the process dies."""
        await talk.hub.world.link.stop(awake.row.process or "", 0.0)
        await talk.told(session.id, "process_ended")
        raise StoreUnavailable("the disk is full", "full")

    with monkeypatch.context() as full:
        full.setattr(Session, "wish", sick)
        with pytest.raises(StoreUnavailable):
            await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    await talk.told(session.id, "question_closed", fate="lost")
    assert await talk.hub.questions(MIA) == []
    assert (await talk.hub.session(MIA, session.id)).status != "waiting"
    with pytest.raises(Conflict):
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
