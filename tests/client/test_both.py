"""What a Client and a Remote both can do they do alike: the same tests run over both, each with a real process behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ropewalk import HubError, LocalProtocolError, RequestFailed
from tests.cli.hub.conftest import HubDesk, desk_at
from tests.client.both import GUARD, Driver, driven

pytestmark = pytest.mark.slow

MAKE = {
    "tool": "Bash",
    "input": {"command": "touch a.txt"},
    "ask": True,
    "suggestions": [],
    "if_denied": [{"text": "Because: {reason}"}],
}
RULES = [
    {"prompt": "make", "steps": [MAKE, {"text": "Made."}]},
    {
        "prompt": "hang",
        "steps": [{"text": "Working."}, {"tool": "Bash", "input": {"command": "sleep"}, "ask": False, "lasts": 600}],
    },
    {"prompt": "break", "steps": [{"fail": 400}]},
    {"prompt": "count", "steps": [{"text": "I know {prompts}."}]},
    {"steps": [{"text": "You said {prompt}"}]},
]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[HubDesk]:
    desk = desk_at(tmp_path)
    desk.env["ROPEWALK_SIM_SPEED"] = "1"
    desk.configure()
    desk.script(rules=RULES)
    try:
        yield desk
    finally:
        desk.end()


@pytest.fixture(params=["client", "remote"])
async def driver(request: pytest.FixtureRequest, desk: HubDesk) -> AsyncIterator[Driver]:
    async with driven(request.param, desk) as driver:
        yield driver


async def test_a_query_ends_with_the_turn_that_took_it(driver: Driver) -> None:
    """seed: everything that was said on the way, then how it ended"""
    ended = await driver.query("hello")
    assert ended.texts == ["You said hello"] and ended.text == "You said hello"
    assert not ended.failed and not ended.interrupted
    assert (await driver.query("count")).text == "I know 2."


async def test_two_queries_at_once_are_both_answered(driver: Driver) -> None:
    """seed: by turns of their own, or by one where the CLI folds them (measured 2.1.326; the hub never lets it)"""
    one, two = await asyncio.wait_for(asyncio.gather(driver.query("first"), driver.query("second")), GUARD)
    assert "first" in one.text and "second" in two.text


async def test_an_allowed_tool_runs_with_what_was_allowed(driver: Driver) -> None:
    """seed: as it was asked, or with another input in its place"""
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(driver.query("make"))
        asked = await driver.question()
        assert (asked.tool, asked.input) == ("Bash", {"command": "touch a.txt"})
        await driver.allow(asked.id, {"command": "touch b.txt"})
    assert turn.result().text == "Made."
    (answer,) = driver.heard(type="control_response")
    assert answer["response"]["response"]["updatedInput"] == {"command": "touch b.txt"}


async def test_a_denial_carries_its_words(driver: Driver) -> None:
    """seed: the model reads them and goes on"""
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(driver.query("make"))
        await driver.deny((await driver.question()).id, "not here")
    assert turn.result().text == "Because: not here"


async def test_a_question_is_answered_once(driver: Driver) -> None:
    """seed: a second answer is refused, and the CLI hears one"""
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(driver.query("make"))
        asked = await driver.question()
        await driver.allow(asked.id)
        with pytest.raises((LocalProtocolError, HubError)):
            await driver.deny(asked.id, "too late")
    assert turn.result().text == "Made." and len(driver.heard(type="control_response")) == 1


async def test_a_denial_with_interrupt_ends_the_turn(driver: Driver) -> None:
    """seed"""
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(driver.query("make"))
        await driver.deny((await driver.question()).id, "stop it", interrupt=True)
    assert turn.result().interrupted and driver.heard(type="control_response")[0]["response"]["response"]["interrupt"] is True


async def test_an_interrupt_ends_the_turn_and_the_session_goes_on(driver: Driver) -> None:
    """seed"""
    async with asyncio.TaskGroup() as group:
        turn = group.create_task(driver.query("hang"))
        await _working(driver)
        await driver.interrupt()
    assert turn.result().interrupted
    assert (await driver.query("hello")).text == "You said hello"


async def _working(driver: Driver) -> None:
    async with asyncio.timeout(GUARD):
        while not driver.heard(type="user"):
            await asyncio.sleep(0.02)


async def test_a_failed_turn_says_so(driver: Driver) -> None:
    """seed"""
    assert (await driver.query("break")).failed
    assert not (await driver.query("hello")).failed


async def test_any_control_request_is_answered_with_the_response_of_the_cli(driver: Driver) -> None:
    """seed: by subtype and fields; an error of the CLI is raised"""
    await driver.query("hello")
    assert await driver.control("set_permission_mode", mode="acceptEdits") == {"mode": "acceptEdits"}
    assert "mcpServers" in await driver.control("mcp_status")
    with pytest.raises(RequestFailed):
        await driver.control("no_such_request")


async def test_a_session_is_resumed_with_what_it_knew(driver: Driver) -> None:
    """seed: another process, the same conversation"""
    await driver.query("hello")
    await driver.end_and_resume()
    assert (await driver.query("count")).text == "I know 2."
