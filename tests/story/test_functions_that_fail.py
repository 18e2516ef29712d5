"""A caller's function that fails in the worst ways: the CLI is told no at once, and reading goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ropewalk import Allow, Client
from tests.client.played import GUARD, PlayedCli


class Boom(BaseException):
    """No Exception: slips past everybody who catches only those."""


class Wordless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it has no words")


def question(request_id: str) -> dict[str, Any]:
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t"}
    return {"type": "control_request", "request_id": request_id, "request": asked}


def plain(error: BaseException) -> Callable[[Any], Any]:
    def decide(_: Any) -> Allow:
        raise error

    return decide


def waiting(error: BaseException) -> Callable[[Any], Any]:
    async def decide(_: Any) -> Allow:
        await asyncio.sleep(0)
        raise error

    return decide


async def connected(cli: PlayedCli, **more: Any) -> Client:
    client = Client(cli.options(**more))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    cli.succeed(await cli.request("initialize"))
    await asyncio.wait_for(connecting, GUARD)
    return client


@pytest.mark.parametrize("way", [plain, waiting])
@pytest.mark.parametrize("error", [Boom(), Wordless(), GeneratorExit()], ids=lambda error: type(error).__name__)
async def test_whatever_a_function_raises_the_question_is_refused(way: Callable[..., Any], error: BaseException) -> None:
    """ours: an exception that is no Exception, or has no words, left the question open and the CLI waiting for ever."""
    cli = PlayedCli()
    client = await connected(cli, on_question=way(error))
    try:
        cli.say(question("one"))
        answer = await cli.answer("one")
        assert answer["subtype"] == "error"
    finally:
        await client.close()


async def test_messages_beside_a_question_are_told_even_when_its_function_breaks() -> None:
    """ours: they came in one piece with the question, and were lost with the exception."""
    cli = PlayedCli()
    client = await connected(cli, on_question=plain(Boom()))
    try:
        cli.say(question("one"), {"type": "nobody_knows_this"})
        async with asyncio.timeout(GUARD):
            async for message in client.receive():
                if b"nobody_knows_this" in message.raw:
                    break
    finally:
        await client.close()


@pytest.mark.slow
async def test_a_callback_that_breaks_costs_no_later_message() -> None:
    """ours"""
    heard: list[bytes] = []

    def hear(message: Any) -> None:
        heard.append(message.raw)
        raise Boom()

    cli = PlayedCli()
    client = await connected(cli, on_message=hear)
    try:
        cli.say({"type": "first"}, {"type": "second"}, question("one"))
        async with asyncio.timeout(GUARD):
            while not any(b'"one"' in raw for raw in heard):
                await asyncio.sleep(0)
        assert [raw for raw in heard if b"first" in raw or b"second" in raw] == [b'{"type": "first"}', b'{"type": "second"}']
    finally:
        await client.close()
