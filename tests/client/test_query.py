"""A query: the messages of the turn that takes its prompt, ended by that turn's own result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ropewalk import Assistant, Client, Init, Query, Result, SessionGone, StreamEvent, TurnFailed
from ropewalk.client.mailbox import Told
from ropewalk.protocol.lazy import LazyMessage
from ropewalk.protocol.versions import RECEIPTS
from tests.client.played import GUARD, PlayedCli, connected, delta, echo, init, result, task_ended, text
from tests.client.scripted import VERSIONS, Gate, ScriptedCli, until
from tests.demand import demand


async def all_of(messages: AsyncIterator[Told] | Query) -> list[Any]:
    async with asyncio.timeout(GUARD):
        return [message async for message in messages]


def words(messages: list[Any]) -> list[str]:
    """What the model said, as finished blocks and results."""
    told = [message.text if isinstance(message, Assistant) else message.result for message in messages if _speaks(message)]
    return [word for word in told if word]


def _speaks(message: Any) -> bool:
    return isinstance(message, Assistant | Result)


@demand("002-01", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_query_yields_the_messages_of_its_turn_until_and_with_the_result(scripted: ScriptedCli, version: str) -> None:
    """seed"""
    async with Client(scripted.options({"2 + 2": [{"text": "Four."}]}, version=version)) as client:
        messages = await all_of(client.query("What is 2 + 2?"))
        assert isinstance(messages[-1], Result) and messages[-1].result == "Four." and not messages[-1].failed
        assert [type(one) for one in messages if isinstance(one, Init | Assistant | Result)] == [Init, Assistant, Result]
        assert any(isinstance(one, StreamEvent) for one in messages)
        assert scripted.heard("user")[0]["message"] == {"role": "user", "content": "What is 2 + 2?"}


async def test_awaiting_a_query_gives_its_result_alone_and_reading_it_first_changes_nothing() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("one")
        cli.turn(await cli.prompt("one"), words="first")
        assert (await query).result == "first"
        query = client.query("two")
        cli.turn(await cli.prompt("two"), words="second")
        await all_of(query)
        assert query.result is not None and await query is query.result and query.result.prompts == (query.uuid,)


@pytest.mark.parametrize("version", VERSIONS)
async def test_queries_one_after_the_other_each_end_with_their_own_result(scripted: ScriptedCli, version: str) -> None:
    """measured: the process goes on after a result (all versions)"""
    async with Client(scripted.options(version=version)) as client:
        for prompt in ("first", "second"):
            query = client.query(prompt)
            reply = await query
            assert reply.result == f"You said: {prompt}" and reply.prompts == (query.uuid,)


async def test_of_another_turn_that_runs_a_query_shows_nothing(scripted: ScriptedCli) -> None:
    """measured: a prompt with priority "later" waits for the end of the turn (queued_priority, 2.1.326)"""
    gate = Gate(scripted.project)
    async with Client(scripted.options({"other": [{"text": "hm"}, gate.step, {"text": "other words"}]})) as client:
        client.prompt("other")
        await scripted.calls_a_tool()
        await until(lambda: RECEIPTS in client.capabilities, "init")
        query = client.query("mine", priority="later")
        await scripted.has_heard(2, "user")
        await gate.open()
        told = await all_of(query)
        assert words(told) == ["You said: mine", "You said: mine"] and told[-1].prompts == (query.uuid,)
        assert await _next_words(client.receive(), 3) == ["hm", "other words", "other words"]


@pytest.mark.parametrize("newer", [True, False], ids=["receipts", "echoes"])
async def test_a_query_behind_another_turn_begins_with_its_own_and_the_other_turn_is_received(newer: bool) -> None:
    """measured: 2.1.37, 2.1.62 (one by one) and 2.1.326 (later)"""
    cli = PlayedCli(newer)
    async with connected(cli) as client:
        client.prompt("other")
        other = await cli.prompt("other")
        cli.say(*cli.begin(other), text("other words"))
        query = client.query("mine")
        mine = await cli.prompt("mine")
        cli.say(text("more of the other"), cli.result(other, words="other end"))
        cli.turn(mine, words="my words")
        assert words(await all_of(query)) == ["my words", "my words"]
        unread = client.receive()
        assert await _next_words(unread, 3) == ["other words", "more of the other", "other end"]


async def _next_words(messages: AsyncIterator[Told], count: int) -> list[str]:
    found: list[str] = []
    async with asyncio.timeout(GUARD):
        async for message in messages:
            found += words([message])
            if len(found) == count:
                return found
    return found


@pytest.mark.parametrize("newer", [True, False], ids=["receipts", "echoes"])
async def test_two_queries_at_once_get_a_turn_each(newer: bool) -> None:
    """measured: two prompts in one write, run one by one (2.1.37, 2.1.62)"""
    cli = PlayedCli(newer)
    async with connected(cli) as client:
        queries = [client.query(word) for word in ("one", "two")]
        uuids = [await cli.prompt(word) for word in ("one", "two")]
        for uuid, word in zip(uuids, ("first", "second"), strict=True):
            cli.turn(uuid, words=word)
        first, second = await asyncio.gather(*(all_of(query) for query in queries))
        assert words(first) == ["first", "first"] and words(second) == ["second", "second"]
        assert [type(one).__name__ for one in second if isinstance(one, Init | Result)] == ["Init", "Result"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_prompt_folded_into_a_running_turn_ends_with_that_turn(scripted: ScriptedCli, version: str) -> None:
    """measured: a prompt that comes while a tool runs gets no result of its own (queued_prompt_during_tool, all versions)"""
    gate = Gate(scripted.project)
    rules = {"first": [gate.step, {"text": "Both."}]}
    async with Client(scripted.options(rules, version=version)) as client:
        one = client.query("first")
        reading = asyncio.get_running_loop().create_task(all_of(one))
        await scripted.calls_a_tool()
        two = client.query("second")
        await scripted.has_heard(2, "user")
        await gate.open()
        folded, whole = await all_of(two), await reading
        assert folded[-1] is whole[-1] and set(folded[-1].prompts) == {one.uuid, two.uuid}
        assert words(folded) == ["Both.", "Both."] and not any(isinstance(one, Init) for one in folded)


async def test_merged_prompts_share_one_turn_and_one_result(scripted: ScriptedCli) -> None:
    """measured: several prompts waiting at a turn's end become one turn (queued_prompts, 2.1.326)"""
    gate = Gate(scripted.project)
    async with Client(scripted.options({"first": [{"text": "One."}, gate.step]}, version="2.1.326")) as client:
        first = client.query("first")
        await scripted.calls_a_tool()
        await until(lambda: RECEIPTS in client.capabilities, "init")
        later = [client.query(word, priority="later") for word in ("a", "b")]
        await scripted.has_heard(3, "user")
        await gate.open()
        assert (await first).prompts == (first.uuid,)
        a, b = await asyncio.gather(*(all_of(query) for query in later))
        assert a[-1] is b[-1] and set(a[-1].prompts) == {query.uuid for query in later}


async def test_prompts_that_wait_run_one_by_one_on_older_clis(scripted: ScriptedCli) -> None:
    """measured: queued_prompts on 2.1.37 and 2.1.62"""
    async with Client(scripted.options(version="2.1.62")) as client:
        queries = [client.query(word) for word in ("a", "b", "c")]
        told = [await query for query in queries]
        assert [one.result for one in told] == ["You said: a", "You said: b", "You said: c"]
        assert [one.prompts for one in told] == [(query.uuid,) for query in queries]


@pytest.mark.parametrize("newer", [True, False], ids=["receipts", "echoes"])
async def test_a_turn_that_nobody_asked_for_is_left_out(newer: bool) -> None:
    """measured: a background task that ends starts a turn by itself, with init and result (2.1.62, 2.1.326)"""
    cli = PlayedCli(newer)
    async with connected(cli) as client:
        query = client.query("mine")
        mine = await cli.prompt("mine")
        cli.say(task_ended(), init(), text("the task is done"), result("the task is done", origin={"kind": "task-notification"}))
        cli.turn(mine, words="my words")
        assert words(await all_of(query)) == ["my words", "my words"]
        assert await _next_words(client.receive(), 2) == ["the task is done", "the task is done"]


async def test_a_turn_without_a_receipt_is_nobodys_where_the_cli_tells_receipts() -> None:
    """measured: 2.1.326 says which prompts a turn takes before its init; a turn may begin for reasons that nothing announces"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("mine")
        mine = await cli.prompt("mine")
        cli.say({"type": "command_lifecycle", "command_uuid": mine, "state": "queued", "uuid": "l"})
        cli.say(init(), text("the alarm rang"), result("the alarm rang", origin={"kind": "scheduled"}))
        cli.turn(mine, words="my words")
        assert words(await all_of(query)) == ["my words", "my words"]


async def test_a_turn_taken_for_ones_own_by_mistake_does_not_cost_the_query_its_real_one() -> None:
    """ours: where the CLI tells nothing, the first turn is taken for the oldest prompt's, until its result says otherwise"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        query = client.query("mine")
        mine = await cli.prompt("mine")
        cli.say(init(), text("the alarm rang"), result("the alarm rang", origin={"kind": "scheduled"}))
        cli.turn(mine, words="my words")
        told = await all_of(query)
        assert words(told)[-2:] == ["my words", "my words"] and [type(one) for one in told].count(Result) == 1


async def test_a_turn_held_back_because_it_may_be_nobodys_is_given_whole_when_its_receipt_comes() -> None:
    """measured: 2.1.62 echoes a prompt after init; a task may have ended just before"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        query = client.query("mine")
        mine = await cli.prompt("mine")
        cli.say(task_ended(), init(), delta("my "), echo(mine), text("my words"), result("my words"))
        told = await all_of(query)
        assert [type(one).__name__ for one in told] == ["Init", "StreamEvent", "User", "Assistant", "Result"]


async def test_a_background_agent_without_a_result_of_its_first_turn_ends_the_query_once() -> None:
    """measured: 2.1.62 gives one result for two inits when a sub-agent runs in the background (subagent_background)"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.say(*cli.begin(uuid), text("started"), task_ended(), init(), text("done"), cli.result(words="done"))
        assert words(await all_of(query)) == ["started", "done", "done"]


async def test_a_local_command_without_a_receipt_still_ends_its_query() -> None:
    """measured: slash_commands on 2.1.37: init, output, result, and no echo of the prompt"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        query = client.query("/cost")
        await cli.prompt("/cost")
        cli.say(init(), echo("not-a-prompt"), result(""))
        told = await all_of(query)
        assert [type(one).__name__ for one in told] == ["Init", "User", "Result"]


async def test_a_prompt_that_was_taken_back_ends_its_query_without_a_result() -> None:
    """measured: cancel_async_message on a queued prompt (cancel_queued, 2.1.326)"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("never mind")
        uuid = await cli.prompt("never mind")
        cancelling = asyncio.get_running_loop().create_task(client.cancel_prompt(uuid))
        request = await cli.request("cancel_async_message")
        cli.say({"type": "command_lifecycle", "command_uuid": uuid, "state": "cancelled", "uuid": "l"})
        cli.succeed(request, {"cancelled": True})
        assert await cancelling is True
        with pytest.raises(TurnFailed, match="withdrawn before a turn took it"):
            await query
        again = client.query("still here")
        cli.turn(await cli.prompt("still here"))
        assert (await again).result == "Yes."


async def test_lazily_typed_queries_end_with_their_result_too(scripted: ScriptedCli) -> None:
    """ours"""
    async with Client(scripted.options({"hi": [{"text": "Hello."}]}, lazy=True)) as client:
        told = await all_of(client.query("hi"))
        assert isinstance(told[-1], Result) and told[-1].result == "Hello."
        lazy = [one.message for one in told if isinstance(one, LazyMessage)]
        assert [one.text for one in lazy if isinstance(one, Assistant)] == ["Hello."]


async def test_a_query_that_is_dropped_unread_is_a_plain_prompt() -> None:
    """ours: nobody awaits it, so its messages are everybody's"""
    cli = PlayedCli()
    async with connected(cli) as client:
        client.query("go")
        cli.turn(await cli.prompt("go"), words="went")
        await until(lambda: not cli.cli.unheard, "the turn")
        assert await _next_words(client.receive(), 2) == ["went", "went"]


async def test_a_query_whose_session_ends_raises_instead_of_ending_quietly() -> None:
    """ours: a result that is missing is never a quiet end"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("go")
        uuid = await cli.prompt("go")
        cli.say(*cli.begin(uuid), text("half"))
        cli.cli.exit(1, ["out of memory"])
        told = []
        with pytest.raises(SessionGone) as gone:
            async for message in query:
                told.append(message)
        assert words(told) == ["half"] and gone.value.exit_code == 1 and gone.value.stderr == ("out of memory",)


@pytest.mark.parametrize("version", ["2.1.62", "2.1.326"])
async def test_background_work_that_ends_runs_a_turn_of_its_own_beside_the_queries(scripted: ScriptedCli, version: str) -> None:
    """measured: bash_background; 2.1.37 says nothing at all when it ends"""
    gate = Gate(scripted.project)
    beside = {**gate.step, "input": {**gate.step["input"], "run_in_background": True}, "then": [{"text": "The work is done."}]}
    async with Client(scripted.options({"start": [beside, {"text": "Started."}]}, version=version)) as client:
        assert (await client.query("start")).result == "Started." and len(client.tasks) == 1
        await gate.open()
        async with asyncio.timeout(GUARD):
            async for message in client.receive():
                if isinstance(message, Result) and message.result == "The work is done.":
                    assert message.prompts == () and client.tasks == {}
                    break
        query = client.query("and now?")
        assert words(await all_of(query)) == ["You said: and now?"] * 2
