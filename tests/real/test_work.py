"""Work inside turns and beside them on real CLIs: compaction, sub-agents, background tasks, limits, interrupts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ropewalk import Assistant, RequestTimedOut, Result, User
from ropewalk.protocol.content import ToolResultBlock, ToolUseBlock
from ropewalk.protocol.system import CompactBoundary, Init, Status, TaskNotification, TaskProgress, TaskStarted
from ropewalk.protocol.words import why_it_ended
from ropewalk.sim.model import Reply, Rule, reply, tool
from tests.demand import demand
from tests.real.rig import Place, versions
from tests.real.rig_client import Played, Reading, Stage, client_at, run
from tests.real.rig_raw import GUARD
from tests.real.rig_talk import LOOP, command
from tests.real.rig_work import Pipe, told

pytestmark = LOOP
STAGE_OPTIONS = {"allowed_tools": ["Bash", "Task", "Agent"]}


def agent(stage: Stage, background: bool) -> Reply:
    """The model calls a sub-agent."""
    call = {"description": "look around", "prompt": "look there", "subagent_type": "general-purpose"}
    return reply(tool("Agent" if stage.newest else "Task", **call, run_in_background=background))


# -- compaction


def compaction(played: Played) -> list[str | None]:
    """Its steps in order: statuses and the boundary's trigger."""
    steps = [one for one in played.messages if isinstance(one, Status | CompactBoundary)]
    said = [one.status if isinstance(one, Status) else one.compact_metadata.trigger for one in steps]
    return [step for step in said if step != "requesting"]


@demand("001-28", "001-76", "002-33", "002-34", tag="real")
async def test_a_compaction_is_told_step_by_step(stage: Stage) -> None:
    """seeds 001, 002; measured (all): compacting, null, boundary with trigger and tokens; the session goes on under its id."""
    await stage.play("Something to remember.")
    session = stage.client.session_id
    played = await run(stage.client, "/compact")
    assert compaction(played) == ["compacting", None, "manual"]
    (boundary,) = played.of(CompactBoundary)
    assert boundary.compact_metadata.pre_tokens and boundary.compact_metadata.pre_tokens > 100
    assert not played.result.failed and stage.client.idle
    prompt = stage.script("Still here.")
    assert (await stage.play(prompt=prompt)).result.result == "Still here."
    assert stage.client.session_id == session and "The conversation so far, in short." in str(stage.calls(prompt)[0].messages)


@demand("001-28", "001-76", tag="real")
async def test_a_full_context_is_compacted_by_itself(stage: Stage) -> None:
    """seed 001; measured (all): in mid-turn, trigger auto; the turn goes on."""
    window = max(usage.contextWindow or 0 for usage in (await stage.play("Hello.")).result.modelUsage.values())
    await stage.play(reply("Full.", usage={"input_tokens": window - 5000}))
    assert stage.client.context_tokens == window - 5000
    played = await stage.play("After.")
    assert compaction(played) == ["compacting", None, "auto"]
    (boundary,) = played.of(CompactBoundary)
    assert (boundary.compact_metadata.pre_tokens or 0) > window - 6000
    assert not played.result.failed and stage.client.context_tokens < 1000


# -- sub-agents and background work


async def test_a_sub_agent_s_lines_carry_the_call_that_it_belongs_to(stage: Stage) -> None:
    """measured (all): its tools and their results under the id of the agent's call; its answer is that call's result."""
    stage.model.add(Rule([command("echo deep"), reply("I found it.")], kind="agent"))
    played = await stage.play(agent(stage, background=False), "Done.")
    calls = [(one, block) for one in played.of(Assistant) for block in one.content if isinstance(block, ToolUseBlock)]
    (line, call), *inside = calls
    name = call.id
    assert line.parent_tool_use_id is None and {one.parent_tool_use_id for one, _ in inside} == {name}
    results = [one for one in played.of(User) if isinstance(one.content[0], ToolResultBlock)]
    assert [one.parent_tool_use_id for one in results] == [name, None]
    assert "I found it." in stage.model.requests[-1].results[name] and played.result.result == "Done."
    assert not stage.client.tasks


@demand("002-35", "002-36", "002-37", "001-32", tag="real")
@versions("2.1.62", "2.1.326")
async def test_a_background_agent_is_followed_from_start_to_end(stage: Stage) -> None:
    """seeds 001, 002; measured (2.1.62, 2.1.326; 2.1.37 tells nothing): started, progress, notification with usage."""
    stage.model.add(Rule([command("echo deep"), reply("I found it.")], kind="agent"))
    prompt = stage.script(agent(stage, background=True), "Begun.", "Over.")
    messages = (await stage.play(prompt=prompt)).messages
    if not any(isinstance(one, TaskNotification) for one in messages):  # 2.1.62 ends the turn only when the agent is done
        messages += await told(stage.client, lambda one: isinstance(one, TaskNotification))
        messages += await told(stage.client, lambda one: isinstance(one, Result))
    (started,) = [one for one in messages if isinstance(one, TaskStarted)]
    progress = [one for one in messages if isinstance(one, TaskProgress)][-1]
    (ended,) = [one for one in messages if isinstance(one, TaskNotification)]
    assert (started.task_type, started.description) == ("local_agent", "look around") and started.tool_use_id
    assert {started.task_id} == {progress.task_id, ended.task_id}
    assert progress.last_tool_name == "Bash" and progress.description and progress.usage
    assert progress.usage.tool_uses == 1 and progress.usage.total_tokens > 0 and progress.usage.duration_ms >= 0
    assert ended.status == "completed" and ended.summary and ended.usage and ended.usage.tool_uses == 1


@demand("001-32", "002-35", "002-37", tag="real")
@pytest.mark.parametrize("outcome", ["completed", "failed"])
@versions("2.1.62", "2.1.326")
async def test_the_end_of_a_background_command_is_told_with_its_output(stage: Stage, outcome: str) -> None:
    """seeds 001, 002; measured (2.1.62, 2.1.326): at once, and a turn that nobody asked for follows. 2.1.37 tells no start, and
    the end only by chance (with a later prompt: 4 of 12)."""
    pipe = Pipe(stage.place)
    words = command(f"cat {pipe.name}; exit {0 if outcome == 'completed' else 4}", run_in_background=True)
    played = await stage.play(words, "Begun.", "Over.")
    assert played.result.result == "Begun." and stage.client.idle
    await pipe.begun(stage.client)
    (started,) = played.of(TaskStarted)
    assert started.task_type == "local_bash" and started.description and started.tool_use_id
    assert started.task_id in stage.client.tasks
    pipe.end(b"from far away\n")
    messages = await told(stage.client, lambda one: isinstance(one, TaskNotification))
    (*_, unasked) = await told(stage.client, lambda one: isinstance(one, Result))
    assert unasked.prompts == () and stage.client.idle
    (ended,) = [one for one in messages if isinstance(one, TaskNotification)]
    assert (ended.status, bool(ended.summary)) == (outcome, True) and not stage.client.tasks
    assert ended.output_file and "from far away" in Path(ended.output_file).read_text()


@demand("001-32", tag="real")
async def test_a_background_command_is_stopped_on_request(stage: Stage) -> None:
    """seed 001; measured: 2.1.326 tells that it was stopped, 2.1.62 says nothing more of it, 2.1.37 knows no such request."""
    pipe = Pipe(stage.place)
    await stage.play(command(f"cat {pipe.name}", run_in_background=True), "Begun.")
    await pipe.begun(stage.client)
    if stage.version == "2.1.37":
        with pytest.raises(RequestTimedOut):
            await stage.client.stop_task("any", within=0.2)
        pipe.end()
        return
    (task,) = stage.client.tasks
    await stage.client.stop_task(task)
    assert not stage.client.tasks
    async with asyncio.timeout(GUARD):
        while pipe.read:
            await stage.client.mcp_status()
    if stage.newest:
        note = (await told(stage.client, lambda one: isinstance(one, TaskNotification) and one.task_id == task))[-1]
        assert note.status == "stopped"


# -- interrupts and leaving


async def test_an_interrupt_ends_a_turn_whose_command_runs(stage: Stage) -> None:
    """measured (all): the result comes, the next prompt is taken, and the model hears of the interruption."""
    pipe = Pipe(stage.place)
    reading = Reading(stage.client.query(stage.script(command(f"cat {pipe.name}"), "Never.")))
    await reading.until(Assistant)
    await pipe.begun(stage.client)
    await stage.client.interrupt()
    result = await reading.until(Result)
    assert result.interrupted and result.failed and stage.client.idle
    prompt = stage.script("Next.")
    assert (await stage.play(prompt=prompt)).result.result == "Next."
    assert "nterrupt" in str(stage.calls(prompt)[0].messages)


async def test_a_cancelled_query_interrupts_its_turn_and_leaves_the_client_usable(stage: Stage) -> None:
    """ours; measured (all): cancelled while the model is silent, while a command runs, and before the turn began."""
    silent, early = (stage.script(reply("Never.", hold="silent")) for _ in range(2))
    pipe = Pipe(stage.place)

    async def give_up(prompt: str, when: object) -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(run(stage.client, prompt))
            if when is not None:
                await when  # type: ignore[misc]
            else:
                await asyncio.sleep(0)
            task.cancel()

    await give_up(silent, stage.model.asked(lambda asked: silent in asked.prompt))
    await give_up(stage.script(command(f"cat {pipe.name}"), "Never."), pipe.begun(stage.client))
    await give_up(early, None)
    played = await stage.play("Usable.")
    stage.model.release("silent")
    assert played.result.result == "Usable." and played.of(Init) and stage.client.idle


# -- limits

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@demand("001-78", "001-43", "001-26", "002-42", "001-04", tag="real")
async def test_each_limit_ends_the_turn_with_its_own_word(stage: Stage, place: Place, cli_version: str) -> None:
    """seeds 001, 002; measured (all): structured output that fits, five that don't, too many rounds, too much money."""
    limits = {"json_schema": SCHEMA, "max_turns": 7, "max_budget_usd": 1.0, "allowed_tools": ["Bash"]}
    async with client_at(place, cli_version, stage.model, **limits) as client:
        own = Stage(cli_version, stage.model, place, client, stage.counter)
        fits, not_ = reply(tool("StructuredOutput", n=7)), reply(tool("StructuredOutput", n="seven"))
        good = await own.play(fits, "Seven.")
        assert good.result.structured_output == {"n": 7} and not good.result.failed
        await ends_with(own, "error_max_structured_output_retries", *[not_] * 6)
        await ends_with(own, "error_max_turns", *[command("true")] * 9)
        assert (await own.play(fits, "Seven.")).result.structured_output == {"n": 7}  # a fresh count
        reading = Reading(client.query(own.script(reply("Never.", hold="limits"))))
        await reading.until(Init)
        await client.interrupt()
        interrupted = await reading.until(Result)
        assert interrupted.subtype == "error_during_execution" and interrupted.failed and why_it_ended(interrupted)
        dear = reply(tool("Bash", command="true"), usage={"output_tokens": 1_000_000})
        await ends_with(own, "error_max_budget_usd", dear, "Never said.")
        await ends_with(own, "error_max_budget_usd", fits, "Never said.")
        assert client.cost_usd > 1
    stage.model.release("limits")


async def ends_with(stage: Stage, subtype: str, *replies: Reply | str) -> None:
    """A turn that fails so, with the CLI's words (or at least the subtype) and a sentence of ours on what leads to it."""
    result = (await stage.play(*replies)).result
    assert (result.subtype, result.failed) == (subtype, True) and result.reasons
    sentence = why_it_ended(result)
    assert sentence.endswith(".") and subtype not in sentence
