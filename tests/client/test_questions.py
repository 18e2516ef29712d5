"""Questions of the CLI: answered by a function or by id, once, and a failure is never an allow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ropewalk import Allow, Client, Deny, LocalProtocolError, Question, Refusal
from ropewalk.protocol.control import CanUseTool, ControlRequest, RequestUserDialog
from tests.client.leftovers import tasks
from tests.client.played import GUARD, Line, PlayedCli, connected, question, withdrawal
from tests.client.scripted import VERSIONS, ScriptedCli, until
from tests.demand import demand

WORDS: Any = "all"
TOUCH = {"tool": "Bash", "input": {"command": "touch x"}, "if_denied": [{"text": "Not then: {reason}"}]}


@demand("002-03", tag="lib")
@pytest.mark.parametrize("version", VERSIONS)
async def test_control_response_answers_a_request_of_the_cli(scripted: ScriptedCli, version: str) -> None:
    """seed"""
    async with Client(scripted.options({"go": [TOUCH, {"text": "Made."}]}, version=version)) as client:
        for answer, words in ((Allow(), "Made."), (Deny("too early"), "Not then: too early")):
            query = client.query("go")
            await until(lambda: client.questions, "the question")
            (asked,) = client.questions
            assert (asked.kind, asked.tool_name, asked.input["command"]) == ("permission", "Bash", "touch x")
            await client.control_response(asked.request_id, answer)
            assert (await query).result == words
            with pytest.raises(LocalProtocolError, match="not open: answered"):
                await client.control_response(asked.request_id, Allow())


async def allow_plainly(asked: Question) -> Allow:
    return Allow()


async def allow_after_a_while(asked: Question) -> Allow:
    async with asyncio.timeout(GUARD):
        await asyncio.sleep(0)
    return Allow()


@pytest.mark.parametrize("decide", [lambda asked: Allow(), allow_plainly, allow_after_a_while], ids=["plain", "async", "waits"])
async def test_a_function_plain_or_async_answers_with_the_whole_input(decide: Any) -> None:
    """measured: an allow without the whole input fails on 2.1.37 and 2.1.62"""
    cli = PlayedCli()
    async with connected(cli, on_question=decide) as client:
        for number in range(3):
            cli.say(question(f"q{number}", tool_input={"command": "ls", "timeout": number}))
            response = (await cli.answer(f"q{number}"))["response"]
            assert response["behavior"] == "allow" and response["updatedInput"] == {"command": "ls", "timeout": number}
        assert client.questions == []


async def test_what_a_function_says_is_what_the_cli_hears() -> None:
    """ours: edited input, one suggestion unchanged, a denial with words, a denial that ends the turn"""
    cli = PlayedCli()
    suggestion = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session", "new": 1}
    answers = iter([
        Allow({"command": "ls -l"}, [suggestion]),
        Deny("not here"),
        Deny("stop it", interrupt=True),
        Refusal("the desk is closed"),
    ])  # fmt: skip
    async with connected(cli, on_question=lambda asked: next(answers)):
        for request_id in "abcd":
            cli.say(question(request_id, permission_suggestions=[suggestion]))
        heard = [await cli.answer(request_id) for request_id in "abcd"]
    allowed, denied, stopped = (one["response"] for one in heard[:3])
    assert allowed["updatedInput"] == {"command": "ls -l"} and allowed["updatedPermissions"] == [suggestion]
    assert denied["behavior"] == "deny" and denied["message"] == "not here" and "interrupt" not in denied
    assert stopped["interrupt"] is True and heard[3]["error"] == "the desk is closed"


def raise_plainly(asked: Question) -> Allow:
    raise ZeroDivisionError("one by zero")


async def raise_async(asked: Question) -> Allow:
    raise ZeroDivisionError("one by zero")


async def raise_later(asked: Question) -> Allow:
    await asyncio.sleep(0)
    raise ZeroDivisionError("one by zero")


@pytest.mark.parametrize("decide", [raise_plainly, raise_async, raise_later])
async def test_a_function_that_raises_refuses_and_on_error_hears_why(decide: Any) -> None:
    """ours: a failure never becomes an allow"""
    cli = PlayedCli()
    errors: list[Exception] = []
    async with connected(cli, on_question=decide, on_error=errors.append):
        for request_id in ("a", "b"):
            cli.say(question(request_id))
            heard = await cli.answer(request_id)
            assert heard["subtype"] == "error" and "one by zero" in heard["error"]
    assert [type(error) for error in errors] == [ZeroDivisionError] * 2


@pytest.mark.parametrize(
    "nonsense",
    [
        True,
        "allow",
        {"behavior": "allow"},
        1,
        Allow({}),
        Allow(WORDS),
        Allow(WORDS.split()),
        Deny(""),
        object,
        Allow(None, [WORDS]),
    ],
    ids=repr,
)
async def test_nonsense_refuses(nonsense: Any) -> None:
    """ours: whatever it looks like"""
    cli = PlayedCli()
    errors: list[Exception] = []
    async with connected(cli, on_question=lambda asked: nonsense, on_error=errors.append):
        cli.say(question("a"))
        assert (await cli.answer("a"))["subtype"] == "error"
    assert len(errors) == 1


async def cancel_itself_at_once(asked: Question) -> Allow:
    raise asyncio.CancelledError


async def cancel_itself_later(asked: Question) -> Allow:
    await asyncio.sleep(0)
    raise asyncio.CancelledError


@pytest.mark.parametrize("decide", [cancel_itself_at_once, cancel_itself_later])
async def test_a_function_that_cancels_itself_refuses_and_the_session_goes_on(decide: Any) -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli, on_question=decide) as client:
        for request_id in ("a", "b", "c"):
            cli.say(question(request_id), {"type": "keep_alive"})
            assert (await cli.answer(request_id))["subtype"] == "error"
        beats = 0
        async for message in client.receive():
            beats += type(message).__name__ == "KeepAlive"
            if beats == 3:
                break


async def test_none_leaves_a_question_open_for_control_response() -> None:
    """ours: a person may think all night"""
    cli = PlayedCli()
    seen: list[Question] = []
    async with connected(cli, on_question=seen.append) as client:
        cli.say(question("a"), question("b"))
        await until(lambda: len(seen) == 2, "the questions")
        assert [asked.request_id for asked in client.questions] == ["a", "b"]
        await client.control_response("b", Deny("no"))
        await client.control_response("a", Allow())
        assert (await cli.answer("b"))["response"]["behavior"] == "deny"
        assert (await cli.answer("a"))["response"]["behavior"] == "allow"
        with pytest.raises(LocalProtocolError, match="never asked"):
            await client.control_response("c", Allow())


async def test_a_question_withdrawn_while_a_function_thinks_cancels_it_and_nothing_is_said() -> None:
    """measured: an interrupt withdraws the open question (interrupt_question, all versions)"""
    cli, ended = PlayedCli(), asyncio.Event()

    async def think(asked: Question) -> Allow:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.set()
        return Allow()

    async with connected(cli, on_question=think) as client:
        cli.say(question("a"))
        await until(lambda: client.questions, "the question")
        cli.say(withdrawal("a"))
        async with asyncio.timeout(GUARD):
            await ended.wait()
        with pytest.raises(LocalProtocolError, match="withdrawn by the CLI"):
            await client.control_response("a", Allow())
        client.keep_alive()
        assert (await cli.hear())["type"] == "keep_alive" and client.questions == []
    assert tasks() == set()


async def test_several_questions_at_once_are_answered_in_any_order() -> None:
    """measured: tools that only read, and sub-agents, ask at the same time (readonly_parallel)"""
    cli = PlayedCli()
    turns = {request_id: asyncio.Event() for request_id in "abc"}

    async def decide(asked: Question) -> Allow:
        await turns[asked.request_id].wait()
        return Allow({"command": asked.request_id})

    async with connected(cli, on_question=decide):
        cli.say(*(question(request_id) for request_id in "abc"))
        for request_id in "cab":
            turns[request_id].set()
            assert (await cli.answer(request_id))["response"]["updatedInput"] == {"command": request_id}


async def test_a_question_is_answered_while_initialize_still_waits() -> None:
    """measured: 2.1.326 asks (mcp_message) before it answers initialize"""
    cli = PlayedCli()
    client = Client(cli.options(on_question=lambda asked: Deny("not yet")))
    connecting = asyncio.get_running_loop().create_task(client.connect())
    greeting = await cli.request("initialize")
    cli.say(question("a"))
    assert (await cli.answer("a"))["response"]["message"] == "not yet"
    cli.succeed(greeting, {})
    await connecting
    await client.close()


async def test_without_a_function_questions_wait_and_come_out_of_receive() -> None:
    """ours"""
    cli = PlayedCli()
    async with connected(cli) as client:
        cli.say(question("a"))
        async for message in client.receive():
            if type(message).__name__ == "ControlRequest":
                break
        await client.control_response("a", Allow())
        assert (await cli.answer("a"))["subtype"] == "success"


async def test_questions_of_kinds_that_nobody_knows_are_refused_at_once_and_bother_nobody() -> None:
    """measured: unanswered, the CLI waits for ever"""
    cli = PlayedCli()
    seen: list[Question] = []
    async with connected(cli, on_question=seen.append):
        cli.say({"type": "control_request", "request_id": "z", "request": {"subtype": "read_my_mind"}})
        assert (await cli.answer("z"))["subtype"] == "error"
    assert seen == []


ASKED: Line = {
    "questions": [
        {
            "question": "Which database?",
            "header": "DB",
            "multiSelect": False,
            "options": [{"label": "SQLite", "description": ""}],
        },
        {"question": "Which parts?", "header": "Parts", "multiSelect": True, "options": [{"label": "A"}, {"label": "B"}]},
    ]
}


async def test_a_choice_is_answered_by_question_text_with_labels_or_free_words() -> None:
    """measured: the key is the exact text; questions go back with the answers (2.1.326 fails without)"""
    cli = PlayedCli()

    def decide(asked: Question) -> Allow:
        assert asked.kind == "choice" and asked.needs_person
        assert [(one.question, one.multiple, len(one.options)) for one in asked.choices] == [
            ("Which database?", False, 1),
            ("Which parts?", True, 2),
        ]
        return asked.choose({"Which database?": "a text file", "Which parts?": ["A", "B"]}, notes={"Which parts?": "both"})

    async with connected(cli, on_question=decide):
        cli.say(question("a", "AskUserQuestion", ASKED))
        sent = (await cli.answer("a"))["response"]["updatedInput"]
    assert sent["questions"] == ASKED["questions"]
    assert sent["answers"] == {"Which database?": "a text file", "Which parts?": "A, B"}
    assert sent["annotations"] == {"Which parts?": {"notes": "both"}}


async def test_a_choice_for_a_question_that_was_not_asked_is_refused() -> None:
    """measured: 2.1.326 counts it as not answered"""
    cli = PlayedCli()
    errors: list[Exception] = []
    async with connected(cli, on_question=lambda asked: asked.choose({"Which colour?": "red"}), on_error=errors.append):
        cli.say(question("a", "AskUserQuestion", ASKED))
        assert (await cli.answer("a"))["subtype"] == "error"
    assert "Which colour?" in str(errors[0])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_choice_and_a_plan_reach_the_scripted_cli(scripted: ScriptedCli, version: str) -> None:
    """measured: choice_single, plan_allow_setmode (all versions)"""
    rules = {
        "choose": [{"ask": [{"question": "Tea?", "options": ["Yes", "No"]}]}, {"text": "{answer} it is."}],
        "plan": [{"plan": "# Plan\n1. tea", "write": True}, {"text": "In {mode} mode."}],
    }
    kinds: list[tuple[str, str | None]] = []

    def decide(asked: Question) -> Allow:
        kinds.append((asked.kind, asked.plan))
        if asked.kind == "choice":
            return asked.choose({"Tea?": "Yes"})
        return Allow(None, [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}])

    async with Client(scripted.options(rules, version=version, on_question=decide, permission_mode="plan")) as client:
        assert (await client.query("choose")).result == "Yes it is."
        assert (await client.query("plan")).result == "In acceptEdits mode." and client.mode == "acceptEdits"
    assert kinds == [("choice", None), ("plan", "# Plan\n1. tea")]


def test_a_question_says_what_it_is_in_one_line() -> None:
    """ours: for logs"""
    asked = Question(ControlRequest(request_id="a", request=CanUseTool(tool_name="Bash", input={"command": "ls"})))
    assert repr(asked) == "<Question a permission: Bash {'command': 'ls'}>" and not asked.needs_person
    dialog = Question(ControlRequest(request_id="b", request=RequestUserDialog(dialog_kind="x")))
    assert dialog.kind == "dialog" and dialog.needs_person and dialog.tool_name == ""
