"""Requests of ours: a typed method for each known one, any other by name; each ends once, with the CLI's own words."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ropewalk import Allow, Client, LocalProtocolError, RequestFailed, RequestTimedOut
from ropewalk.client.requests import Requests
from tests.client.played import PlayedCli, connected, init
from tests.client.scripted import VERSIONS, ScriptedCli, until
from tests.demand import demand


@demand("002-02", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_control_request_sends_any_request_and_returns_its_answer(scripted: ScriptedCli, version: str) -> None:
    """seed"""
    async with Client(scripted.options(version=version)) as client:
        assert (await client.control_request("mcp_status"))["mcpServers"] == []
        assert (await client.control_request("set_permission_mode", mode="plan"))["mode"] == "plan"
        assert client.mode == "plan"
    sent = scripted.heard("set_permission_mode")[0]
    assert sent["type"] == "control_request" and sent["request"] == {"subtype": "set_permission_mode", "mode": "plan"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_classic_requests_have_typed_methods_that_work_on_every_version(scripted: ScriptedCli, version: str) -> None:
    """measured: control_all (all versions)"""
    write = {"tool": "Write", "input": {"file_path": "{cwd}/a.txt", "content": "new"}, "run": True}
    rules = {"write": [write, {"text": "written"}]}
    options = scripted.options(rules, version=version, mcp_servers={"srv": _empty_server}, on_question=lambda asked: Allow())
    async with Client(options) as client:
        assert await client.set_permission_mode("acceptEdits") == "acceptEdits" and client.mode == "acceptEdits"
        await client.set_model("opus")
        await client.set_model()
        await client.set_max_thinking_tokens(4000)
        await client.set_max_thinking_tokens(None)
        assert [server["name"] for server in await client.mcp_status()] == ["srv"]
        await client.mcp_toggle("srv", False)
        await client.mcp_toggle("srv", True)
        await client.mcp_reconnect("srv")
        await client.mcp_message("srv", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        changed = await client.mcp_set_servers({"other": {"type": "stdio", "command": "x"}})
        assert "other" in changed["added"]
        assert (await client.interrupt()).get("still_queued", []) == []
        query = client.query("write")
        await query
        dry = await client.rewind_files(query.uuid, dry_run=True)
        assert dry.can_rewind and dry.files_changed and dry.error is None
        assert (await client.rewind_files(query.uuid)).can_rewind
    models = [line["request"]["model"] for line in scripted.heard("set_model")]
    assert models == ["opus", "default"]
    tokens = [line["request"]["max_thinking_tokens"] for line in scripted.heard("set_max_thinking_tokens")]
    assert tokens == [4000, None]
    assert [line["request"].get("dry_run") for line in scripted.heard("rewind_files")] == [True, None]


async def _empty_server(asked: dict[str, Any]) -> dict[str, Any] | None:
    if "id" not in asked:
        return None
    answers: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "e", "version": "1"},
        },
        "tools/list": {"tools": []},
    }
    return {"result": answers.get(asked["method"], {})}


async def test_the_newer_requests_have_typed_methods_too(scripted: ScriptedCli) -> None:
    """measured: control_newer (2.1.326)"""
    async with Client(scripted.options(version="2.1.326")) as client:
        assert "categories" in await client.context_usage()
        await client.rename_session("ropes")
        assert await client.cancel_prompt("9d0c6f3e-1111-4222-8333-444444444444") is False
        assert await client.side_question("and you?")
        await client.apply_flag_settings({"effort": "high"})
        await client.stop_task("b00000000")


def test_every_method_names_its_request_in_the_wires_words() -> None:
    """ours: the table of methods is the table of subtypes"""
    methods = {name for name in vars(Requests) if not name.startswith("_")}
    assert methods >= {
        "apply_flag_settings", "control_request", "mcp_message", "mcp_reconnect", "mcp_set_servers", "mcp_status", "mcp_toggle",
        "rewind_files", "set_max_thinking_tokens", "set_model", "set_permission_mode", "stop_task",
    }  # fmt: skip


async def test_a_request_that_the_cli_refuses_raises_with_its_words_and_code(scripted: ScriptedCli) -> None:
    """measured: error and error_code on 2.1.326"""
    async with Client(scripted.options(version="2.1.326")) as client:
        with pytest.raises(RequestFailed, match="Unsupported control request subtype: read_my_mind") as failed:
            await client.control_request("read_my_mind", now=True)
        assert failed.value.code == "unsupported_request" and failed.value.subtype == "read_my_mind"
        assert not isinstance(failed.value, RequestTimedOut)
        with pytest.raises(RequestFailed) as guarded:
            await client.set_permission_mode("bypassPermissions")
        assert guarded.value.code == "bypass_not_launched" and client.mode == "default"
        assert (await client.query("still here")).result == "You said: still here"


@pytest.mark.slow
async def test_a_request_without_an_answer_ends_at_its_deadline_and_the_session_goes_on(scripted: ScriptedCli) -> None:
    """measured: 2.1.37 says nothing at all to a subtype that it does not know"""
    async with Client(scripted.options(version="2.1.37", request_timeout=0.2)) as client:
        for within in (None, 0.1):
            with pytest.raises(RequestTimedOut, match="read_my_mind: no answer within 0"):
                await client.control_request("read_my_mind", within=within)
        assert (await client.query("still here")).result == "You said: still here"


async def test_late_and_second_answers_are_nobodys() -> None:
    """measured: 2.1.37 answers set_permission_mode twice"""
    cli = PlayedCli(newer=False)
    async with connected(cli) as client:
        with pytest.raises(RequestTimedOut):
            await client.control_request("mcp_status", within=0.01)
        late = await cli.request("mcp_status")
        changing = asyncio.get_running_loop().create_task(client.set_permission_mode("plan"))
        request = await cli.request("set_permission_mode")
        cli.succeed(late, {"mcpServers": ["too late"]})
        cli.succeed(request, {"mode": "plan"})
        cli.succeed(request)
        assert await changing == "plan"
        again = asyncio.get_running_loop().create_task(client.mcp_status())
        cli.succeed(await cli.request("mcp_status"), {"mcpServers": []})
        assert await again == [] and client.mode == "plan"


async def test_a_request_that_is_cancelled_leaves_the_others_alone() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        first = asyncio.get_running_loop().create_task(client.mcp_status())
        second = asyncio.get_running_loop().create_task(client.context_usage())
        one, two = await cli.request("mcp_status"), await cli.request("get_context_usage")
        first.cancel()
        cli.succeed(two, {"tokens": 7})
        cli.succeed(one, {"mcpServers": []})
        assert await second == {"tokens": 7}
        await asyncio.wait([first])
        assert first.cancelled()


@pytest.mark.parametrize("subtype", ["can_use_tool", "hook_callback", "control_cancel_request", "sdk_control_interrupt", ""])
async def test_what_must_not_be_said_raises_before_a_byte_is_written(subtype: str) -> None:
    """measured: a control_cancel_request of ours ends 2.1.37"""
    cli = PlayedCli()
    async with connected(cli) as client:
        with pytest.raises(LocalProtocolError):
            await client.control_request(subtype)
        with pytest.raises(LocalProtocolError, match="no permission mode 'yolo'"):
            await client.set_permission_mode("yolo")
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive"


async def test_the_environment_can_be_changed_where_the_cli_acts_on_it(scripted: ScriptedCli) -> None:
    """measured: 2.1.37 and 2.1.62 do, 2.1.326 takes the line and ignores it (env_and_keepalive)"""
    command = {"tool": "Bash", "run": True, "ask": False, "input": {"command": "echo $COLOUR > colour.txt"}}
    async with Client(scripted.options({"paint": [command]}, version="2.1.62")) as client:
        client.set_environment({"COLOUR": "red"})
        await client.query("paint")
    assert (scripted.project / "colour.txt").read_text() == "red\n"
    cli = PlayedCli()
    async with connected(cli) as newer:
        with pytest.raises(LocalProtocolError, match="start the session with env="):
            newer.set_environment({"COLOUR": "red"})


async def test_interrupt_returns_when_the_turn_has_ended_and_at_once_when_none_runs() -> None:
    """measured: the answer means heard, the result means stopped; harmless when idle"""
    cli = PlayedCli()
    async with connected(cli) as client:
        idle = asyncio.get_running_loop().create_task(client.interrupt())
        cli.succeed(await cli.request("interrupt"), {"still_queued": []})
        assert await idle == {"still_queued": []}
        client.prompt("work")
        uuid = await cli.prompt("work")
        cli.say(*cli.begin(uuid))
        await until(lambda: client.session_id, "init")
        busy = asyncio.get_running_loop().create_task(client.interrupt())
        cli.succeed(await cli.request("interrupt"), {"still_queued": []})
        cli.say({"type": "keep_alive"})
        await until(lambda: not cli.cli.unheard, "the answer")
        assert not busy.done()
        cli.say(cli.result(uuid, subtype="error_during_execution", is_error=True))
        assert await busy == {"still_queued": []}


async def test_an_interrupt_that_ends_no_turn_in_time_says_so() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(init())
        await until(lambda: client.session_id, "init")
        stopping = asyncio.get_running_loop().create_task(client.interrupt(within=0.1))
        cli.succeed(await cli.request("interrupt"))
        with pytest.raises(RequestTimedOut, match="the turn did not end"):
            await stopping
        cli.say(cli.result())


async def test_an_interrupt_of_prompts_that_only_wait_does_not_wait_for_them() -> None:
    """measured: still_queued names prompts that the interrupt did not touch (2.1.326)"""
    cli = PlayedCli()
    async with connected(cli) as client:
        query = client.query("later")
        uuid = await cli.prompt("later")
        stopping = asyncio.get_running_loop().create_task(client.interrupt())
        cli.succeed(await cli.request("interrupt"), {"still_queued": [uuid]})
        assert await stopping == {"still_queued": [uuid]}
        cli.turn(uuid)
        assert (await query).result == "Yes."
