"""MCP servers that live in our process: of the official SDK, or a function; served over the control channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp.types as types
import pytest
from mcp.server import MCPServer, Server
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from ropewalk import Allow, Client, UsageError, User
from tests.client.leftovers import tasks
from tests.client.played import GUARD, Line, PlayedCli, connected, withdrawal
from tests.client.scripted import VERSIONS, ScriptedCli, until
from tests.demand import demand

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "claude-code", "version": "2"}}


def calculator() -> MCPServer:
    server = MCPServer("calculator")

    @server.tool()
    def add(a: int, b: int) -> str:
        """Add two numbers."""
        return f"{a} + {b} = {a + b}"

    @server.tool()
    async def fail() -> str:
        """Always fails."""
        raise ToolError("no such number")

    return server


def low_level() -> Server[Any]:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="shout", input_schema={"type": "object"})])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        words = str((params.arguments or {}).get("words", "")).upper()
        return types.CallToolResult(content=[types.TextContent(type="text", text=words)])

    return Server("low", on_list_tools=list_tools, on_call_tool=call_tool)


def message(request_id: str, method: Any, number: Any = None, server: str = "srv", **more: Any) -> Line:
    inner: Line = {"jsonrpc": "2.0", **more}
    if method is not None:
        inner["method"] = method
    if number is not None:
        inner["id"] = number
    request = {"subtype": "mcp_message", "server_name": server, "message": inner}
    return {"type": "control_request", "request_id": request_id, "request": request}


async def reply(cli: PlayedCli, line: Line) -> Line:
    """Say it, and take what the server answered."""
    cli.say(line)
    inner = await cli.answer(line["request_id"])
    assert inner["subtype"] == "success", inner
    answer: Line = inner["response"]["mcp_response"]
    return answer


async def shake_hands(cli: PlayedCli, number: Any = 0, server: str = "srv") -> Line:
    greeting = await reply(cli, message(f"i{number}", "initialize", number, server, params=HELLO))
    await reply(cli, message(f"n{number}", "notifications/initialized", None, server))
    return greeting


@demand("001-53", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_server_in_our_process_serves_the_cli(scripted: ScriptedCli, version: str) -> None:
    """seed; measured: the handshake comes before the answer to initialize on 2.1.326, after it on the others"""
    rules = {
        "add": [{"tool": "mcp__calc__add", "input": {"a": 2, "b": 3}}, {"text": "Added."}],
        "fail": [{"tool": "mcp__calc__fail", "input": {}}, {"text": "Failed."}],
        "shout": [{"tool": "mcp__low__shout", "input": {"words": "hey"}}, {"text": "Shouted."}],
    }
    servers = {"calc": calculator(), "low": low_level()}
    options = scripted.options(rules, version=version, mcp_servers=servers, on_question=lambda asked: Allow())
    async with Client(options) as client:
        told = {word: await _tool_result(client, word) for word in rules}
        status = {server["name"]: server for server in await client.mcp_status()}
        assert status["calc"]["status"] == "connected" and [tool["name"] for tool in status["calc"]["tools"]] == ["add", "fail"]
    assert "2 + 3 = 5" in told["add"] and "HEY" in told["shout"] and "no such number" in told["fail"]
    assert tasks() == set()


async def _tool_result(client: Client, prompt: str) -> str:
    results = ""
    async for told in client.query(prompt):
        if isinstance(told, User) and not told.isReplay:
            results += str(told.fields()["message"]["content"])
    return results


@pytest.mark.parametrize("numbers", [(0, 1, 2), ("a:0", "a:1", "a:2")], ids=["numbers", "texts"])
@pytest.mark.parametrize("make", [calculator, low_level])
async def test_ids_come_back_as_they_were_given(make: Any, numbers: tuple[Any, ...]) -> None:
    """measured: numbers on 2.1.37 and 2.1.62, texts on 2.1.326"""
    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": make()}):
        greeting = await shake_hands(cli, numbers[0])
        assert greeting["id"] == numbers[0] and greeting["result"]["serverInfo"]["name"] in ("calculator", "low")
        listed = await reply(cli, message("l", "tools/list", numbers[1]))
        assert listed["id"] == numbers[1] and listed["jsonrpc"] == "2.0" and listed["result"]["tools"]
        missing = await reply(cli, message("m", "no/such/method", numbers[2]))
        assert missing["id"] == numbers[2] and missing["error"]["code"] == -32601


async def test_two_handshakes_interleaved_with_equal_ids_each_get_their_answers() -> None:
    """measured: 2.1.62 after mcp_set_servers"""
    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": calculator()}):
        cli.say(message("a1", "initialize", 0, params=HELLO), message("b1", "initialize", 0, params=HELLO))
        for request_id in ("a1", "b1"):
            inner = await cli.answer(request_id)
            assert inner["response"]["mcp_response"]["result"]["serverInfo"]["name"] == "calculator"
        cli.say(message("a2", "notifications/initialized"), message("b2", "notifications/initialized"))
        cli.say(message("a3", "tools/list", 1), message("b3", "tools/list", 1))
        heard = [await cli.hear() for _ in range(4)]
        answers = {line["response"]["request_id"]: line["response"]["response"]["mcp_response"] for line in heard}
        assert all(answers[request_id]["id"] == 1 and answers[request_id]["result"]["tools"] for request_id in ("a3", "b3"))


async def test_a_notification_of_the_server_reaches_the_cli() -> None:
    """ours: progress, changed lists"""
    server = MCPServer("slow")

    @server.tool()
    async def work(context: Context[Any]) -> str:
        await context.report_progress(1, 2)
        return "done"

    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": server}):
        await shake_hands(cli)
        params = {"name": "work", "arguments": {}, "_meta": {"progressToken": 7}}
        cli.say(message("w", "tools/call", 5, params=params))
        told = await cli.request("mcp_message")
        assert told["request"]["server_name"] == "srv" and told["request"]["message"]["method"] == "notifications/progress"
        assert told["request"]["message"]["params"]["progressToken"] == 7
        cli.succeed(told)
        assert "done" in str((await cli.answer("w"))["response"]["mcp_response"]["result"])


async def test_an_unknown_server_is_answered_with_an_error_that_names_those_there_are() -> None:
    """ours: unanswered, the CLI waits"""
    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": calculator()}):
        cli.say(message("x", "initialize", 0, "other", params=HELLO))
        heard = await cli.answer("x")
        assert heard["subtype"] == "error" and "'other'" in heard["error"] and "srv" in heard["error"]


@pytest.mark.parametrize(("method", "number"), [(5, 1), (7, None)])
async def test_what_is_no_json_rpc_is_answered_with_an_error(method: Any, number: Any) -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": calculator()}):
        await shake_hands(cli)
        answer = await reply(cli, message("x", method, number))
        assert answer["error"]["code"] == -32600
        assert "result" in await reply(cli, message("y", "tools/list", 9))


async def test_a_server_that_breaks_fails_what_waits_and_what_comes_and_starts_anew_at_the_next_handshake() -> None:
    """ours: the CLI must never wait for a server that is gone"""
    lives = 0

    @asynccontextmanager
    async def lifespan(server: Any) -> AsyncIterator[dict[str, Any]]:
        nonlocal lives
        lives += 1
        if lives == 1:
            raise OSError("the database is gone")
        yield {}

    cli = PlayedCli()
    errors: list[Exception] = []
    server = Server("fragile", lifespan=lifespan, on_list_tools=None)
    async with connected(cli, mcp_servers={"srv": server}, on_error=errors.append):
        first = await reply(cli, message("a", "initialize", 0, params=HELLO))
        assert "the database is gone" in first["error"]["message"]
        second = await reply(cli, message("b", "tools/list", 1))
        assert second["id"] == 1 and "the database is gone" in second["error"]["message"]
        assert (await shake_hands(cli, 2))["result"]["serverInfo"]["name"] == "fragile"
    assert lives == 2 and len(errors) == 1 and tasks() == set()


async def test_a_call_that_the_cli_waits_for_no_longer_is_cancelled_in_the_server() -> None:
    """ours: by withdrawal of the request, and by the protocol's own notification, which names the CLI's id"""
    server = MCPServer("slow")
    begun, ended = asyncio.Queue[int](), asyncio.Queue[int]()

    @server.tool()
    async def work(number: int) -> str:
        begun.put_nowait(number)
        try:
            await asyncio.Event().wait()
        finally:
            ended.put_nowait(number)
        return ""

    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": server}), asyncio.timeout(GUARD):
        await shake_hands(cli)
        cli.say(message("w1", "tools/call", "x:1", params={"name": "work", "arguments": {"number": 1}}))
        assert await begun.get() == 1
        cli.say(withdrawal("w1"))
        assert await ended.get() == 1
        cli.say(message("w2", "tools/call", "x:2", params={"name": "work", "arguments": {"number": 2}}))
        assert await begun.get() == 2
        cli.say(message("c", "notifications/cancelled", params={"requestId": "x:2"}))
        answers = {line["response"]["request_id"]: line["response"] for line in (await cli.hear(), await cli.hear())}
        assert answers["w2"]["response"]["mcp_response"]["error"]["message"] == "cancelled" and "c" in answers
        assert await ended.get() == 2


async def test_a_server_with_work_in_hand_ends_with_its_client() -> None:
    """ours"""
    server, begun, ended = MCPServer("slow"), asyncio.Event(), asyncio.Event()

    @server.tool()
    async def work() -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": server}):
        await shake_hands(cli)
        cli.say(message("w", "tools/call", 1, params={"name": "work", "arguments": {}}))
        async with asyncio.timeout(GUARD):
            await begun.wait()
        cli.cli.exit(0)
    assert ended.is_set() and tasks() == set()


async def plain(asked: Line) -> Line | None:
    return {"result": {"echo": asked["method"]}} if "id" in asked else None


async def test_a_function_is_a_server_too() -> None:
    """ours: the smallest one; ids and version are filled in"""
    cli = PlayedCli()
    functions = {"srv": plain, "sync": lambda asked: {"jsonrpc": "2.0", "id": asked["id"], "result": {}}}
    async with connected(cli, mcp_servers=functions):
        assert await reply(cli, message("a", "ping", "p:1")) == {"jsonrpc": "2.0", "id": "p:1", "result": {"echo": "ping"}}
        assert (await reply(cli, message("b", "notifications/initialized")))["result"] == {}
        assert (await reply(cli, message("c", "ping", 3, "sync")))["id"] == 3


async def test_a_function_that_raises_answers_with_an_error() -> None:
    """ours"""

    async def broken(asked: Line) -> Line:
        raise ZeroDivisionError("one by zero")

    cli = PlayedCli()
    errors: list[Exception] = []
    async with connected(cli, mcp_servers={"srv": broken}, on_error=errors.append):
        answer = await reply(cli, message("a", "ping", 4))
        assert answer["id"] == 4 and answer["error"]["code"] == -32603 and "one by zero" in answer["error"]["message"]
    assert [type(error) for error in errors] == [ZeroDivisionError]


async def test_configured_servers_are_set_after_the_start_and_their_errors_told(scripted: ScriptedCli) -> None:
    """measured: mcp_set_servers answers {added, removed, errors}, and lets go of every server that it does not name"""
    errors: list[Exception] = []
    servers = {"files": {"type": "stdio", "command": "no-such-program"}, "here": calculator()}
    async with Client(scripted.options(mcp_servers=servers, on_error=errors.append)) as client:
        assert {server["name"] for server in await client.mcp_status()} == {"files", "here"}
    assert scripted.heard("mcp_set_servers")[0]["request"]["servers"] == {
        "files": servers["files"],
        "here": {"type": "sdk", "name": "here"},
    }
    assert scripted.heard("initialize")[0]["request"]["sdkMcpServers"] == ["here"]
    assert "files" in str(errors[0])


async def test_what_is_no_server_is_refused_before_anything_starts(scripted: ScriptedCli) -> None:
    """ours"""
    client = Client(scripted.options(mcp_servers={"good": calculator(), "bad": 7}))
    with pytest.raises(UsageError, match="'bad' is neither"):
        await client.connect()
    assert client.pid is None and tasks() == set()


async def test_requests_of_a_server_go_to_the_cli_and_its_answers_come_back() -> None:
    """ours: a server may ask for roots or a sample"""
    server = MCPServer("asker")
    heard: list[Any] = []

    @server.tool()
    async def ask(context: Context[Any]) -> str:
        heard.append(await context.session.send_ping())
        return "pinged"

    cli = PlayedCli()
    async with connected(cli, mcp_servers={"srv": server}):
        await shake_hands(cli)
        cli.say(message("w", "tools/call", 1, params={"name": "ask", "arguments": {}}))
        asked = await cli.request("mcp_message")
        cli.succeed(asked)
        assert asked["request"]["message"]["method"] == "ping"
        await reply(cli, message("r", None, asked["request"]["message"]["id"], result={}))
        assert "pinged" in str((await cli.answer("w"))["response"]["mcp_response"]["result"])
    await until(lambda: not tasks(), "the server")
    assert len(heard) == 1
