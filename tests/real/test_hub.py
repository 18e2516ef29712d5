"""Real CLIs under a whole hub: turns, questions, sleep and resume, and kill -9 of the hub in the midst of a turn."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ropewalk import Remote
from ropewalk.events.events import TurnEnded
from ropewalk.sim.model import Rule, SimModel, reply
from tests.demand import demand
from tests.hub.house import until
from tests.real.rig import Place
from tests.real.rig_hub import ServedHub, question_of, served_hub
from tests.real.rig_talk import touch


@pytest.fixture
async def hub(place: Place, cli_version: str, model: SimModel) -> AsyncIterator[ServedHub]:
    async with served_hub(place, cli_version, model) as hub:
        yield hub


async def turns(remote: Remote, session: str, count: int) -> list[TurnEnded]:
    async def look() -> list[TurnEnded] | None:
        ended = [event for event in await remote.events(session, limit=1000) if isinstance(event, TurnEnded)]
        return ended if len(ended) >= count else None

    return await until(look, f"{count} turns")


@demand("001-83", tag="real")
@demand("003-49", tag="real")
async def test_turns_questions_a_killed_hub_and_a_woken_session(hub: ServedHub, place: Place, model: SimModel) -> None:
    """measured (all): driven through the API alone; the question outlives the hub, the session its process"""
    model.add(Rule([reply("Two.")], when="one and one"))
    model.add(Rule([touch("allowed.txt"), reply("Made it.")], when="make it"))
    model.add(Rule([touch("denied.txt"), reply("Left it.")], when="try it"))
    model.add(Rule([reply("Awake.")], when="wake up"))
    remote = await hub.serve()
    session = (await remote.start(str(place.project), prompt="one and one")).id
    assert (await turns(remote, session, 1))[0].text == "Two."

    await remote.prompt(session, "make it")
    question = await question_of(remote, session)
    assert question.tool == "Bash" and question.line == "Run: touch allowed.txt"
    await remote.close()
    hub.kill()
    remote = await hub.serve()
    again = await question_of(remote, session)
    assert again.id == question.id
    await remote.answer(again.id, behavior="allow")
    assert (await turns(remote, session, 2))[1].text == "Made it." and (place.project / "allowed.txt").exists()

    await remote.prompt(session, "try it")
    await remote.answer((await question_of(remote, session)).id, behavior="deny", message="not this")
    assert (await turns(remote, session, 3))[2].text == "Left it." and not (place.project / "denied.txt").exists()

    await remote.stop(session)
    assert (await remote.get(session)).status == "stopped"
    await remote.prompt(session, "wake up")
    assert (await turns(remote, session, 4))[3].text == "Awake."
    kinds = [type(event).__name__ for event in await remote.events(session, limit=1000)]
    assert kinds.count("ProcessStarted") == 2 and kinds.count("TurnEnded") == 4 and "Unrecognised" not in kinds
    asked = [prompt for call in model.requests if call.kind == "main" for prompt in call.prompts]
    assert any("wake up" in prompt for prompt in asked) and any("one and one" in prompt for prompt in asked[-8:])
    await remote.close()


async def test_words_stream_while_they_are_said(hub: ServedHub, place: Place, model: SimModel) -> None:
    """ours: deltas are told live and superseded by the finished block"""
    model.add(Rule([reply("One two three four five six seven eight nine ten.")], when="count"))
    remote = await hub.serve()
    session = (await remote.start(str(place.project))).id
    await remote.prompt(session, "count")
    told = []
    async for event in remote.attach(session, live=True):
        told.append(event)
        if isinstance(event, TurnEnded):
            break
    finished = [event for event in told if type(event).__name__ == "Text"]
    assert finished and finished[-1].text.startswith("One two")  # type: ignore[attr-defined]
    await remote.close()
