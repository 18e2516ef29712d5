"""The small client: a few verbs and a callback for each thing that happens."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from ropewalk import Allow, Assistant, Client, LocalProtocolError, Question, Result, SessionGone, StreamEvent
from tests.client.played import PlayedCli, connected, question, text
from tests.client.scripted import ScriptedCli, until
from tests.demand import demand


@demand("001-88", tag="lib")
async def test_connect_send_answer_interrupt_disconnect_and_a_callback_for_each_thing_that_happens(scripted: ScriptedCli) -> None:
    """seed"""
    told: list[tuple[str, Any]] = []
    ended = asyncio.Event()

    def heard(message: Any) -> None:
        told.append(("message", message))
        if isinstance(message, Result):
            ended.set()

    def asked(asks: Question) -> Allow:
        told.append(("question", asks))
        return Allow()

    rules = {
        "make": [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "made"}],
        "wait": [{"tool": "Bash", "ask": False, "lasts": 600, "input": {"command": "sleep"}}],
    }
    client = Client(
        scripted.options(
            rules,
            on_message=heard,
            on_question=asked,
            on_connected=lambda: told.append(("connected", None)),
            on_disconnected=lambda gone: told.append(("disconnected", gone)),
            on_error=lambda error: told.append(("error", error)),
        )
    )
    states = [client.connected]
    await client.connect()
    states.append(client.connected)
    assert told.pop()[0] == "connected"
    client.prompt("make it")
    await ended.wait()
    assert [what.tool_name for kind, what in told if kind == "question"] == ["Bash"]
    assert [what.result for kind, what in told if isinstance(what, Result)] == ["made"]
    ended.clear()
    client.prompt("wait")
    await until(lambda: isinstance(told[-1][1], Assistant | StreamEvent), "the turn")
    await client.interrupt()
    results = [what for kind, what in told if isinstance(what, Result)]
    assert ended.is_set() and len(results) == 2 and results[-1].interrupted
    await client.disconnect()
    gone = told[-1][1]
    assert isinstance(gone, SessionGone) and gone.exit_code is not None
    assert [*states, client.connected] == [False, True, False]
    assert not [what for kind, what in told if kind == "error"]


async def test_a_question_can_be_answered_later_by_its_id(scripted: ScriptedCli) -> None:
    """seed: the verb for it; the callback may also leave it open"""
    asked: asyncio.Queue[Question] = asyncio.Queue()
    rules = {"make": [{"tool": "Bash", "input": {"command": "touch x"}}, {"text": "made"}]}
    async with Client(scripted.options(rules, on_question=asked.put_nowait)) as client:
        query = client.query("make it")
        waiting = await asked.get()
        assert [one.request_id for one in client.questions] == [waiting.request_id]
        await client.control_response(waiting.request_id, Allow())
        assert (await query).result == "made" and client.questions == []


async def test_callbacks_that_raise_are_logged_and_reading_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """ours: a bug in a callback must not stop the session"""

    def broken(*told: Any) -> None:
        raise ZeroDivisionError

    cli = PlayedCli()
    callbacks: dict[str, Any] = dict.fromkeys(
        ("on_message", "on_connected", "on_disconnected", "on_error", "on_question"), broken
    )
    with caplog.at_level(logging.ERROR, "ropewalk.client"):
        async with connected(cli, **callbacks) as client:
            query = client.query("go")
            uuid = await cli.prompt("go")
            cli.say(*cli.begin(uuid), question("q1"))
            assert (await cli.answer("q1"))["subtype"] == "error"
            cli.say(text("on it goes"), cli.result(uuid))
            assert (await query).result == "Yes."
    assert client.end is not None and len([one for one in caplog.records if "callback" in one.message]) >= 5


async def test_messages_that_a_callback_heard_do_not_pile_up_for_receive() -> None:
    """ours: a program that only listens must never make reading pause"""
    cli = PlayedCli()
    heard: list[Any] = []
    async with connected(cli, on_message=heard.append, max_unread=1000) as client:
        cli.say(*(text(str(number) * 100) for number in range(100)))
        query = client.query("go")
        cli.turn(await cli.prompt("go"))
        await query
        assert len(heard) > 100 and cli.cli.unheard == 0 and client.dropped == 0


async def test_a_client_serves_one_process() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        with pytest.raises(LocalProtocolError, match="make a new one"):
            await client.connect()
    with pytest.raises(LocalProtocolError, match="make a new one"):
        await client.connect()


async def test_before_connect_every_verb_says_what_is_missing() -> None:
    """ours"""
    client = Client(PlayedCli().options())
    with pytest.raises(LocalProtocolError, match="async with Client"):
        client.query("hi")
    with pytest.raises(LocalProtocolError, match="async with Client"):
        client.prompt("hi")
    with pytest.raises(LocalProtocolError, match="async with Client"):
        await client.interrupt()
    assert await client.close() is None
