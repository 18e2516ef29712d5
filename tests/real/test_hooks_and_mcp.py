"""What real CLIs ask of the program around them: hooks and MCP servers that live in it, over the control channel."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp.server import MCPServer

from ropewalk import Hook, HookAnswer, HookInput, Later, RequestFailed, Result
from ropewalk.client.mcp import JsonRpc
from ropewalk.protocol.system import HookProgress, HookResponse, HookStarted, Init
from ropewalk.protocol.versions import HOOK_EVENTS
from ropewalk.sim.model import Reply, Rule, reply, tool
from tests.demand import demand
from tests.real.rig import Place, give_away
from tests.real.rig_client import Played, Reading, Stage, client_at, run
from tests.real.rig_raw import GUARD
from tests.real.rig_talk import LOOP, command, touch

pytestmark = LOOP


@dataclass
class Book:
    """What our hooks were told, and what they are to answer."""

    told: list[HookInput] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    slow: list[str] = field(default_factory=list)

    def heard(self, asked: HookInput) -> Any:
        self.told.append(asked)
        answer = self.answers.pop(asked.event, None)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def heard_later(self, asked: HookInput) -> Any:
        """The same as a coroutine: both kinds are registered."""
        return self.heard(asked)

    async def never(self, asked: HookInput) -> None:
        self.slow.append("asked")
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.slow.append("cancelled")
            raise

    @property
    def events(self) -> list[str]:
        return [asked.event for asked in self.told]


BOOK = Book()
SUMS = MCPServer("sums")


@SUMS.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@dataclass
class Plain:
    """The smallest server: a function from message to response."""

    methods: list[str] = field(default_factory=list)
    waiting: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, message: JsonRpc) -> JsonRpc | None:
        self.methods.append(message["method"])
        if message["method"] == "tools/call" and message["params"]["name"] == "wait":
            self.waiting.set()
            await asyncio.get_running_loop().create_future()
        found: dict[str, JsonRpc] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "plain", "version": "1"},
            },
            "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "wait")]},
            "tools/call": {"content": [{"type": "text", "text": "echoed"}]},
        }
        return {"result": found[message["method"]]} if message["method"] in found else None


PLAIN = Plain()
TINY = r"""
while read -r line; do
  id=${line##*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"method":"notifications/'*) continue ;;
    *'"method":"initialize"'*)
      result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"1.5"}}' ;;
    *'"method":"tools/list"'*)
      result='{"tools":[{"name":"shout","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *'"method":"tools/call"'*) result='{"content":[{"type":"text","text":"HEY"}]}' ;;
    *) result='{}' ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"""
STDIO: dict[str, Any] = {"type": "stdio", "command": "/bin/sh", "args": ["-c", TINY]}
"""An MCP server that needs nothing but a shell."""
DEAD: dict[str, dict[str, Any]] = {
    "web": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
    "events": {"type": "sse", "url": "http://127.0.0.1:9/sse"},
}

STAGE_OPTIONS = {
    "hooks": {
        event: [BOOK.heard if number % 2 else BOOK.heard_later, *([Hook(BOOK.never, "NotebookEdit", 1)] if not number else [])]
        for number, event in enumerate(HOOK_EVENTS)
    },
    "mcp_servers": {"sums": SUMS, "plain": PLAIN, "started": STDIO},
    "extra_args": {"mcp-config": json.dumps({"mcpServers": {"tiny": STDIO}})},
    "allowed_tools": ["mcp__sums__add", "mcp__plain", "mcp__tiny"],
    "cli_env": {"CLAUDE_CODE_ENABLE_TASKS": "1", "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1"},
}


async def play(stage: Stage, *replies: Reply | str, **answers: Any) -> Played:
    """A turn in which hooks answer so."""
    BOOK.told.clear()
    BOOK.answers.clear()
    BOOK.answers.update(answers)
    return await stage.play(*replies)


def told_to_the_model(stage: Stage) -> str:
    """The end of its last request: older CLIs put a hook's words into a reminder, the newest into a system message."""
    return json.dumps(stage.model.requests[-1].messages[-2:])


def last_result(stage: Stage) -> str:
    return list(stage.model.requests[-1].results.values())[-1]


def main_calls(stage: Stage) -> int:
    return len([asked for asked in stage.model.requests if asked.kind == "main"])


# -- hooks


@demand("001-61", "003-53", tag="real")
async def test_hooks_for_all_fifteen_events_are_taken_and_those_that_can_be_provoked_are_called(stage: Stage) -> None:
    """seeds 001, 003. measured: eleven on all versions, SessionEnd (by /clear) on 2.1.326; never in a headless session:
    Notification (dialogs of the screen), Setup (runs before we can register), TeammateIdle (teams of agents)."""
    seen: set[str] = set()
    await play(stage, touch("hooked.txt"), command("exit 3"), "Done.")
    order = ["UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse"]
    assert BOOK.events == [*order, "PreToolUse", "PermissionRequest", "PostToolUseFailure", "Stop"]
    seen |= set(BOOK.events)
    agent, more = ("Agent", {"run_in_background": False}) if stage.newest else ("Task", {})
    stage.model.add(Rule([reply("Found.")], kind="agent"))
    await play(stage, reply(tool(agent, description="look", prompt="look", subagent_type="general-purpose", **more)), "Done.")
    assert BOOK.events == ["UserPromptSubmit", "PreToolUse", "SubagentStart", "SubagentStop", "PostToolUse", "Stop"]
    seen |= set(BOOK.events)
    task = reply(tool("TaskCreate", subject="a", description="b", activeForm="c"))
    await play(stage, task, reply(tool("TaskUpdate", taskId="1", status="completed")), "Done.")
    seen |= set(BOOK.events)
    for words in ("/compact", "/clear"):
        BOOK.told.clear()
        await run(stage.client, words)
        seen |= set(BOOK.events)
    silent = {"Notification", "Setup", "TeammateIdle"} | (set() if stage.newest else {"SessionEnd"})
    assert seen == set(HOOK_EVENTS) - silent


@demand("001-58", "003-53", tag="real")
async def test_a_hook_is_told_what_happens(stage: Stage) -> None:
    """seeds 001, 003; measured (all): session, folder, mode and the tool's input, with its id; the result afterwards."""
    played = await play(stage, command("echo told"), "Done.")
    before, after = (next(asked for asked in BOOK.told if asked.event == event) for event in ("PreToolUse", "PostToolUse"))
    assert before["session_id"] == played.result.session_id and before["cwd"] == str(stage.place.project)
    assert before["transcript_path"].endswith(f"{before['session_id']}.jsonl") and before["permission_mode"] == "default"
    assert (before["tool_name"], before["tool_input"]["command"]) == ("Bash", "echo told")
    assert before.tool_use_id == after.tool_use_id == list(stage.model.requests[-1].results)[-1]
    assert after["tool_response"]["stdout"] == "told"
    assert next(asked for asked in BOOK.told if asked.event == "UserPromptSubmit")["prompt"].startswith("scene")


@demand("001-58", tag="real")
async def test_a_hook_before_a_tool_allows_edits_denies_or_asks(stage: Stage) -> None:
    """seed 001; measured (all): permissionDecision, its reason, updatedInput and additionalContext."""
    edit = HookAnswer.permission("allow", "fine", {"command": "touch narrow.txt"}, context="Mind the gap.")
    allowed = await play(stage, touch("wide.txt"), "Done.", PreToolUse=edit)
    assert not allowed.questions and stage.made("narrow.txt") and not stage.made("wide.txt")
    assert "Mind the gap." in told_to_the_model(stage)
    denied = await play(stage, touch("denied.txt"), "Done.", PreToolUse=HookAnswer.permission("deny", "Not today."))
    assert not denied.questions and not stage.made("denied.txt") and "Not today." in last_result(stage)
    sum_ = reply(tool("mcp__sums__add", a=1, b=2))
    asked = await play(stage, sum_, "Done.", PreToolUse=HookAnswer.permission("ask", "Look closely."))
    # A rule allows this tool: there the hook's word counts more on 2.1.326, the rule on the others.
    assert [question.asked.decision_reason for question in asked.questions] == (["Look closely."] if stage.newest else [])


@demand("001-58", tag="real")
async def test_a_hook_stops_the_turn_blocks_a_prompt_or_makes_the_model_go_on(stage: Stage) -> None:
    """seed 001; measured (all): continue, stopReason, decision, reason, suppressOutput, systemMessage."""
    halt = HookAnswer(go_on=False, stop_reason="Enough.", suppress_output=True, system_message="We stop here.")
    calls = main_calls(stage)
    stopped = await play(stage, touch("stop.txt"), "Never said.", PreToolUse=halt)
    assert stopped.result.result == "" and "Stop" not in BOOK.events and main_calls(stage) == calls + 1
    assert stopped.result.terminal_reason == ("hook_stopped" if stage.newest else None)
    blocked = await play(stage, "Never said.", UserPromptSubmit=HookAnswer(decision="block", reason="Not this one."))
    assert main_calls(stage) == calls + 1
    assert ("Not this one." in str(blocked.result.result)) == stage.newest
    await play(stage, touch("post.txt"), "Done.", PostToolUse=HookAnswer(decision="block", reason="Look again."))
    assert "Look again." in told_to_the_model(stage)
    await play(stage, "Done.", "Really done.", Stop=HookAnswer(decision="block", reason="One more thing."))
    assert BOOK.events.count("Stop") == 2 and "One more thing." in told_to_the_model(stage)
    more = {"hookEventName": "UserPromptSubmit", "additionalContext": "It is raining."}
    await play(stage, "Done.", UserPromptSubmit=HookAnswer(specific=more))
    assert "It is raining." in told_to_the_model(stage)


@demand("001-59", tag="real")
async def test_a_hook_that_goes_on_by_itself_keeps_nobody_waiting(stage: Stage) -> None:
    """seed 001; measured (all): answered with async, the tool runs under the normal rules."""
    played = await play(stage, touch("async.txt"), "Done.", PreToolUse=Later(60), PostToolUse=Later(60))
    assert len(played.questions) == 1 and stage.made("async.txt") and played.result.result == "Done."


async def test_a_guard_that_fails_still_guards_and_other_hooks_decide_nothing(stage: Stage) -> None:
    """measured (all): an error answer would count as none, so a PreToolUse hook that raises is answered with a denial."""
    guarded = await play(stage, touch("failed.txt"), "Done.", PreToolUse=RuntimeError("no idea"))
    assert not guarded.questions and not stage.made("failed.txt") and "no idea" in told_to_the_model(stage)
    after = await play(stage, touch("after.txt"), "Done.", PostToolUse=RuntimeError("no idea"))
    assert len(after.questions) == 1 and stage.made("after.txt")


async def test_a_hook_that_takes_too_long_is_withdrawn_and_cancelled(stage: Stage) -> None:
    """measured: past its timeout 2.1.37 and 2.1.62 go by the normal rules, 2.1.326 does not run the tool."""
    BOOK.slow.clear()
    notebook = {"cells": [{"cell_type": "code", "id": "c1", "source": "", "metadata": {}}], "metadata": {}, "nbformat": 4}
    path = stage.place.project / "n.ipynb"
    path.write_text(json.dumps({**notebook, "nbformat_minor": 5}))
    path.chmod(0o666)
    read = reply(tool("Read", file_path=str(path)))
    edit = reply(tool("NotebookEdit", notebook_path=str(path), cell_id="c1", new_source="1 + 1"))
    played = await play(stage, read, edit, "Done.")
    assert BOOK.slow == ["asked", "cancelled"]
    assert len(played.questions) == (0 if stage.newest else 1) and ("1 + 1" in path.read_text()) != stage.newest


@demand("001-34", tag="real")
async def test_hooks_of_the_settings_file_are_told(stage: Stage, place: Place, cli_version: str) -> None:
    """seed 001; measured (all): name, event, output, exit code, outcome; progress on 2.1.326 alone."""
    go = place.project / "go"
    slow = f"echo one; until test -e {go}; do sleep 0.05; done; echo two"
    hooks = [{"hooks": [{"type": "command", "command": words}]} for words in (slow, "echo bad >&2; exit 3")]
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": hooks}}))
    give_away(place.home)
    told: list[Any] = []

    def hear(message: Any) -> None:
        told.append(message)
        if isinstance(message, HookProgress if stage.newest else HookStarted):
            go.touch()

    async with client_at(place, cli_version, stage.model, on_message=hear) as client:
        await run(client, "hello")
    started = [one for one in told if isinstance(one, HookStarted)]
    ended = {one.outcome: one for one in told if isinstance(one, HookResponse)}
    assert [(one.hook_event, one.hook_name) for one in started] == [("SessionStart", "SessionStart:startup")] * 2
    assert {one.hook_id for one in started} == {one.hook_id for one in ended.values()}
    good, bad = ended["success"], ended["error"]
    assert (good.exit_code, good.stdout, good.stderr) == (0, "one\ntwo\n", "")
    assert (bad.exit_code, bad.stdout, bad.stderr, bad.output) == (3, "", "bad\n", "bad\n")
    progress = [one for one in told if isinstance(one, HookProgress)]
    assert ([one.stdout for one in progress[:1]], bool(progress)) == ((["one\n"], True) if stage.newest else ([], False))


# -- MCP servers


@demand("001-53", "002-30", "003-53", tag="real")
async def test_servers_inside_our_process_serve_the_cli(stage: Stage) -> None:
    """seeds 001–003; measured (all): one of the official SDK, one function; each gets what is meant for it."""
    PLAIN.methods.clear()
    played = await play(
        stage, reply(tool("mcp__sums__add", a=2, b=3)), reply(tool("mcp__plain__echo")), reply(tool("mcp__started__shout")), "Ok."
    )
    said = list(stage.model.requests[-1].results.values())[-3:]
    assert ("5" in said[0], said[1:]) == (True, ["echoed", "HEY"])
    assert "tools/call" in PLAIN.methods and not played.result.failed
    states = {server.name: server.status for server in played.of(Init)[0].mcp_servers}
    assert states == {"sums": "connected", "plain": "connected", "started": "connected", "tiny": "connected"}
    assert [question.tool_name for question in played.questions] == ["mcp__started__shout"]
    await stage.client.mcp_message("plain", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


@demand("001-52", tag="real")
async def test_the_state_of_servers_is_told(stage: Stage) -> None:
    """seed 001; measured (all): name, status, server info, configuration, scope, tools with annotations; errors in words."""
    servers = {"started": STDIO, **DEAD}
    await stage.client.mcp_set_servers(servers)
    await play(stage, "Hello.")
    told = {server["name"]: server for server in await stage.client.mcp_status()}
    started, web = told["started"], told["web"]
    assert (started["status"], started["serverInfo"], started["config"]) == (
        "connected",
        {"name": "tiny", "version": "1.5"},
        STDIO,
    )
    assert started["scope"] == "dynamic" and started["tools"][0] == {"name": "shout", "annotations": {"readOnly": True}}
    assert web["status"] == "failed" and web["error"] and told["sums"]["tools"][0]["name"] == "add"
    await stage.client.mcp_set_servers({"started": STDIO})


@demand("001-56", tag="real")
async def test_servers_of_every_kind_can_be_set(stage: Stage) -> None:
    """seed 001; measured (all): stdio, http, sse and sdk; who can't be reached is listed with the reason; ours stay."""
    await stage.client.mcp_set_servers({})
    answer = await stage.client.mcp_set_servers({"again": STDIO, **DEAD, "nobody": {"type": "sdk", "name": "nobody"}})
    assert set(answer["added"]) == {"again", "web", "events", "nobody"} and answer["removed"] == []
    assert {"web", "events"} <= set(answer["errors"])
    played = await play(stage, reply(tool("mcp__again__shout")), reply(tool("mcp__sums__add", a=4, b=5)), "Done.")
    states = {server.name: server.status for server in played.of(Init)[0].mcp_servers}
    assert (states["again"], states["sums"], states["plain"]) == ("connected",) * 3
    assert (states["web"], states["events"]) == ("failed", "failed")
    assert "HEY" in stage.model.requests[-1].results.values() and "9" in last_result(stage)
    gone = await stage.client.mcp_set_servers({"started": STDIO})
    assert set(gone["removed"]) == {"again", "web", "events", "nobody"}


@demand("002-30", tag="real")
async def test_a_message_for_a_server_that_is_not_here_is_answered_with_an_error(stage: Stage) -> None:
    """seed 002; measured (all): so the CLI marks it failed instead of waiting; the others go on."""
    await stage.client.mcp_set_servers({"nobody": {"type": "sdk", "name": "nobody"}})
    await play(stage, "Hello.")
    (init,) = (await play(stage, reply(tool("mcp__plain__echo")), "Done.")).of(Init)
    assert {server.name: server.status for server in init.mcp_servers}["nobody"] == "failed"
    assert last_result(stage) == "echoed"
    await stage.client.mcp_set_servers({"started": STDIO})


@demand("001-54", "001-55", tag="real")
async def test_a_server_is_switched_off_and_on_and_connected_again(stage: Stage) -> None:
    """seed 001; measured (all) for servers of the configuration; 2.1.37 knows no others here.

    Older CLIs only say that a server is off: its tools stay and work.
    """
    for enabled, status in ((False, "disabled"), (True, "connected")):
        await stage.client.mcp_toggle("tiny", enabled)
        assert await state_of(stage, "tiny") == status
        tools = (await play(stage, "Hello.")).of(Init)[0].tool_names
        assert ("mcp__tiny__shout" in tools) == (enabled or not stage.newest)
    await stage.client.mcp_reconnect("tiny")
    assert await state_of(stage, "tiny") == "connected"
    await play(stage, reply(tool("mcp__tiny__shout")), "Done.")
    assert last_result(stage) == "HEY"
    for request in (stage.client.mcp_reconnect("unheard"), stage.client.mcp_toggle("unheard", False)):
        with pytest.raises(RequestFailed, match="unheard"):
            await request


async def state_of(stage: Stage, name: str) -> str:
    return str(next(server["status"] for server in await stage.client.mcp_status() if server["name"] == name))


@demand("001-87", tag="real")
async def test_from_initialize_for_hooks_and_servers_to_an_interrupt(stage: Stage) -> None:
    """seed 001; measured (all): a tool of ours that never answers is left behind; the next turn has hooks and servers."""
    PLAIN.waiting = asyncio.Event()
    BOOK.told.clear()
    reading = Reading(stage.client.query(stage.script(reply(tool("mcp__plain__wait")), "Never.")))
    async with asyncio.timeout(GUARD):
        await asyncio.gather(reading.until(Init), PLAIN.waiting.wait())
    await stage.client.interrupt()
    assert (await reading.until(Result)).interrupted and BOOK.events[:2] == ["UserPromptSubmit", "PreToolUse"]
    await play(stage, reply(tool("mcp__plain__echo")), "Done.")
    assert last_result(stage) == "echoed" and BOOK.events[-1] == "Stop"
