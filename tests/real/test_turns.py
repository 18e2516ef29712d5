"""Turns through our Client on real CLIs: what is told, in which order, with what in it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from ropewalk import Assistant, Client, ClientOptions, Init, Result, StreamEvent, User, image, text
from ropewalk.client.options import flags
from ropewalk.protocol import content, stream
from ropewalk.protocol.control import ControlRequest
from ropewalk.protocol.messages import CommandLifecycle, KeepAlive
from ropewalk.protocol.system import OtherSystem, Status, UnknownSystem
from ropewalk.sim.model import reply, thinking, tool
from ropewalk.transports.flags import STREAM_FLAGS
from tests.demand import demand
from tests.real.rig import Place
from tests.real.rig_client import Stage, run
from tests.real.rig_talk import LOOP, command

pytestmark = LOOP

PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
"""The smallest picture."""


@demand("002-48", "000-01", "000-11", "000-14", "000-15", "000-20", tag="real")
@demand("002-10", "002-18", "003-03", "004-28", tag="real")
async def test_the_usual_course_passes_as_one_story(stage: Stage) -> None:
    """seed 002, measured (all): prompt, init, assistant, question, allow, tool result, assistant, result; no terminal."""
    played = await stage.play(reply("I make it.", tool("Bash", command="touch story.txt", description="make a file")), "Made.")
    kinds = [type(one) for one in played.messages if isinstance(one, Init | Assistant | ControlRequest | Result)]
    assert kinds == [Init, Assistant, Assistant, ControlRequest, Assistant, Result]
    (asked,) = played.questions
    assert (asked.tool_name, asked.input["command"]) == ("Bash", "touch story.txt")
    call = next(block for one in played.of(Assistant) for block in one.content if isinstance(block, content.ToolUseBlock))
    assert asked.asked.tool_use_id == call.id and asked.request_id
    (told,) = [block for one in played.of(User) for block in one.content if isinstance(block, content.ToolResultBlock)]
    assert told.tool_use_id == call.id and not told.is_error
    assert played.result.result == "Made." and not played.result.failed
    assert stage.made("story.txt")
    assert call.id in stage.model.requests[-1].results


@demand("000-06", "000-08", "000-09", "001-21", "002-32", "004-08", "002-51", tag="real")
async def test_init_tells_where_and_as_what_the_turn_runs(stage: Stage, cli_version: str) -> None:
    """seeds 000, 001, 002, 004; measured (all): at the start of every turn, with the model that really runs."""
    played = await stage.play("Hello.")
    (init,) = played.of(Init)
    client = stage.client
    assert init.session_id == client.session_id and init.session_id
    assert init.cwd == str(stage.place.project)
    assert init.model == client.model == stage.calls("scene")[-1].model
    assert (init.permissionMode, client.mode) == ("default", "default")
    assert {"Bash", "Read"} <= set(init.tool_names) and isinstance(init.mcp_servers, list)
    assert init.claude_code_version == cli_version and client.version == tuple(map(int, cli_version.split(".")))
    assert init.apiKeySource == "ANTHROPIC_API_KEY" and init.output_style == "default"
    assert init.slash_commands and init.agents and init.uuid
    assert isinstance(init.skills, list) and all(plugin.name for plugin in init.plugins)


@demand("000-10", "000-13", "001-22", "002-40", "002-06", "000-40", tag="real")
async def test_each_block_comes_whole_and_in_order(stage: Stage) -> None:
    """seeds 000, 001, 002; measured (all): one block a line under one message id; thinking, words, tool call."""
    said = reply(thinking("Hm."), "First.", tool("Bash", command="true", description="nothing"))
    played = await stage.play(said, "Last.")
    lines = played.of(Assistant)
    kinds = [type(block) for line in lines for block in line.content]
    assert kinds == [content.ThinkingBlock, content.TextBlock, content.ToolUseBlock, content.TextBlock]
    assert len({line.message.id for line in lines[:3]}) == 1
    assert all(line.message.model and line.uuid and line.parent_tool_use_id is None for line in lines)
    usage = lines[0].message.usage
    assert usage and usage.input_tokens == 100 and usage.output_tokens and usage.cache_read_input_tokens == 0
    assert b'"stop_reason":null' in lines[0].raw
    assert played.result.usage and played.result.usage.service_tier == "standard"
    assert set(played.result.usage.cache_creation or ()) == {"ephemeral_1h_input_tokens", "ephemeral_5m_input_tokens"}


@demand("000-16", tag="real")
async def test_deltas_come_live_and_make_up_the_finished_block(stage: Stage) -> None:
    """seed 000; measured (all): because partial messages are asked for."""
    played = await stage.play("One two three four five.")
    deltas = [one.event.delta for one in played.of(StreamEvent) if isinstance(one.event, stream.ContentBlockDelta)]
    assert len(deltas) > 1
    assert "".join(delta.text for delta in deltas if isinstance(delta, stream.TextDelta)) == "One two three four five."


@demand("000-27", "001-25", "002-41", tag="real")
async def test_a_result_tells_time_cost_tokens_and_denials(stage: Stage) -> None:
    """seeds 000, 001, 002; measured (all). The cost of a turn is the difference of totals."""
    await stage.play("Warm up.")
    before = stage.client.cost_usd
    played = await stage.play("Hello.")
    result = played.result
    assert result.duration_ms and result.duration_api_ms is not None and result.num_turns == 1
    assert result.usage and result.usage.input_tokens == 100 and result.usage.output_tokens > 0
    assert (result.usage.cache_read_input_tokens, result.usage.cache_creation_input_tokens) == (0, 0)
    (used,) = [usage for name, usage in result.modelUsage.items() if name == stage.client.model]
    assert used.costUSD and used.contextWindow and used.maxOutputTokens and used.webSearchRequests == 0
    assert result.cost_usd > 0 and stage.client.cost_usd == pytest.approx(before + result.cost_usd)
    assert result.total_cost_usd and result.total_cost_usd >= result.cost_usd
    assert result.permission_denials == [] and stage.client.context_tokens == 100
    assert result.stop_reason == ("end_turn" if stage.newest else None)


@demand("000-39", "001-71", "001-84", "000-41", tag="real")
async def test_prompts_go_on_in_the_same_process_and_early_ones_are_kept(stage: Stage) -> None:
    """seeds 000, 001; measured (all): 2.1.326 merges what waits at a turn's end into one turn, older ones run one by one."""
    pid = stage.client.pid
    first, second, third = stage.script(reply("One.", hold="early")), stage.script("Two."), stage.script("Three.")
    queries = [stage.client.query(prompt) for prompt in (first, second, third)]
    await stage.model.asked(lambda asked: first in asked.prompt)
    stage.model.release("early")
    results = [await one for one in queries]
    assert [query.uuid in result.prompts for query, result in zip(queries, results, strict=True)] == [True, True, True]
    assert len({result.uuid for result in results}) == (2 if stage.newest else 3)
    assert stage.client.pid == pid and stage.client.idle
    assert [prompt for call in stage.calls(third) for prompt in call.prompts if prompt.startswith("scene")]


@demand("001-38", "001-39", "002-39", tag="real")
async def test_a_prompt_sent_twice_is_taken_once_and_its_echo_is_the_receipt(stage: Stage) -> None:
    """seed 001; measured (all): the uuid makes it so."""
    prompt = stage.script("Once.")
    query = stage.client.query(prompt)
    first = [message async for message in query]
    echoes = [one for one in first if isinstance(one, User) and one.isReplay]
    assert [one.uuid for one in echoes] == [query.uuid]
    stage.client.prompt(prompt, uuid=query.uuid)
    await stage.play("Something else.")
    assert [call.prompt for call in stage.calls(prompt)].count(prompt) == 1
    if stage.newest:
        states = [one.state for one in first if isinstance(one, CommandLifecycle)]
        assert states[:2] == ["queued", "started"]


@demand("002-07", "002-06", "000-40", "003-09", tag="real")
async def test_words_and_pictures_reach_the_model(stage: Stage) -> None:
    """seed 002; measured (all): base64 with its media type is in the model's request."""
    prompt = stage.script("I see.")
    played = await run(stage.client, [text(prompt), image(PIXEL)])
    assert played.result.result == "I see."
    (call,) = stage.calls(prompt)
    source = call.images[0]["source"]
    assert source["media_type"] == "image/png" and source["type"] == "base64" and source["data"]


@demand("004-02", "000-03", tag="real")
async def test_a_prompt_that_begins_with_a_dash_is_a_prompt(stage: Stage) -> None:
    """seed 004: never a flag, since prompts are lines."""
    prompt = f"--help -p {stage.script('Still here.')}"
    assert (await run(stage.client, prompt)).result.result == "Still here."
    assert prompt in stage.calls(prompt)[0].prompt


@demand("001-40", "001-14", "003-09", tag="real")
async def test_keep_alive_is_swallowed(stage: Stage) -> None:
    """seeds 001, 003; measured (all)."""
    stage.client.keep_alive()
    played = await stage.play("Here.")
    assert played.result.result == "Here." and not played.of(KeepAlive)


@demand("001-37", tag="real")
async def test_types_that_others_hide_are_told_with_their_raw_line(stage: Stage) -> None:
    """seed 001: control lines, status lines and strangers alike; nothing is unknown by accident."""
    played = await stage.play(command("touch hidden.txt"), "Done.")
    assert all(one.raw.startswith(b"{") for one in played.messages)
    assert played.of(ControlRequest)
    assert not [one for one in played.messages if isinstance(one, UnknownSystem | OtherSystem)]
    assert bool(played.of(Status)) == stage.newest


@demand("001-86", tag="real")
async def test_a_turn_that_is_cut_off_or_fails_says_so_and_the_session_lives(stage: Stage) -> None:
    """seeds 000, 001; measured (all): an API failure is an assistant line with an error, then a result with is_error."""
    failing = await stage.play(reply(error=401), reply(error=401), reply(error=401), reply(error=401))
    assert failing.result.failed and failing.result.subtype == "success"
    assert failing.of(Assistant)[-1].error == "authentication_failed"
    assert failing.result.reasons
    assert (await stage.play("Alive.")).result.result == "Alive."


def words_of(path: Path) -> list[str]:
    return path.read_bytes().decode().rstrip("\0").split("\0")


@demand("000-02", "003-01", "004-01", "004-03", "001-05", "001-12", "001-13", "004-30", tag="real")
async def test_the_launch_line_has_the_flags_and_no_prompt(stage: Stage) -> None:
    """seeds 000, 001, 003, 004: visible in the process itself; initialize is answered before any prompt, by nobody's hand."""
    assert stage.client.initialize_response["commands"]
    argv = list(stage.client.argv)
    for flag in (*STREAM_FLAGS, "--include-partial-messages", "--permission-mode=default"):
        assert flag in argv, flag
    if stage.newest:  # older ones are node, and take over what the system shows as their words
        assert words_of(Path(f"/proc/{stage.client.pid}/cmdline"))[1:] == argv[-len(flags(stage.client.options)) :]
    assert not [word for word in argv if "scene" in word]


@demand("001-89", "004-05", tag="real")
async def test_the_child_sees_no_key_and_nothing_of_a_cli_around_us(
    stage: Stage, place: Place, cli_version: str, monkeypatch: Any
) -> None:
    """seeds 001, 004: a person's own login is used; a key is handed on only where API billing was asked for."""
    for name in ("ANTHROPIC_API_KEY", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "ROPEWALK_TOKEN", "SOME_SECRET"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("HOME", str(place.home))
    monkeypatch.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", stage.model.url)
    for billing in (False, True):
        async with Client(ClientOptions(cli=place.argv(cli_version), cwd=place.project, api_billing=billing)) as client:
            names = {pair.split("=")[0] for pair in words_of(Path(f"/proc/{client.pid}/environ"))}
            leaked = {"CLAUDECODE", "ROPEWALK_TOKEN", "SOME_SECRET", "CLAUDE_CODE_ENTRYPOINT"} & names
            assert not leaked and "ROPEWALK_PROCESS" in names
            assert ("ANTHROPIC_API_KEY" in names) == billing


@demand("002-50", "004-32", tag="real")
async def test_large_lines_pass_both_ways_while_a_slow_answer_waits(stage: Stage) -> None:
    """seeds 002, 004; measured (all): ten megabytes out over plain pipes. The last here: older CLIs compact after it."""
    words = "x" * 10_000_000
    prompt = stage.script(command("touch large.txt"), reply(words, chunk=1_000_000))
    played = await run(stage.client, f"{'y' * 300_000} {prompt}")
    whole = played.result.result == words  # compared here, so that a failure does not print ten megabytes
    assert whole, f"{len(played.result.result or '')} characters"
    assert stage.made("large.txt")
    assert max(len(one.raw) for one in played.messages) > 10_000_000
