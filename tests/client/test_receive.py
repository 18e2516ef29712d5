"""``receive``: everything that the CLI says, once and in order, for as many readers as there are."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from ropewalk import Client, SessionGone
from ropewalk.client.mailbox import Told
from ropewalk.protocol.messages import Garbage, Unknown
from tests.client.played import GUARD, Line, PlayedCli, connected, delta, init, question, result, text
from tests.client.scripted import ScriptedCli
from tests.demand import demand


def note(number: int) -> Line:
    return {"type": "system", "subtype": "informational", "content": str(number), "uuid": f"n{number}"}


async def take(messages: AsyncIterator[Told], count: int) -> list[Told]:
    async with asyncio.timeout(GUARD):
        return [await anext(messages) for _ in range(count)]


def numbers(messages: list[Told]) -> list[int]:
    return [int(json.loads(message.raw)["content"]) for message in messages]


@demand("002-04", tag="lib")
async def test_every_kind_of_line_comes_out_of_receive_in_order_and_with_its_raw_bytes() -> None:
    """seed; unknown kinds and lines that are no JSON too"""
    cli = PlayedCli()
    lines: list[Line] = [
        init(),
        text("words"),
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}},
        delta("wo"),
        question("q1"),
        {"type": "control_cancel_request", "request_id": "q1"},
        {"type": "keep_alive"},
        {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
        {"type": "tool_progress", "tool_use_id": "t", "tool_name": "Bash", "elapsed_time_seconds": 2},
        {"type": "system", "subtype": "status", "status": "compacting"},
        {"type": "from_the_future", "hologram": 1},
        result(),
    ]
    async with connected(cli) as client:
        messages = client.receive()
        await take(messages, 1)  # the answer to initialize
        cli.say(*lines)
        cli.cli.say(b"not JSON at all\n")
        told = await take(messages, len(lines) + 1)
        assert [json.loads(one.raw) for one in told[:-1]] == lines
        assert [type(one).__name__ for one in told[:5]] == ["Init", "Assistant", "User", "StreamEvent", "ControlRequest"]
        assert isinstance(told[-3], Unknown) and isinstance(told[-1], Garbage) and told[-1].raw == b"not JSON at all"


async def test_a_receiver_begins_with_what_nobody_has_read() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(note(1), note(2))
        cli.say(note(3))
        first = client.receive()
        assert numbers((await take(first, 4))[1:]) == [1, 2, 3]
        await first.aclose()
        cli.say(note(4))
        assert numbers(await take(client.receive(), 1)) == [4]


async def test_what_a_receiver_left_unread_is_the_next_ones() -> None:
    """ours: however it was left, and at once, before the loop has had time to close anything"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(*(note(number) for number in range(9)))
        seen: list[Told] = []
        async for message in client.receive():
            seen.append(message)
            if len(seen) == 3:
                break
        async with aclosing(client.receive()) as messages:
            seen += await take(messages, 3)
        client.receive()  # never iterated: it takes nothing away
        with pytest.raises(ZeroDivisionError):
            async for message in client.receive():
                seen.append(message)
                raise ZeroDivisionError
        seen += await take(client.receive(), 3)
        assert numbers(seen[1:]) == list(range(9))


async def test_several_receivers_each_get_everything_from_their_own_beginning_on() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        first = client.receive()
        await take(first, 1)
        cli.say(note(1))
        await take(first, 1)
        second = client.receive()
        waiting = asyncio.get_running_loop().create_task(take(second, 2))
        await asyncio.sleep(0)  # it has begun to wait
        cli.say(note(2), note(3))
        assert numbers(await take(first, 2)) == [2, 3] and numbers(await waiting) == [2, 3]
        await first.aclose()
        cli.say(note(4))
        assert numbers(await take(second, 1)) == [4]


async def test_a_receiver_hears_what_a_query_reads_too() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        messages = client.receive()
        await take(messages, 1)  # the answer to initialize
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.turn(uuid)
        told = [message async for message in query]
        assert [one.raw for one in await take(messages, len(told))] == [one.raw for one in told]


async def test_what_a_query_left_unread_is_received() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.say(*cli.begin(uuid), text("one"), text("two"))
        async for message in query:
            if type(message).__name__ == "Init":
                break
        kinds = [type(message).__name__ for message in await take(client.receive(), 4)]
        assert kinds == ["ControlResponse", "User", "Assistant", "Assistant"]
        cli.succeed(await cli.request("interrupt"))
        cli.say(cli.result(uuid))


async def test_receive_ends_quietly_when_the_end_was_asked_for_and_with_the_reason_when_not() -> None:
    """ours"""
    asked, died = PlayedCli(), PlayedCli()
    async with connected(asked) as client:
        asked.say(note(1))
        messages = client.receive()
        await take(messages, 2)
        await client.close()
        assert [message async for message in messages] == []
    async with connected(died) as client:
        died.say(note(1))
        died.cli.exit(9, ["last words"])
        messages = client.receive()
        assert numbers((await take(messages, 2))[1:]) == [1]
        with pytest.raises(SessionGone, match="last words") as gone:
            await anext(messages)
        assert gone.value.exit_code == 9
        with pytest.raises(SessionGone):
            await anext(client.receive())


async def test_what_came_before_the_end_can_be_read_after_it(scripted: ScriptedCli) -> None:
    """ours"""
    async with Client(scripted.options({"go": [{"text": "done"}]})) as client:
        client.prompt("go")
        await scripted.has_heard(1, "user")
    kinds = [type(message).__name__ async for message in client.receive()]
    assert kinds[0] == "ControlResponse" and "Result" in kinds
