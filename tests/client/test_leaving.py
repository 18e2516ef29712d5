"""Leaving a query before its end: the turn is interrupted, no other turn is, and the client goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from ropewalk import Allow, Client, Init, Query, TurnFailed
from tests.client.played import GUARD, PlayedCli, connected, text
from tests.client.scripted import VERSIONS, ScriptedCli, until

BUSY = {"tool": "Bash", "ask": False, "lasts": 600, "input": {"command": "make everything"}}


async def by_break(query: Query) -> None:
    async for message in query:
        if isinstance(message, Init):
            break


async def by_cancelling_the_task(query: Query) -> None:
    begun = asyncio.Event()

    async def read() -> None:
        async for message in query:
            if isinstance(message, Init):
                begun.set()

    task = asyncio.get_running_loop().create_task(read())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def by_a_timeout(query: Query) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(None) as patience:
            async for message in query:
                if isinstance(message, Init):
                    patience.reschedule(0)


async def by_aclose(query: Query) -> None:
    async with aclosing(query):
        async for message in query:
            if isinstance(message, Init):
                return


async def by_closing_it_elsewhere(query: Query) -> None:
    async with asyncio.TaskGroup() as group:

        async def read() -> None:
            async for message in query:
                if isinstance(message, Init):
                    group.create_task(query.aclose())
            assert query.result is None

        group.create_task(read())


async def by_an_exception(query: Query) -> None:
    with pytest.raises(ZeroDivisionError):
        async for message in query:
            if isinstance(message, Init):
                raise ZeroDivisionError


WAYS = [by_break, by_cancelling_the_task, by_a_timeout, by_aclose, by_closing_it_elsewhere, by_an_exception]


@pytest.mark.parametrize("leave", WAYS)
async def test_leaving_a_query_interrupts_its_turn_and_the_next_one_runs(leave: Callable[[Query], Awaitable[None]]) -> None:
    """ours; the next prompt is sent at once, and the interrupt is on its way before it"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("long")
        uuid = await cli.prompt("long")
        cli.say(*cli.begin(uuid), text("so far"))
        async with asyncio.timeout(GUARD):
            await leave(query)
        following = client.query("next")
        cli.succeed(await cli.request("interrupt"), {"still_queued": []})
        after = await cli.prompt("next")
        cli.say(cli.result(uuid, words="", is_error=True, subtype="error_during_execution"))
        cli.turn(after, words="next words")
        assert (await following).result == "next words" and client.idle


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_turn_that_was_left_ends_on_every_version(scripted: ScriptedCli, version: str) -> None:
    """measured: interrupt while a tool runs (interrupt_tool, all versions)"""
    async with Client(scripted.options({"long": [BUSY]}, version=version)) as client:
        async with asyncio.timeout(GUARD):
            await by_break(client.query("long"))
            reply = await client.query("next")
        assert reply.result == "You said: next" and client.idle
        assert len(scripted.heard("interrupt")) == 1


async def test_awaiting_a_query_can_be_cancelled_too() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("long")
        waiting = asyncio.get_running_loop().create_task(_result(query))
        cli.say(*cli.begin(await cli.prompt("long")))
        await until(lambda: client.session_id, "init")
        waiting.cancel()
        cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result(query.uuid))
        with pytest.raises(TurnFailed):
            await query


async def test_leaving_one_that_waits_behind_another_turn_takes_it_back_and_lets_that_turn_run() -> None:
    """measured: cancel_async_message works until a turn has taken the prompt (cancel_queued, 2.1.326)"""
    cli = PlayedCli()
    async with connected(cli) as client:
        first, second = client.query("first"), client.query("second")
        one, two = await cli.prompt("first"), await cli.prompt("second")
        cli.say(*cli.begin(one))
        await second.aclose()
        request = await cli.request("cancel_async_message")
        assert request["request"]["message_uuid"] == two
        cli.say({"type": "command_lifecycle", "command_uuid": two, "state": "cancelled", "uuid": "l"})
        cli.succeed(request, {"cancelled": True})
        cli.say(text("on"), cli.result(one))
        assert (await first).result == "Yes." and client.idle


async def test_one_that_can_t_be_taken_back_is_interrupted_when_its_turn_begins_and_not_before() -> None:
    """measured: 2.1.37 and 2.1.62 have no way to take a prompt back; they run prompts one by one"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        first, second = client.query("first"), client.query("second")
        one, two = await cli.prompt("first"), await cli.prompt("second")
        cli.say(*cli.begin(one))
        await second.aclose()
        cli.say(cli.result())
        assert (await first).prompts == (one,)
        cli.say(*cli.begin(two))
        cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result(words=""))
        third = client.query("third")
        cli.turn(await cli.prompt("third"))
        assert (await third).result == "Yes." and client.idle


@pytest.mark.parametrize("version", ["2.1.62", "2.1.326"])
async def test_a_waiting_query_that_was_cancelled_leaves_the_running_one_alone(scripted: ScriptedCli, version: str) -> None:
    """ours"""
    rules = {"first": [{"tool": "Read", "ask": True, "input": {"file_path": "x"}}, {"text": "first words"}]}
    async with Client(scripted.options(rules, version=version)) as client:
        first = client.query("first")
        async for _ in first:
            if client.questions:
                break_off = asyncio.get_running_loop().create_task(_result(client.query("second")))
                await scripted.has_heard(2, "user")
                break_off.cancel()
                await asyncio.wait([break_off])
                await client.control_response(client.questions[0].request_id, Allow())
        assert first.result is not None and first.result.result == "first words" and not first.result.failed
        assert (await client.query("third")).result == "You said: third"


async def _result(query: Query) -> None:
    await query


async def test_a_turn_that_others_read_is_not_interrupted_until_all_have_left() -> None:
    """measured: prompts share a turn when they are folded in or merged"""
    cli = PlayedCli()
    async with connected(cli) as client:
        queries = [client.query(word) for word in ("a", "b")]
        uuids = [await cli.prompt(word) for word in ("a", "b")]
        cli.say(*cli.begin(*uuids))
        await by_break(queries[0])
        alive = asyncio.get_running_loop().create_task(client.control_request("mcp_status"))
        cli.succeed(await cli.request("mcp_status"))  # the first to leave is not the reason for an interrupt
        await alive
        await queries[1].aclose()
        cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result(*uuids))


async def test_leaving_before_the_turn_began_interrupts_at_once_and_again_when_it_begins_all_the_same() -> None:
    """measured: an interrupt before init is heard by 2.1.62 and answered before init (interrupt_waiting_api)"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        await query.aclose()
        cli.succeed(await cli.request("interrupt"))
        cli.say(*cli.begin(uuid))
        cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result())


async def test_a_second_interrupt_is_not_sent_where_it_could_hit_the_next_turn() -> None:
    """ours: the first one may have ended the turn already"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        left = client.query("go")
        uuid = await cli.prompt("go")
        await left.aclose()
        following = client.query("next")
        cli.succeed(await cli.request("interrupt"))
        after = await cli.prompt("next")
        cli.say(*cli.begin(uuid))
        cli.say(cli.result())
        cli.turn(after, words="next words")
        assert (await following).result == "next words"
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive"


@pytest.mark.parametrize("error", [True, False], ids=["refused", "too-late"])
async def test_a_prompt_that_could_not_be_taken_back_any_more_is_interrupted(error: bool) -> None:
    """measured: {cancelled: false} when a turn has taken it (2.1.326); a CLI without the request answers an error"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        await query.aclose()
        request = await cli.request("cancel_async_message")
        if error:
            cli.fail(request, "Unsupported control request subtype", error_code="unsupported_request")
        else:
            cli.say(*cli.begin(uuid))
            cli.succeed(request, {"cancelled": False})
        cli.succeed(await cli.request("interrupt"))
        if error:
            cli.say(*cli.begin(uuid))
            cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result(uuid))


async def test_leaving_after_the_result_has_come_interrupts_nothing() -> None:
    """ours: whoever has read enough may break without a thought"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("go")
        cli.turn(await cli.prompt("go"))
        async for message in client.receive():
            if type(message).__name__ == "Result":
                break
        await by_break(query)
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive"
