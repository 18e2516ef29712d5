"""Requests of ours to real CLIs through our Client: what each is answered with, and what it changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropewalk import Allow, LocalProtocolError, RequestFailed, RequestTimedOut, Result
from ropewalk.client.probe import NO_SUCH, PROBES, probe
from ropewalk.protocol.messages import ConversationReset
from ropewalk.protocol.system import Init
from ropewalk.sim.model import Rule, reply, tool
from tests.demand import demand
from tests.real.rig_client import Reading, Stage, run
from tests.real.rig_talk import LOOP, command, touch

pytestmark = LOOP

FINDER = {"description": "Finds what is lost.", "prompt": "You are a finder of lost things.", "tools": ["Read"]}
STAGE_OPTIONS = {
    "system_prompt": "You are a bird in the rigging.",
    "append_system_prompt": "Sing when the work is done.",
    "agents": {"finder": FINDER},
    "initialize": {"protocolVersion": "1.0", "features": {"toolApproval": True}},
}


@demand("001-43", "001-79", "002-09", tag="real")
async def test_what_initialize_was_given_takes_effect_and_its_answer_is_kept(stage: Stage) -> None:
    """seeds 001, 002; measured (all): both prompts and the agent are in the model's request; unknown fields do no harm."""
    told = stage.client.initialize_response
    assert all(one["name"] for one in told["commands"]) and {"value", "displayName"} <= set(told["models"][0])
    assert told["account"]["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert told["output_style"] == "default" and "default" in told["available_output_styles"]
    assert ("fast_mode_state" in told, bool(stage.client.capabilities)) == (stage.newest, stage.newest)
    prompt = stage.script("Hello.")
    played = await stage.play(prompt=prompt)
    system = stage.calls(prompt)[0].system
    assert "You are a bird in the rigging." in system and "Sing when the work is done." in system
    assert "finder" in played.of(Init)[0].agents and "Finds what is lost." in str(stage.calls(prompt)[0].body)


@demand("001-79", tag="real")
async def test_an_agent_of_ours_works_with_its_own_prompt_and_tools(stage: Stage) -> None:
    """seed 001; measured (all)."""
    stage.model.add(Rule([reply("It was in the box.")], kind="agent"))
    call = {"description": "find it", "prompt": "Where is it?", "subagent_type": "finder"}
    name, more = ("Agent", {"run_in_background": False}) if stage.newest else ("Task", {})
    await stage.play(reply(tool(name, **call, **more)), "Found.")
    (asked,) = [asked for asked in stage.model.requests if asked.kind == "agent"]
    assert "You are a finder of lost things." in asked.system and "Read" in asked.tools and "Bash" not in asked.tools
    assert "It was in the box." in str(stage.model.requests[-1].results)


@demand("001-44", tag="real")
async def test_a_second_initialize_does_no_harm(stage: Stage) -> None:
    """seed 001; measured: refused in words by 2.1.37 and 2.1.62, answered in full by 2.1.326; the open question stays one."""
    reading = Reading(stage.client.query(stage.script(touch("again.txt"), "Done.")))
    question = await reading.question()
    if stage.newest:
        assert (await stage.client.control_request("initialize"))["commands"]
    else:
        with pytest.raises(RequestFailed, match="Already initialized"):
            await stage.client.control_request("initialize")
    assert [one.request_id for one in stage.client.questions] == [question.request_id]
    assert stage.client.initialize_response["models"]
    await stage.client.control_response(question.request_id, Allow())
    await reading.until(Result)
    assert stage.made("again.txt")


@demand("001-50", "004-04", tag="real")
async def test_the_model_changes_and_goes_back_to_the_default(stage: Stage) -> None:
    """seeds 001, 004; measured (all): from the next call on; no name is checked; init tells what really runs."""
    usual = (await stage.play("Hello.")).of(Init)[0].model
    for name in ("haiku", "opus", "sonnet", "claude-of-our-own", "default", None):
        await stage.client.set_model(name)
        prompt = stage.script("Hello.")
        (init,) = (await stage.play(prompt=prompt)).of(Init)
        assert init.model == stage.client.model == stage.calls(prompt)[0].model
        assert (init.model == usual) if name in ("default", None) else (str(name) in str(init.model))


@demand("001-51", tag="real")
async def test_a_thinking_budget_is_taken_as_a_number_and_as_null(stage: Stage) -> None:
    """seed 001; measured: 2.1.37 sends the number on, 2.1.62 only whether, 2.1.326 asks for the same whatever is set."""
    seen = []
    for budget in (4000, 0, None):
        await stage.client.set_max_thinking_tokens(budget)
        prompt = stage.script("Hm.")
        await stage.play(prompt=prompt)
        seen.append(stage.calls(prompt)[0].thinking)
    kinds = [thinking["type"] if thinking else None for thinking in seen]
    expected = {"2.1.37": ["enabled", None, None], "2.1.62": ["adaptive", None, "adaptive"]}
    assert kinds == expected.get(stage.version, ["adaptive"] * 3)
    assert stage.version != "2.1.37" or (seen[0] and seen[0]["budget_tokens"] == 4000)


@demand("001-41", "003-54", "003-09", tag="real")
async def test_new_variables_reach_later_tools_where_the_cli_takes_them(stage: Stage) -> None:
    """seeds 001, 003; measured: 2.1.37 and 2.1.62 hand them on; 2.1.326 would ignore them, so we refuse in words."""
    if stage.newest:
        with pytest.raises(LocalProtocolError, match="start the session with env="):
            stage.client.set_environment({"WORD": "heard"})
    else:
        stage.client.set_environment({"WORD": "heard"})
    await stage.play(command("echo =$WORD="), "Done.")
    assert list(stage.model.requests[-1].results.values())[-1] == ("==" if stage.newest else "=heard=")


@demand("001-57", tag="real")
async def test_files_are_put_back_after_a_dry_run_that_tells_what_would_change(stage: Stage) -> None:
    """seed 001; measured (all): the prompt's uuid names the point; files are listed by path."""
    kept = stage.place.project / "kept.txt"
    query = stage.client.query(stage.script(reply(tool("Write", file_path=str(kept), content="one\ntwo\n")), "Done."))
    reading = Reading(query)
    await stage.client.control_response((await reading.question()).request_id, Allow())
    await reading.until(Result)
    dry = await stage.client.rewind_files(query.uuid, dry_run=True)
    assert dry.can_rewind and [Path(path).name for path in dry.files_changed] == ["kept.txt"]
    assert (dry.insertions, dry.deletions) != (0, 0) and kept.exists()
    done = await stage.client.rewind_files(query.uuid)
    assert done.can_rewind and not kept.exists()
    with pytest.raises(RequestFailed):
        await stage.client.rewind_files("00000000-0000-4000-8000-000000000000")


async def test_a_request_that_a_cli_does_not_know_ends_in_words_or_at_its_deadline(stage: Stage) -> None:
    """measured: 2.1.37 never answers, 2.1.62 and 2.1.326 say no; the session lives."""
    if stage.version == "2.1.37":
        with pytest.raises(RequestTimedOut, match="no answer within"):
            await stage.client.control_request("sing_a_song", within=0.2)
    else:
        with pytest.raises(RequestFailed) as refused:
            await stage.client.control_request("sing_a_song")
        assert not isinstance(refused.value, RequestTimedOut)
        assert refused.value.code == ("unsupported_request" if stage.newest else None)
    assert (await stage.play("Alive.")).result.result == "Alive."


SINCE_62 = {"stop_task", "apply_flag_settings"}
CLASSIC = {name for name in PROBES if name.startswith(("interrupt", "set_", "mcp_", "rewind_"))}


@demand("003-56", tag="real")
async def test_the_probe_tells_what_this_version_knows_and_changes_nothing(stage: Stage) -> None:
    """seed 003; measured: what a new CLI forgets or learns shows here. No model is called, mode and session stay."""
    calls, session = len(stage.model.requests), stage.client.session_id
    told = {one.subtype: one.knows for one in await probe(stage.client)}
    unknown = "silent" if stage.version == "2.1.37" else "no"
    known = set(PROBES) - {NO_SUCH} if stage.newest else CLASSIC | (SINCE_62 if stage.version == "2.1.62" else set())
    assert told == {name: "yes" if name in known else unknown for name in PROBES}
    assert len(stage.model.requests) == calls and stage.client.session_id == session and stage.client.idle
    assert (await stage.play("Unharmed.")).result.result == "Unharmed." and stage.client.mode == "default"


async def test_requests_are_answered_while_a_turn_runs(stage: Stage) -> None:
    """measured (all): also while the model has not said a word; an interrupt then ends the turn."""
    prompt = stage.script(reply("Late.", hold="mid-turn"))
    reading = Reading(stage.client.query(prompt))
    await stage.model.asked(lambda asked: prompt in asked.prompt)
    assert isinstance(await stage.client.mcp_status(), list)
    assert await stage.client.set_permission_mode("acceptEdits") == "acceptEdits"
    await stage.client.set_model("haiku")
    await stage.client.interrupt()
    assert (await reading.until(Result)).interrupted and stage.client.idle
    stage.model.release("mid-turn")
    await stage.client.set_model(None)


async def test_newer_requests_have_methods_of_their_own(stage: Stage) -> None:
    """measured (2.1.326); an error or silence before it."""
    client = stage.client
    if not stage.newest:
        with pytest.raises(RequestFailed):
            await client.control_request("get_context_usage", within=0.2 if stage.version == "2.1.37" else None)
        return
    assert (await client.context_usage())["categories"]
    stage.model.add(Rule([reply("Aside.")], when="beside the point"))
    assert "Aside." in await client.side_question("beside the point?")
    await client.rename_session("of ropes")
    first, second = stage.script(reply("One.", hold="queue")), stage.script("Never.")
    running = client.query(first)
    await stage.model.asked(lambda asked: first in asked.prompt)
    waiting = client.query(second)
    assert await client.cancel_prompt(waiting.uuid)
    stage.model.release("queue")
    assert (await running).result == "One."
    assert [message async for message in waiting if isinstance(message, Result)] == [] and not stage.calls(second)


@demand("001-70", tag="real")
async def test_clear_begins_a_new_conversation_and_the_client_follows(stage: Stage) -> None:
    """seed 001; measured: 2.1.326 changes the session id in mid-process and counts its cost anew; older ones don't know it."""
    before = await stage.play("Remember the turtle.")
    old, spent = stage.client.session_id, stage.client.cost_usd
    assert before.result.session_id == old and spent > 0
    cleared = await run(stage.client, "/clear")
    prompt = stage.script("A fresh start.")
    after = await stage.play(prompt=prompt)
    named = {message.session_id for message in after.messages if message.session_id}
    assert named == {stage.client.session_id} and after.result.cost_usd > 0
    assert stage.client.cost_usd == pytest.approx(spent + cleared.result.cost_usd + after.result.cost_usd)
    if stage.newest:
        (reset,) = cleared.of(ConversationReset)  # its new_conversation_id is not the id of the session: that comes with init
        assert stage.client.session_id not in (old, reset.new_conversation_id) and reset.trigger == "clear"
        assert "Remember the turtle." not in str(stage.calls(prompt)[0].messages)
        assert after.result.total_cost_usd == pytest.approx(after.result.cost_usd)
    else:
        assert stage.client.session_id == old and "clear" in str(cleared.result.result)
        assert "Remember the turtle." in str(stage.calls(prompt)[0].messages)
