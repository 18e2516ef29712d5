"""Closing: bounded whatever the CLI does, repeatable, and nothing is left."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropewalk import Allow, Client, Deny, Question, RequestTimedOut, SessionGone
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.stdio import StdioTransport
from tests.client.leftovers import alive, descriptors, tasks
from tests.client.played import GUARD, PlayedCli, connected, question
from tests.client.scripted import CLI, ScriptedCli, until


def hasty(launch: Launch) -> StdioTransport:
    """The usual transport with less time for each rung."""
    return StdioTransport(launch, graces=Graces(terminate=0.3, kill=5.0, survivors=0.3, quiet=0.1, quiet_at_most=0.3))


async def closed(client: Client, rungs: list[str] | None = None) -> Any:
    async with asyncio.timeout(GUARD):
        return await client.close(on_rung=None if rungs is None else rungs.append)


async def test_nothing_is_left_of_a_client_no_process_no_descriptor_no_task(scripted: ScriptedCli) -> None:
    """ours"""
    before = descriptors()
    async with Client(scripted.options(on_question=lambda asked: Deny("no"))) as client:
        await client.query("hello")
        assert alive(str(scripted.ledger)) == [client.pid]
    assert client.end is not None and client.end.code == 0
    assert alive(str(scripted.ledger)) == [] and descriptors() == before and tasks() == set()


async def test_a_turn_that_runs_is_interrupted_first_and_its_end_awaited(scripted: ScriptedCli) -> None:
    """measured: the interrupt's answer means heard, the result means stopped"""
    rungs: list[str] = []
    rules = {"work": [{"tool": "Bash", "ask": False, "lasts": 600, "input": {"command": "make"}}]}
    client = Client(scripted.options(rules))
    await client.connect()
    query = client.query("work")
    await scripted.calls_a_tool()
    await until(lambda: client.session_id, "init")
    end = await closed(client, rungs)
    assert end.code is not None and rungs[:2] == ["interrupt", "input closed"]
    reply = await query
    assert reply.interrupted


async def test_background_work_is_stopped_before_the_input_is_closed(scripted: ScriptedCli) -> None:
    """measured: 2.1.62 and 2.1.326 stay until it is done when the input is closed (background_stdin_closed)"""
    rungs: list[str] = []
    tool_input = {"command": "make world", "run_in_background": True}
    rules = {"work": [{"tool": "Bash", "ask": False, "lasts": 600, "input": tool_input}, {"text": "It runs."}]}
    client = Client(scripted.options(rules))
    await client.connect()
    await client.query("work")
    (task,) = client.tasks
    end = await closed(client, rungs)
    assert end.code == 0 and rungs == [f"stop background work: {task}", "input closed"]
    assert [line["request"]["task_id"] for line in scripted.heard("stop_task")] == [task]


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "code"), [("ignore_stdin", 143), ("ignore_stdin;ignore_term", -9)])
async def test_a_cli_that_hears_neither_words_nor_signals_is_ended_all_the_same(
    scripted: ScriptedCli, fault: str, code: int
) -> None:
    """ours: each rung has its time"""
    client = Client(scripted.options(fault=fault, transport=hasty, close_patience=0.2, start_timeout=0.5))
    with pytest.raises(RequestTimedOut):
        await client.connect()
    assert client.end is not None and client.end.code == code
    assert alive(str(scripted.ledger)) == [] and tasks() == set()


async def test_what_the_cli_started_ends_with_it(scripted: ScriptedCli) -> None:
    """measured: commands outlive the CLI, in sessions of their own and with our pipes in their hands"""
    rungs: list[str] = []
    client = Client(scripted.options(fault="leave_child way=setsid hold=1 at=line:1", transport=hasty))
    await client.connect()
    await until(lambda: len(alive(str(scripted.ledger))) == 2, "the child")
    await closed(client, rungs)
    assert rungs == ["input closed", "survivors"] and alive(str(scripted.ledger)) == []


async def test_a_cli_that_hangs_in_a_turn_costs_its_courtesies_and_no_more(scripted: ScriptedCli) -> None:
    """ours: an interrupt that is not answered within two seconds is given up"""
    client = Client(scripted.options({"hang": [{"text": "now"}, {"fault": "hang"}]}, transport=hasty, close_patience=0.2))
    await client.connect()
    query = client.query("hang")
    async for _ in query:
        if client.session_id:
            began = asyncio.get_running_loop().time()
            await closed(client)
            assert asyncio.get_running_loop().time() - began < 10
            break
    assert alive(str(scripted.ledger)) == []


async def test_closing_twice_and_at_the_same_time_is_one_close(scripted: ScriptedCli) -> None:
    """ours"""
    client = Client(scripted.options())
    await client.connect()
    ends = await asyncio.gather(closed(client), closed(client), closed(client))
    assert ends[0] is ends[1] is ends[2] is await closed(client) and ends[0].code == 0


async def test_closing_at_the_same_time_asks_the_cli_once() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        client.prompt("go")
        cli.say(*cli.begin(await cli.prompt("go")))
        await until(lambda: client.session_id, "init")
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(closed(client))
            cli.succeed(await cli.request("interrupt"))
            cli.say(cli.result())
            assert await cli.cli.hear_end() == b""


async def test_a_close_whose_caller_is_cancelled_goes_on(scripted: ScriptedCli) -> None:
    """ours"""
    client = Client(scripted.options())
    await client.connect()
    closing = asyncio.get_running_loop().create_task(client.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    await until(lambda: client.end, "the end")
    assert (await closed(client)).code == 0 and alive(str(scripted.ledger)) == [] and tasks() == set()


async def test_while_it_closes_nothing_new_is_taken_and_waiters_end() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("go")
        cli.say(*cli.begin(await cli.prompt("go")))
        await until(lambda: client.session_id, "init")
        closing = asyncio.get_running_loop().create_task(client.close())
        await cli.request("interrupt")
        with pytest.raises(SessionGone, match="being closed"):
            client.query("more")
        with pytest.raises(SessionGone, match="being closed"):
            await client.set_model("x")
        cli.cli.exit(0)
        with pytest.raises(SessionGone):
            await query
        await closing


@pytest.mark.slow
async def test_functions_that_are_asked_are_cancelled_by_close_and_a_deaf_one_can_t_hold_it_up() -> None:
    """ours"""
    cli, heard = PlayedCli(), []
    release = asyncio.Event()

    async def deaf(asked: Question) -> Allow:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                heard.append("cancelled")
        return Allow()

    async with connected(cli, on_question=deaf) as client:
        cli.say(question("q1"))
        await until(lambda: client.questions, "the question")
        closing = asyncio.get_running_loop().create_task(closed(client))
        cli.succeed(await cli.request("interrupt"))
        await closing
    assert heard and tasks()
    release.set()
    await until(lambda: not tasks(), "the deaf one")


async def test_a_function_that_is_asked_may_close_the_client_itself() -> None:
    """ours"""
    cli = PlayedCli()

    async def enough(asked: Question) -> None:
        await client.close()

    async with connected(cli, on_question=enough) as client:
        cli.say(question("q1"))
        cli.succeed(await cli.request("interrupt"))
        await until(lambda: client.end, "the end")
    assert tasks() == set()


CRASHING = """
import asyncio, sys
from ropewalk import Client, ClientOptions
async def main():
    client = Client(ClientOptions(cli={cli!r}, env={env!r}, cwd={cwd!r}))
    await client.connect()
    print(client.pid, flush=True)
    {how}
asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["raise SystemExit(3)", "import os; os.kill(os.getpid(), 9)"])
def test_a_program_that_ends_without_closing_leaves_no_cli_behind(scripted: ScriptedCli, how: str, tmp_path: Path) -> None:
    """ours"""
    options = scripted.options()
    script = tmp_path / "program.py"
    script.write_text(CRASHING.format(cli=list(CLI), env=dict(options.env), cwd=str(options.cwd), how=how))
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=GUARD, check=False)
    assert ran.stdout.strip().isdigit() and ran.returncode in (3, -9), ran.stderr
    _wait_until_gone(lambda: alive(str(scripted.ledger)))


def _wait_until_gone(left: Callable[[], list[int]]) -> None:
    asyncio.run(until(lambda: not left(), "the CLI to go"))
