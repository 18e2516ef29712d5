"""Two verbs on one session at the same time, and callers that go away in the midst of one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from contextlib import closing
from typing import Any, TypeVar

import pytest

from ropewalk.errors import Conflict
from ropewalk.events import commands as c
from ropewalk.sessions import roster
from tests.hub.house import MIA, House, Talk, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
T = TypeVar("T")


def soon(doing: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Beside what the test does; each awaits it."""
    return asyncio.get_running_loop().create_task(doing)


async def test_whoever_wakes_it_at_the_same_time_gets_one_process(house: House, talk: Talk) -> None:
    """ours: one process a session, guarded where it is started"""
    session = await talk.new()
    await asyncio.gather(*[talk.hub.wake(MIA, session.id, c.Wake()) for _ in range(4)])
    await talk.status(session.id, "idle")
    assert (await talk.kinds(session.id)).count("process_started") == 1
    assert talk.hub.world.slots.alive == 1


async def test_a_prompt_and_a_wake_at_the_same_time_are_one_process(house: House, talk: Talk) -> None:
    """ours"""
    session = await talk.new()
    await asyncio.gather(talk.prompt(session.id, "hello"), talk.hub.wake(MIA, session.id, c.Wake()))
    await talk.turns(session.id, 1)
    assert (await talk.kinds(session.id)).count("process_started") == 1
    assert talk.hub.world.slots.alive == 1


async def test_a_stop_while_it_starts_ends_it_and_the_prompt_waits(house: House, talk: Talk) -> None:
    """ours: what a person stopped does not come up a moment later"""
    session = await talk.new("hello")
    await talk.hub.stop(MIA, session.id, c.Stop(patience=5))
    assert (await talk.hub.session(MIA, session.id)).status == "stopped"
    assert talk.hub.world.slots.alive == 0 and talk.hub.world.slots.running == 0
    assert (await talk.hub.session(MIA, session.id)).process is None
    assert house.prompts_heard() == [] and (await talk.hub.session(MIA, session.id)).queued == 1
    await talk.hub.wake(MIA, session.id, c.Wake())
    await talk.turns(session.id, 1)


async def test_a_wake_while_it_is_stopped_wakes_it_after_that(house: House, talk: Talk) -> None:
    """ours: the last word counts"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    stopping = soon(talk.hub.stop(MIA, session.id, c.Stop(patience=5)))
    await talk.told(session.id, "stop_rung")
    await talk.hub.wake(MIA, session.id, c.Wake())
    await stopping
    await talk.status(session.id, "idle")
    assert (await talk.kinds(session.id)).count("process_started") == 2


async def test_two_stops_at_once_are_one(house: House, talk: Talk) -> None:
    """ours: the second waits for the same end"""
    house.rule("work", ASKS)
    session = await talk.new("work")
    await talk.question(session.id)
    await asyncio.gather(*[talk.hub.stop(MIA, session.id, c.Stop(patience=5)) for _ in range(3)])
    assert (await talk.hub.session(MIA, session.id)).status == "stopped"
    assert (await talk.kinds(session.id)).count("process_ended") == 1


@pytest.mark.parametrize("after", range(4))
async def test_a_prompt_whose_sender_went_away_is_stored_and_run_or_neither(talk: Talk, after: int) -> None:
    """ours: a caller that is cut off in the midst leaves nothing half done"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    sending = soon(talk.prompt(session.id, "and this"))
    for _ in range(after):
        await asyncio.sleep(0)
    sending.cancel()
    await asyncio.wait({sending})
    await talk.prompt(session.id, "last")

    async def settled() -> bool:
        last = (await talk.events(session.id))[-1]
        return (await talk.hub.session(MIA, session.id)).status == "idle" and last["kind"] == "status_changed"

    await talk.told(session.id, "turn_ended", text="Yes: last")
    await until(settled, "rest")
    events = await talk.events(session.id)
    queued = [event["prompt"] for event in events if event["kind"] == "prompt_queued"]
    done = [prompt for event in events if event["kind"] == "turn_ended" for prompt in event["prompts"]]
    assert queued == done


async def test_a_stop_whose_caller_went_away_is_carried_out(house: House, talk: Talk) -> None:
    """ours"""
    house.rule("work", ASKS)
    session = await talk.new("work")
    await talk.question(session.id)
    stopping = soon(talk.hub.stop(MIA, session.id, c.Stop(patience=5)))
    await talk.told(session.id, "stop_rung")
    stopping.cancel()
    await talk.status(session.id, "stopped")
    await talk.prompt(session.id, "go on")
    await talk.told(session.id, "turn_ended", text="Yes: go on")


async def test_what_is_edited_is_what_is_run(house: House, talk: Talk) -> None:
    """ours: an edit in the moment of handing over is either run as edited, or refused"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    second = await talk.prompt(session.id, "second")
    awake = await talk.hub.roster.get(session.id)
    answered = soon(talk.hub.answer(MIA, question.id, c.Answer(behavior="allow")))

    async def edits() -> bool:
        """Again and again, until it is too late."""
        try:
            for number in range(10_000):
                await talk.hub.edit_prompt(MIA, session.id, second.id, c.EditPrompt(text=f"edited {number}"))
        except Conflict:
            return True
        return False

    assert await edits()
    await answered
    turn = (await talk.turns(session.id, 2))[1]
    stored = next(event for event in reversed(await talk.events(session.id)) if event["kind"] == "prompt_changed")
    assert turn["text"] == f"Yes: {stored['text']}"
    assert not awake.queue.all


async def test_a_withdrawn_prompt_is_not_run(house: House, talk: Talk) -> None:
    """ours: withdrawn in the moment of handing over, it is withdrawn or it is refused"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    waiting = [await talk.prompt(session.id, f"number {number}") for number in range(20)]
    answered = soon(talk.hub.answer(MIA, question.id, c.Answer(behavior="allow")))
    withdrawn = []
    for prompt in waiting:
        try:
            await talk.hub.withdraw(MIA, session.id, prompt.id, c.Withdraw())
            withdrawn.append(prompt.id)
        except Conflict:
            await asyncio.sleep(0.05)
    await answered
    await talk.turns(session.id, 21 - len(withdrawn))
    assert set(house.prompts_heard()).isdisjoint(withdrawn)


async def test_a_session_that_was_let_go_in_the_midst_of_a_verb_is_not_loaded_twice(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: two copies of one session would start two processes for it"""
    monkeypatch.setattr(roster, "KEPT", 1)
    session = await talk.new()
    before = await talk.hub.roster.get(session.id)
    sending = soon(talk.prompt(session.id, "hello"))
    for _ in range(3):
        await talk.new()
    assert await talk.hub.roster.get(session.id) is before
    await sending
    await talk.turns(session.id, 1)


async def test_a_session_and_its_first_prompt_are_stored_together(house: House, talk: Talk) -> None:
    """ours: else a kill in between makes a session without its prompt, and the retried command would not notice"""

    async def together() -> None:
        await asyncio.gather(*[talk.new("hello") for _ in range(20)])

    creating = soon(together())
    with closing(sqlite3.connect(f"file:{talk.hub.world.config.database}?mode=ro", uri=True)) as database:
        while not creating.done():
            sessions, prompts = database.execute(
                "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM prompt)"
            ).fetchone()
            assert sessions == prompts
            await asyncio.sleep(0)
    await creating


async def test_a_create_that_is_retried_meanwhile_is_one_session(talk: Talk) -> None:
    """ours: by the client's own id"""
    views = await asyncio.gather(*[talk.new("hello", client_id="one") for _ in range(5)])
    assert len({view.id for view in views}) == 1
    assert len((await talk.hub.sessions(MIA)).items) == 1
    await talk.turns(views[0].id, 1)
