"""A process that dies: everybody who waits hears of it at once, and so does whoever comes later."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable
from functools import partial
from typing import Any

import pytest

from ropewalk import Allow, Client, Question, RequestTimedOut, SessionGone
from tests.client.leftovers import alive, tasks
from tests.client.played import GUARD, PlayedCli, connected, question
from tests.client.scripted import ScriptedCli, until

BUSY = {"tool": "Bash", "ask": False, "lasts": 600, "input": {"command": "make everything"}}


async def gone(waiting: Awaitable[Any]) -> SessionGone:
    with pytest.raises(SessionGone) as caught:
        async with asyncio.timeout(GUARD):
            await waiting
    return caught.value


async def read_all(client: Client) -> None:
    async for _ in client.receive():
        pass


async def test_a_killed_process_fails_every_waiter_at_once_with_its_code_and_last_words(scripted: ScriptedCli) -> None:
    """measured: SIGKILL gives −9 (all versions)"""
    rules = {"work": [{"stderr": "the last words"}, {"text": "so"}, BUSY]}
    async with Client(scripted.options(rules, version="2.1.37")) as client:
        query = client.query("work")
        async with asyncio.TaskGroup() as group:
            waiting = [
                group.create_task(gone(query)),
                group.create_task(gone(read_all(client))),
                group.create_task(gone(client.control_request("a_subtype_that_2_1_37_never_answers"))),
                group.create_task(gone(client.stop_task("t1"))),
            ]
            await scripted.calls_a_tool()
            assert client.pid is not None
            os.kill(client.pid, signal.SIGKILL)
        for task in waiting:
            assert task.result().exit_code == -9 and task.result().stderr == ("the last words",)
            assert "the last words" in str(task.result())
        later = [
            client.interrupt(),
            client.control_request("mcp_status"),
            client.set_model("x"),
            client.control_response("q", Allow()),
        ]
        for call in later:
            assert (await gone(call)).exit_code == -9
        for verb in (client.query, client.prompt):
            with pytest.raises(SessionGone, match="signal 9"):
                verb("anyone?")
        assert not client.connected and client.end is not None and client.end.code == -9


async def test_an_interrupt_that_waits_for_the_turn_to_end_hears_of_the_death() -> None:
    """ours: the request may have been answered already"""
    cli = PlayedCli()
    async with connected(cli) as client:
        client.prompt("work")
        cli.say(*cli.begin(await cli.prompt("work")))
        await until(lambda: client.session_id, "init")
        waiting = asyncio.get_running_loop().create_task(gone(client.interrupt()))
        cli.succeed(await cli.request("interrupt"))
        cli.cli.exit(137, ["killed"])
        assert (await waiting).exit_code == 137


async def test_an_interrupt_that_was_not_even_answered_hears_of_it_once(caplog: pytest.LogCaptureFixture) -> None:
    """ours: nothing is left that complains of an exception that nobody heard"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(*cli.begin())
        await until(partial(getattr, client, "session_id"), "init")
        waiting = asyncio.get_running_loop().create_task(gone(client.interrupt()))
        await cli.request("interrupt")
        cli.cli.exit(137, ["killed"])
        assert (await waiting).exit_code == 137
    del waiting, client, cli  # they hold the exception, and it holds what waited
    gc.collect()
    assert "never retrieved" not in caplog.text


async def test_a_question_that_a_function_thinks_about_is_dropped_with_the_process() -> None:
    """ours: nobody waits for its answer any more"""
    cli, ended = PlayedCli(), asyncio.Event()

    async def think(asked: Question) -> Allow:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Allow()

    async with connected(cli, on_question=think) as client:
        cli.say(question("q1"))
        await until(lambda: client.questions, "the question")
        cli.cli.exit(1)
        async with asyncio.timeout(GUARD):
            await ended.wait()
        assert client.questions == []


async def test_a_cli_that_exits_instead_of_answering_says_why(scripted: ScriptedCli) -> None:
    """measured: a bad flag, a bad line, an unknown session: exit 1 and words on stderr (all versions)"""
    client = Client(scripted.options(extra_args={"no-such-flag": None}))
    error = await gone(client.connect())
    assert error.exit_code == 1 and "no-such-flag" in str(error) and not tasks()
    assert (await gone(client.control_request("mcp_status"))).exit_code == 1


async def test_a_resume_of_an_unknown_session_says_which(scripted: ScriptedCli) -> None:
    """measured: a result with errors, then exit 1, even without a prompt (resume_unknown, all versions)"""
    unknown = "3f0c6f3e-0000-4000-8000-000000000000"
    with pytest.raises(SessionGone, match=unknown) as caught:
        async with Client(scripted.options(resume=unknown)) as client:
            await client.query("hello?")
    assert caught.value.exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["ignore_stdin", "hang"])
async def test_a_cli_that_never_answers_is_given_up_and_ended(scripted: ScriptedCli, fault: str) -> None:
    """ours: start_timeout; a CLI that does not hear us gets less patience at its end, too"""
    client = Client(scripted.options(fault=fault, start_timeout=0.3, close_patience=0.2))
    with pytest.raises(RequestTimedOut, match=r"initialize: no answer within 0\.3 s"):
        async with asyncio.timeout(GUARD):
            await client.connect()
    assert client.end is not None and alive(str(scripted.ledger)) == [] and not tasks()


async def test_a_connect_that_is_cancelled_leaves_nothing(scripted: ScriptedCli) -> None:
    """ours"""
    client = Client(scripted.options(fault="ignore_stdin", close_patience=0.2))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    await until(lambda: client.pid, "the process")
    connecting.cancel()
    await asyncio.wait([connecting], timeout=GUARD)
    assert connecting.cancelled() and alive(str(scripted.ledger)) == [] and not tasks()


async def test_the_last_line_counts_even_without_its_newline() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.cli.say(b'{"type":"from_the_future"}')
        cli.cli.exit(0)
        kinds = []
        with pytest.raises(SessionGone):
            async for message in client.receive():
                kinds.append(type(message).__name__)
        assert kinds == ["ControlResponse", "Unknown"]
