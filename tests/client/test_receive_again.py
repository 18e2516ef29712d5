"""``receive`` left and taken up again: the reader that left must not take anything from the one that follows."""

from __future__ import annotations

import asyncio
import json

from ropewalk import Client
from tests.client.played import GUARD, Line, PlayedCli, connected


def note(number: int) -> Line:
    return {"type": "system", "subtype": "informational", "content": str(number), "uuid": f"n{number}"}


async def read_up_to(client: Client, number: int) -> list[int]:
    """Leaves the loop by return, as programs do: what asyncio does about the generator comes later."""
    seen: list[int] = []
    async with asyncio.timeout(GUARD):
        async for message in client.receive():
            if b"informational" in message.raw:
                seen.append(int(json.loads(message.raw)["content"]))
                if seen[-1] == number:
                    return seen
    raise AssertionError(f"the session ended after {seen}")


async def test_a_reader_that_left_with_messages_unread_does_not_cut_off_the_next_one() -> None:
    """ours: asyncio closes the generator that was left in a task of its own, when the next reader waits already"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(note(1), note(2), note(3))
        assert await read_up_to(client, 1) == [1]
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(read_up_to(client, 5))
            for _ in range(10):
                await asyncio.sleep(0)
            cli.say(note(4), note(5))
        assert reading.result() == [2, 3, 4, 5]
