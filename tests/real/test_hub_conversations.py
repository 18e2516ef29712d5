"""Real CLIs under a whole hub: a cleared conversation, and a resume of one that never was."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ropewalk.events.events import ContextCleared, Failed, ProcessStarted
from ropewalk.sim.model import Rule, SimModel, reply
from tests.hub.house import until
from tests.real.rig import Place
from tests.real.rig_hub import ServedHub, served_hub
from tests.real.test_hub import turns


@pytest.fixture
async def hub(place: Place, cli_version: str, model: SimModel) -> AsyncIterator[ServedHub]:
    async with served_hub(place, cli_version, model) as hub:
        yield hub


async def test_a_cleared_conversation_goes_on_after_a_stop(
    hub: ServedHub, place: Place, cli_version: str, model: SimModel
) -> None:
    """measured (2.1.326): /clear gives a new session id; it is gone on with when its process has ended"""
    if cli_version != "2.1.326":
        pytest.skip("only newer CLIs know /clear")
    model.add(Rule([reply("Two.")], when="one and one"))
    model.add(Rule([reply("Awake.")], when="wake up"))
    model.add(Rule([reply("Awake.")], when="wake up again"))
    remote = await hub.serve()
    session = (await remote.start(str(place.project), prompt="one and one")).id
    await turns(remote, session, 1)
    await remote.prompt(session, "/clear")
    await turns(remote, session, 2)
    assert any(isinstance(event, ContextCleared) for event in await remote.events(session, limit=1000))
    await remote.stop(session)
    await remote.prompt(session, "wake up")
    assert (await turns(remote, session, 3))[2].text == "Awake."
    await remote.stop(session)
    await remote.prompt(session, "wake up again")
    assert (await turns(remote, session, 4))[3].text == "Awake."
    last = [call for call in model.requests if call.kind == "main"][-1]
    assert not any("one and one" in prompt for prompt in last.prompts) and any("wake up" in prompt for prompt in last.prompts)
    await remote.close()


async def test_a_resume_of_nothing_fails_at_once_in_words(hub: ServedHub, place: Place, model: SimModel) -> None:
    """measured (all): an error result and exit 1; it is not tried again"""
    remote = await hub.serve()
    session = (await remote.start(str(place.project), prompt="hello", resume="11111111-2222-4333-8444-555555555555")).id

    async def failed() -> bool:
        return any(isinstance(event, Failed) for event in await remote.events(session, limit=1000))

    await until(failed, "failure")
    view = await remote.get(session)
    assert view.status == "failed" and "resume" in view.why
    assert sum(isinstance(event, ProcessStarted) for event in await remote.events(session, limit=1000)) == 1
    await remote.close()
