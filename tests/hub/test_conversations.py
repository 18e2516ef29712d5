"""How a conversation begins again: resumed, forked, cleared; what it then costs, and what is said when there is none."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from ropewalk.errors import Conflict
from ropewalk.events import commands as c
from tests.hub.house import MIA, House, Talk, until

NOWHERE = "11111111-2222-4333-8444-555555555555"
VERSIONS = pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.326"])
COSTS: dict[str, Any] = {"usage": {"input": 100_000, "output": 10_000}}


@VERSIONS
@pytest.mark.parametrize("prompted", [True, False])
async def test_a_resume_of_nothing_fails_at_once_in_words(house: House, version: str, prompted: bool) -> None:
    """measured (all): an error result and exit 1, even without a prompt; trying again does not help"""
    house.variables["ROPEWALK_SIM_VERSION"] = version
    async with house.opened() as talk:
        session = await talk.new("hello" if prompted else None, resume=NOWHERE)
        if not prompted:
            await talk.hub.wake(MIA, session.id, c.Wake())
        await talk.told(session.id, "process_ended")
        view = await talk.status(session.id, "failed")
        assert "resume" in view.why.lower() and view.fix
        kinds = await talk.kinds(session.id)
        assert kinds.count("process_started") == 1
        if prompted:
            states = [prompt.state for prompt in (await talk.hub.snapshot(MIA, session.id)).queue]
            assert states == ["queued"] or {"prompt_lost", "prompt_failed"} & set(kinds)


async def costs(talk: Talk, session: str) -> list[float]:
    return [turn["cost_usd"] for turn in await talk.turns(session, 1)]


@VERSIONS
async def test_each_turn_costs_what_it_costs_whatever_happened_to_the_process(house: House, version: str) -> None:
    """measured: 2.1.326 goes on from its stored total after a clean end, from zero after a kill; older ones always from zero"""
    house.variables["ROPEWALK_SIM_VERSION"] = version
    house.rule("work", COSTS, {"text": "Done."})
    house.rule("crash", {"fault": "kill"})
    async with house.opened() as talk:
        session = await talk.new("work")
        one = (await talk.turns(session.id, 1))[0]["cost_usd"]
        assert one > 0
        await talk.prompt(session.id, "crash")
        await talk.told(session.id, "process_ended", code=-9)
        for turns in (2, 3):
            await talk.prompt(session.id, "work")
            await talk.turns(session.id, turns)
        await talk.hub.stop(MIA, session.id, c.Stop())
        await talk.prompt(session.id, "work")
        await talk.turns(session.id, 4)
        await talk.hub.stop(MIA, session.id, c.Stop())
        await talk.hub.wake(MIA, session.id, c.Wake())
        await talk.status(session.id, "idle")
    async with house.opened() as talk:  # a process that was started before, and has its first turn now
        await talk.prompt(session.id, "work")
        await talk.turns(session.id, 5)
        assert await costs(talk, session.id) == pytest.approx([one] * 5)
        assert (await talk.hub.session(MIA, session.id)).cost_usd == pytest.approx(5 * one)


@VERSIONS
async def test_a_fork_does_not_pay_for_what_came_before(house: House, version: str) -> None:
    """measured: a forked 2.1.326 goes on from the stored total of the one it branches off"""
    house.variables["ROPEWALK_SIM_VERSION"] = version
    house.rule("work", COSTS, {"text": "Done."})
    async with house.opened() as talk:
        session = await talk.new("work")
        one = (await talk.turns(session.id, 1))[0]["cost_usd"]
        await talk.hub.stop(MIA, session.id, c.Stop())
        fork = await talk.hub.fork(MIA, session.id, c.Fork(prompt="work"))
        assert (await talk.turns(fork.id, 1))[0]["cost_usd"] == pytest.approx(one)


async def test_what_has_said_nothing_yet_can_not_be_branched_off(talk: Talk) -> None:
    """measured (all): the CLI has no record before the first turn"""
    session = await talk.new()
    await talk.hub.wake(MIA, session.id, c.Wake())
    await talk.status(session.id, "idle")
    with pytest.raises(Conflict, match="said nothing"):
        await talk.hub.fork(MIA, session.id, c.Fork())


async def test_a_fork_of_one_that_works_knows_what_came_before(house: House, talk: Talk) -> None:
    """ours: it need not be stopped for that"""
    house.rule("work", {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 6e9})
    house.rule("how many", {"text": "{prompts}"})
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    await talk.prompt(session.id, "work")
    await talk.told(session.id, "tool_started")
    fork = await talk.hub.fork(MIA, session.id, c.Fork(prompt="how many"))
    assert (await talk.turns(fork.id, 1))[0]["text"] == "3"
    assert (await talk.hub.session(MIA, session.id)).status == "running_tool"


async def test_a_cleared_conversation_goes_on_after_a_stop_and_after_a_restart(house: House) -> None:
    """measured (2.1.326): /clear gives a new session id, of which the CLI may have no record yet"""
    house.rule("how many", {"text": "{prompts}"})
    async with house.opened() as talk:
        session = await talk.new("hello")
        await talk.turns(session.id, 1)
        before = (await talk.hub.session(MIA, session.id)).cli_session
        await talk.prompt(session.id, "/clear")
        await talk.told(session.id, "context_cleared")
        await talk.status(session.id, "idle")
        assert (await talk.hub.session(MIA, session.id)).cli_session != before
        await talk.hub.stop(MIA, session.id, c.Stop())
    async with house.opened() as talk:
        await talk.prompt(session.id, "how many")
        assert await talk.told(session.id, "turn_ended", text="1")
        await talk.hub.stop(MIA, session.id, c.Stop())
        await talk.prompt(session.id, "how many")
        assert await talk.told(session.id, "turn_ended", text="2")


async def test_a_cli_that_leaves_by_itself_in_mid_turn_is_told(house: House, talk: Talk) -> None:
    """ours: exit 0 is no success while something was to be answered"""
    house.rule("leave", {"text": "I am off."}, {"fault": "crash", "code": 0})
    session = await talk.new("leave")
    ended = await talk.told(session.id, "process_ended")
    assert ended["code"] == 0 and not ended.get("wanted")
    assert (await talk.status(session.id, "failed")).why == "Ended by itself in mid-turn"
    await talk.told(session.id, "prompt_lost")
    await talk.prompt(session.id, "go on")
    await talk.turns(session.id, 1)


async def test_a_cli_killed_while_it_rests_is_told_and_wakes_on_the_next_prompt(talk: Talk) -> None:
    """ours"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    os.kill(await talk.pid(session.id), signal.SIGKILL)
    await talk.told(session.id, "process_ended", code=-9)
    await talk.prompt(session.id, "go on")
    await talk.turns(session.id, 2)

    async def rests() -> bool:
        return talk.hub.world.slots.running == 0

    await until(rests, "rest")
