"""Readers that do not read, and a CLI that does not: neither holds the other up, and memory has an end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ropewalk import Client, SessionGone
from ropewalk.client.mailbox import HARD, Told
from tests.client.played import GUARD, Line, PlayedCli, connected, delta, text
from tests.client.scripted import ScriptedCli, until

LIMIT = 20_000


def number_of(message: Told) -> int:
    return int(json.loads(message.raw)["content"])


def note(number: int) -> Line:
    return {"type": "system", "subtype": "informational", "content": str(number), "uuid": "n", "filler": "x" * 80}


async def heard_all(cli: PlayedCli) -> None:
    await until(lambda: cli.cli.unheard == 0, "the client to read")


async def notes(client: Client, count: int) -> list[int]:
    """The next so many notes of a new receiver, by their numbers."""
    found: list[int] = []
    async with asyncio.timeout(GUARD):
        async for message in client.receive():
            if b"informational" in message.raw:
                found.append(number_of(message))
            if len(found) == count:
                return found
    return found


async def test_with_5000_messages_unread_an_interrupt_is_answered_at_once(scripted: ScriptedCli) -> None:
    """ours: control traffic never queues behind events"""
    rules = {
        "flood": [{"fault": "flood", "count": 5000}, {"tool": "Bash", "ask": False, "lasts": 600, "input": {"command": "x"}}]
    }
    async with Client(scripted.options(rules)) as client:
        client.prompt("flood")
        await scripted.calls_a_tool()
        async with asyncio.timeout(GUARD):
            await client.interrupt()
        kinds = [type(message).__name__ async for message in _until_result(client)]
        assert kinds.count("Informational") == 5000


async def _until_result(client: Client) -> Any:
    async for message in client.receive():
        yield message
        if type(message).__name__ == "Result":
            return


@pytest.mark.parametrize("lazy", [False, True])
async def test_deltas_are_let_go_first_and_counted_and_everything_else_is_kept_in_order(lazy: bool) -> None:
    """ours: a finished block repeats its deltas"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT, lazy=lazy) as client:
        for round in range(40):
            cli.say(*(delta("x" * 100) for _ in range(20)), note(round))
        await heard_all(cli)
        kept = [message async for message in _taken(client, client.dropped)]
        deltas = [message for message in kept if message.raw.startswith(b'{"type": "stream_event"')]
        assert [number_of(one) for one in kept if b"informational" in one.raw] == list(range(40))
        assert client.dropped > 0 and client.dropped + len(deltas) == 800


async def _taken(client: Client, dropped: int) -> Any:
    left = 1 + 40 + 800 - dropped
    async for message in client.receive():
        yield message
        left -= 1
        if not left:
            return


async def test_reading_pauses_last_of_all_and_goes_on_when_the_reader_returns() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT) as client:
        reader = client.receive()
        await anext(reader)
        for number in range(2000):
            cli.say(note(number))
        await until(lambda: cli.cli.unheard and cli.transport._paused, "the pause")
        unheard = cli.cli.unheard
        held = sum(len(json.dumps(note(number))) + 1 for number in range(2000)) - unheard
        assert LIMIT * HARD < held < LIMIT * HARD * 1.2 and client.dropped == 0
        async with asyncio.timeout(GUARD):
            found = [number_of(await anext(reader)) for _ in range(2000)]
        assert found == list(range(2000)) and cli.cli.unheard == 0


async def test_a_query_that_is_read_late_goes_on_too() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.say(*cli.begin(uuid))
        for number in range(2000):
            cli.say(note(number))
        cli.say(cli.result(uuid))
        await until(lambda: cli.transport._paused, "the pause")
        async with asyncio.timeout(GUARD):
            told = [message async for message in query]
        assert [number_of(one) for one in told if b"informational" in one.raw] == list(range(2000))


async def test_leaving_a_query_that_made_reading_pause_lets_it_go_on() -> None:
    """ours: the interrupt's answer, and whatever else comes, must be heard"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.say(*cli.begin(uuid))
        for number in range(1000):
            cli.say(note(number))
        await until(lambda: cli.transport._paused, "the pause")
        await query.aclose()
        request = await cli.hear()
        cli.succeed(request, {"cancelled": False})
        cli.say(cli.result(uuid))
        await heard_all(cli)
        assert client.dropped > 0 and client.idle


async def test_a_reader_that_left_while_reading_had_paused_leaves_it_to_the_next() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT) as client:
        reader = client.receive()
        await anext(reader)
        for number in range(2000):
            cli.say(note(number))
        await until(lambda: cli.transport._paused, "the pause")
        await reader.aclose()
        assert await notes(client, 2000) == list(range(2000))


async def test_who_only_asks_is_not_stopped_by_what_nobody_reads() -> None:
    """ours: the oldest of it goes, and is counted"""
    cli = PlayedCli()
    async with connected(cli, max_unread=LIMIT) as client:
        for number in range(2000):
            cli.say(note(number))
        await until(lambda: cli.transport._paused, "the pause")
        seen: list[Told] = []
        for _ in range(3):
            query = client.query("go")
            cli.turn(await cli.prompt("go"))
            async with asyncio.timeout(GUARD):
                seen += [message async for message in query]
        await heard_all(cli)
        read = [number_of(one) for one in seen if b"informational" in one.raw]
        left = await notes(client, 2000 - len(read) - (client.dropped - 1))  # the answer to initialize went first
        assert client.dropped > 1 and sorted([*left, *read]) == list(range(client.dropped - 1, 2000))


async def test_a_cli_that_does_not_read_does_not_block_us() -> None:
    """ours: what it does not read waits on our side, in order"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.cli.read_on(False)
        for number in range(50):
            client.prompt(f"{number} " + "x" * 100_000)
        assert cli.transport.unsent > 5_000_000
        cli.say(text("it still speaks"))
        await heard_all(cli)
        cli.cli.read_on()
        assert [(await cli.hear())["message"]["content"].split()[0] for _ in range(50)] == [str(n) for n in range(50)]
        cli.cli.exit(0)
        with pytest.raises(SessionGone):
            async for _ in client.receive():
                pass


@pytest.mark.slow
async def test_a_process_that_does_not_read_does_not_block_us(scripted: ScriptedCli) -> None:
    """ours: the same with a real pipe"""
    async with Client(scripted.options({"hang": [{"text": "so"}, {"fault": "hang"}]}, close_patience=0.2)) as client:
        async for _ in client.query("hang"):
            if client.session_id:
                for _ in range(20):
                    client.prompt("x" * 1_000_000)
                with pytest.raises(Exception, match="no answer within"):
                    await client.control_request("mcp_status", within=0.1)
                break
