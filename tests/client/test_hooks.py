"""Hooks: registered at initialize, called with their input, answered always, plain or async, now or later."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ropewalk import Client, ClientOptions, Deny, Hook, HookAnswer, HookInput, Later, Question, UsageError
from ropewalk.protocol.versions import HOOK_EVENTS
from tests.client.leftovers import tasks
from tests.client.played import GUARD, Line, PlayedCli, connected, withdrawal
from tests.client.scripted import VERSIONS, ScriptedCli, until
from tests.demand import demand

TOUCH = {"tool": "Bash", "input": {"command": "touch x"}, "if_denied": [{"text": "Refused: {reason}"}]}


def call(request_id: str, callback_id: str, event: str = "PreToolUse", **fields: Any) -> Line:
    given = {"hook_event_name": event, "session_id": "s", "cwd": "/", **fields}
    request = {"subtype": "hook_callback", "callback_id": callback_id, "input": given, "tool_use_id": "t1"}
    return {"type": "control_request", "request_id": request_id, "request": request}


async def registered(hooks: Any) -> dict[str, Any]:
    """What ``initialize`` says of them."""
    cli = PlayedCli()
    client = Client(cli.options(hooks=hooks))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    greeting = await cli.request("initialize")
    cli.succeed(greeting, {})
    await connecting
    await client.close()
    said: dict[str, Any] = greeting["request"].get("hooks", {})
    return said


async def test_all_fifteen_events_can_be_registered_with_matcher_and_patience() -> None:
    """seed; the CLI calls them by id"""
    hook = Hook(lambda told: None, matcher="Edit|Write", timeout=5)
    said = await registered({event: [hook, lambda told: None] for event in HOOK_EVENTS})
    assert len(HOOK_EVENTS) == 15 and list(said) == list(HOOK_EVENTS)
    ids = [entry["hookCallbackIds"] for entries in said.values() for entry in entries]
    assert len({callback_id for (callback_id,) in ids}) == 30
    for first, second in said.values():
        assert first["matcher"] == "Edit|Write" and first["timeout"] == 5
        assert list(second) == ["hookCallbackIds"]


async def test_without_hooks_nothing_is_registered() -> None:
    """ours"""
    assert await registered({}) == {}


def test_an_event_that_does_not_exist_is_refused_with_the_list_of_those_that_do() -> None:
    """ours"""
    with pytest.raises(UsageError, match="PreToolUse, PostToolUse"):
        Client(ClientOptions(hooks={"BeforeTool": [lambda told: None]}))


@demand("001-58", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_hooks_are_called_with_their_input_and_decide_over_tools(scripted: ScriptedCli, version: str) -> None:
    """seed; measured: hook_decides (all versions)"""
    told: list[tuple[str, HookInput]] = []
    asked: list[Question] = []
    answers = {
        "allow": HookAnswer.permission("allow", updated_input={"command": "touch y"}),
        "deny": HookAnswer.permission("deny", "not on my watch"),
        "ask": HookAnswer.permission("ask", "look at this"),
        "nothing": None,
    }

    def before(heard: HookInput) -> Any:
        told.append(("before", heard))
        return answers[str(words[-1])]

    async def after(heard: HookInput) -> None:
        await asyncio.sleep(0)
        told.append(("after", heard))

    def decide(question: Question) -> Deny:
        asked.append(question)
        return Deny("the person said no")

    words: list[str] = []
    hooks = {"PreToolUse": [Hook(before, matcher="Bash")], "PostToolUse": [after], "UserPromptSubmit": [lambda heard: {}]}
    options = scripted.options({"go": [TOUCH, {"text": "Made."}]}, version=version, hooks=hooks, on_question=decide)
    async with Client(options) as client:
        results = {}
        for word in answers:
            words.append(word)
            results[word] = (await client.query("go")).result
    assert results["allow"] == "Made." and "not on my watch" in str(results["deny"])
    assert results["ask"] == results["nothing"] == "Refused: the person said no" and len(asked) == 2
    before_tool, after_tool = told[0][1], told[1][1]
    assert (before_tool.event, before_tool["tool_name"], before_tool["tool_input"]) == ("PreToolUse", "Bash", TOUCH["input"])
    assert before_tool.tool_use_id == after_tool.tool_use_id and before_tool["session_id"] == client.session_id
    assert (after_tool.event, after_tool["tool_input"]) == ("PostToolUse", {"command": "touch y"})


EVERYTHING = HookAnswer(
    go_on=False,
    suppress_output=True,
    stop_reason="enough",
    decision="block",
    reason="because",
    system_message="to the person",
    specific={"hookEventName": "PostToolUse", "additionalContext": "it was slow"},
)


@demand("001-58", tag="lib")
@pytest.mark.parametrize(
    ("answer", "wire"),
    [
        (None, {}),
        ({}, {}),
        ({"continue": True, "anything": 1}, {"continue": True, "anything": 1}),
        (HookAnswer(), {}),
        (
            EVERYTHING,
            {
                "continue": False,
                "suppressOutput": True,
                "stopReason": "enough",
                "decision": "block",
                "reason": "because",
                "systemMessage": "to the person",
                "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "it was slow"},
            },
        ),
        (
            HookAnswer.permission("allow", "fine", {"command": "ls"}, "be quick"),
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "allow",
                    "permissionDecisionReason": "fine",
                    "updatedInput": {"command": "ls"},
                    "additionalContext": "be quick",
                }
            },
        ),
        (
            HookAnswer.permission("ask"),
            {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}},
        ),
    ],
)
@pytest.mark.parametrize("waits", [False, True], ids=["plain", "async"])
async def test_every_part_of_an_answer_goes_out_in_the_wires_spelling(answer: Any, wire: Line, waits: bool) -> None:
    """seed"""

    async def later(told: HookInput) -> Any:
        await asyncio.sleep(0)
        return answer

    cli = PlayedCli()
    async with connected(cli, hooks={"PreToolUse": [later if waits else lambda told: answer]}):
        cli.say(call("h1", "PreToolUse-0"))
        heard = await cli.answer("h1")
    assert heard == {"subtype": "success", "request_id": "h1", "response": wire}


@demand("001-59", tag="lib")
async def test_a_hook_may_go_on_by_itself_with_a_time_limit() -> None:
    """seed: async with a time-out in milliseconds"""
    cli = PlayedCli()
    async with connected(cli, hooks={"PostToolUse": [lambda told: Later(2.5)]}):
        cli.say(call("h1", "PostToolUse-0", "PostToolUse"))
        assert (await cli.answer("h1"))["response"] == {"async": True, "asyncTimeout": 2500}


def broken(told: HookInput) -> HookAnswer:
    raise ZeroDivisionError("one by zero")


async def broken_later(told: HookInput) -> HookAnswer:
    await asyncio.sleep(0)
    raise ZeroDivisionError("one by zero")


@pytest.mark.parametrize("hook", [broken, broken_later, lambda told: "allow", lambda told: 7])
async def test_a_hook_that_fails_is_answered_with_an_error_and_a_guard_that_fails_still_guards(hook: Any) -> None:
    """measured: an error answer is treated as no hook at all (hook_error, all versions), so before a tool it is a denial"""
    cli = PlayedCli()
    errors: list[Exception] = []
    async with connected(cli, hooks={"PreToolUse": [hook], "Stop": [hook]}, on_error=errors.append):
        cli.say(call("h1", "PreToolUse-0"))
        verdict = (await cli.answer("h1"))["response"]["hookSpecificOutput"]
        assert verdict["permissionDecision"] == "deny" and "could not decide" in verdict["permissionDecisionReason"]
        cli.say(call("h2", "Stop-1", "Stop"))
        assert (await cli.answer("h2"))["subtype"] == "error"
    assert len(errors) == 2


async def test_a_callback_id_that_is_not_ours_is_refused() -> None:
    """ours: unanswered, the CLI waits"""
    cli = PlayedCli()
    async with connected(cli, hooks={"PreToolUse": [lambda told: None]}):
        cli.say(call("h1", "somebody-elses"))
        heard = await cli.answer("h1")
        assert heard["subtype"] == "error" and "somebody-elses" in heard["error"]


async def test_a_hook_that_the_cli_waits_for_no_longer_is_cancelled() -> None:
    """measured: past its time-out the CLI withdraws the callback (hook_silent, all versions)"""
    cli, begun, ended = PlayedCli(), asyncio.Event(), asyncio.Event()

    async def slow(told: HookInput) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(cli, hooks={"PreToolUse": [Hook(slow, timeout=1)]}):
        cli.say(call("h1", "PreToolUse-0"))
        async with asyncio.timeout(GUARD):
            await begun.wait()
            cli.say(withdrawal("h1"))
            await ended.wait()


async def test_one_that_is_withdrawn_in_the_same_breath_leaves_nothing_behind() -> None:
    """ours: no task, and no coroutine that nobody awaited"""
    cli = PlayedCli()

    async def slow(told: HookInput) -> None:
        await asyncio.Event().wait()

    async with connected(cli, hooks={"PreToolUse": [slow]}) as client:
        before = tasks()
        for number in range(3):
            cli.say(call(f"h{number}", "PreToolUse-0"), withdrawal(f"h{number}"))
        await until(lambda: cli.cli.unheard == 0 and len(tasks()) <= len(before) + 1, "the hooks to end")
        assert client.questions == []
    assert tasks() == set()


async def test_hooks_are_not_among_the_questions_for_people() -> None:
    """ours"""
    cli, release = PlayedCli(), asyncio.Event()

    async def slow(told: HookInput) -> None:
        await release.wait()

    seen: list[Question] = []
    async with connected(cli, hooks={"Stop": [slow]}, on_question=seen.append) as client:
        cli.say(call("h1", "Stop-0", "Stop"))
        cli.say({"type": "keep_alive"})
        async for message in client.receive():
            if type(message).__name__ == "KeepAlive":
                break
        assert client.questions == [] and seen == []
        release.set()
        assert (await cli.answer("h1"))["response"] == {}


def test_a_verdict_is_allow_deny_or_ask() -> None:
    """ours"""
    with pytest.raises(UsageError, match="allow, deny or ask"):
        HookAnswer.permission("approve")
