"""As many processes as may run: an idle one gives way, and what finds none that can waits by itself."""

from __future__ import annotations

from typing import Any

import pytest

from ropewalk.errors import LimitReached
from ropewalk.events import commands as c
from tests.hub.house import MIA, House, Talk, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


async def answer(talk: Talk, session: str) -> None:
    question = await talk.question(session)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))


async def waits(talk: Talk, session: str) -> str:
    async def look() -> str | None:
        view = await talk.hub.session(MIA, session)
        return view.why if view.why.startswith("waits: ") else None

    return await until(look, "a wait for a place")


async def test_an_idle_session_is_put_to_sleep_for_another_ones_prompt(house: House) -> None:
    """ours: nobody has to stop one by hand; the one that slept wakes at its next prompt, and knows its conversation"""
    house.settings["max_processes"] = 1
    async with house.opened() as talk:
        first, second = await talk.new("hello"), await talk.new()
        await talk.turns(first.id, 1)
        await talk.prompt(second.id, "hello")
        await talk.turns(second.id, 1)
        assert (await talk.told(first.id, "process_ended"))["wanted"]
        assert "failed" not in await talk.kinds(second.id)
        await talk.prompt(first.id, "and now?")
        await talk.turns(first.id, 2)
        assert [one.get("resumed") is not None for one in await talk.events(first.id) if one["kind"] == "process_started"] == [
            False,
            True,
        ]
        assert talk.hub.world.slots.alive == 1


async def test_the_longest_idle_gives_way_first(house: House) -> None:
    """ours"""
    house.settings["max_processes"] = 2
    async with house.opened() as talk:
        first, second = await talk.new("hello"), await talk.new()
        await talk.turns(first.id, 1)
        await talk.prompt(second.id, "hello")
        await talk.turns(second.id, 1)
        await talk.prompt(first.id, "again")
        await talk.turns(first.id, 2)
        third = await talk.new("hello")
        await talk.turns(third.id, 1)
        assert (await talk.hub.session(MIA, second.id)).process is None
        assert (await talk.hub.session(MIA, first.id)).process is not None


async def test_a_prompt_that_finds_no_place_waits_and_runs_when_one_is_free(house: House) -> None:
    """ours: a person's wait keeps its process; whoever waits for the place is told why, and starts without anybody's help"""
    house.settings["max_processes"] = 1
    house.rule("work", ASKS)
    async with house.opened() as talk:
        busy = await talk.new("work")
        await talk.question(busy.id)
        waiting = await talk.new("hello")
        assert await waits(talk, waiting.id) == "waits: all places are taken (1); stop a session"
        assert (await talk.hub.session(MIA, waiting.id)).queued == 1
        await answer(talk, busy.id)
        await talk.turns(waiting.id, 1)
        assert "failed" not in await talk.kinds(waiting.id)
        assert (await talk.turns(busy.id, 1))[0].get("failed", False) is False


async def test_those_who_wait_for_a_place_start_in_the_order_they_came(house: House) -> None:
    """ours"""
    house.settings["max_processes"] = 1
    house.rule("work", ASKS)
    async with house.opened() as talk:
        busy = await talk.new("work")
        await talk.question(busy.id)
        rest = [await talk.new(f"hello {number}") for number in range(3)]
        for session in rest:
            await waits(talk, session.id)
        await talk.hub.stop(MIA, busy.id, c.Stop(patience=5))
        ended = [(await talk.turns(session.id, 1))[0]["at"] for session in rest]
        assert ended == sorted(ended)


async def test_a_prompt_withdrawn_while_it_waits_for_a_place_starts_nothing(house: House) -> None:
    """ours"""
    house.settings["max_processes"] = 1
    house.rule("work", ASKS)
    async with house.opened() as talk:
        busy, waiting = await talk.new("work"), await talk.new()
        await talk.question(busy.id)
        prompt = await talk.prompt(waiting.id, "hello")
        await waits(talk, waiting.id)
        await talk.hub.withdraw(MIA, waiting.id, prompt.id, c.Withdraw())
        await talk.status(waiting.id, "asleep")
        await talk.hub.stop(MIA, busy.id, c.Stop(patience=5))
        assert talk.hub.world.slots.alive == 0
        assert "process_started" not in await talk.kinds(waiting.id)


async def test_what_a_person_stops_while_it_waits_for_a_place_does_not_start(house: House) -> None:
    """ours: until it is woken"""
    house.settings["max_processes"] = 1
    house.rule("work", ASKS)
    async with house.opened() as talk:
        busy, waiting = await talk.new("work"), await talk.new()
        await talk.question(busy.id)
        await talk.prompt(waiting.id, "hello")
        await waits(talk, waiting.id)
        await talk.hub.stop(MIA, waiting.id, c.Stop(patience=5))
        assert (await talk.hub.session(MIA, waiting.id)).status == "stopped"
        await talk.hub.stop(MIA, busy.id, c.Stop(patience=5))
        assert talk.hub.world.slots.alive == 0
        await talk.hub.wake(MIA, waiting.id, c.Wake())
        await talk.turns(waiting.id, 1)


async def test_a_wake_without_a_place_is_refused_in_words_and_with_an_idle_one_made(house: House) -> None:
    """ours: a person who waits at the door hears it at once"""
    house.settings["max_processes"] = 1
    house.rule("work", ASKS)
    async with house.opened() as talk:
        busy, other = await talk.new("work"), await talk.new()
        await talk.question(busy.id)
        with pytest.raises(LimitReached, match=r"all places are taken \(1\), and none is idle"):
            await talk.hub.wake(MIA, other.id, c.Wake())
        assert (await talk.hub.session(MIA, other.id)).status == "asleep"
        await answer(talk, busy.id)
        await talk.turns(busy.id, 1)
        await talk.hub.wake(MIA, other.id, c.Wake())
        await talk.status(other.id, "idle")
        assert (await talk.hub.session(MIA, busy.id)).status == "asleep"
