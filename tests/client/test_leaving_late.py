"""Leaving a query on CLIs that echo a prompt only when the model has spoken: its turn is known from its beginning."""

from __future__ import annotations

from tests.client.played import PlayedCli, connected, echo, init, task_ended


async def test_a_prompt_that_was_left_is_interrupted_when_its_turn_begins_though_no_receipt_came() -> None:
    """measured (2.1.37, 2.1.62): the echo comes with the first finished block; an interrupt then would hit the next turn"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        first, left, following = client.query("first"), client.query("left"), client.query("next")
        uuids = [await cli.prompt(words) for words in ("first", "left", "next")]
        cli.say(*cli.begin(uuids[0]))
        await left.aclose()
        cli.say(cli.result())
        assert (await first).prompts == (uuids[0],)
        cli.say(init())
        cli.succeed(await cli.request("interrupt"))
        cli.say(echo(uuids[1]), cli.result(words=""))
        cli.turn(uuids[2], words="next words")
        assert (await following).result == "next words"
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive"  # and no second interrupt


async def test_a_turn_that_nobody_asked_for_is_not_taken_for_the_one_that_was_left() -> None:
    """measured (2.1.62): a background task's end starts a turn of its own, before prompts that wait"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        first, left = client.query("first"), client.query("left")
        uuids = [await cli.prompt(words) for words in ("first", "left")]
        cli.say(*cli.begin(uuids[0]))
        await left.aclose()
        cli.say(task_ended(), cli.result())
        assert (await first).prompts == (uuids[0],)
        cli.say(init())
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive"
        cli.say(cli.result(), init())
        cli.succeed(await cli.request("interrupt"))
        cli.say(echo(uuids[1]), cli.result(words=""))


async def test_on_2_1_37_the_end_of_a_task_belongs_to_the_turn_of_the_next_prompt() -> None:
    """measured (2.1.37): it begins no turn by itself, so a prompt without a receipt (a local command) is not left waiting"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        first = client.query("first")
        cli.say(init(claude_code_version="2.1.37"), echo(await cli.prompt("first")), cli.result())
        await first
        query = client.query("/cost")
        uuid = await cli.prompt("/cost")
        cli.say(task_ended(), init(), cli.result(words="0.00"))
        seen = [type(message).__name__ async for message in query]
        assert seen == ["TaskNotification", "Init", "Result"] and query.result is not None and query.result.prompts == (uuid,)
