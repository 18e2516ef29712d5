"""Which answers to a question work on real CLIs, and what the others do. Refuses the product: these are facts to build on."""

from __future__ import annotations

import pytest

from tests.real.rig_raw import Line
from tests.real.rig_talk import LOOP, Talk, command, touch

pytestmark = LOOP


def shape(question: Line, kind: str) -> Line:
    """Shapes that seed documents give and no CLI takes."""
    name = question["request_id"]
    whole = {"behavior": "allow", "updatedInput": question["request"]["input"]}
    return {
        "allow outside": {"type": "control_response", "request_id": name, "response": {"subtype": "allow"}},
        "id outside": {"type": "control_response", "request_id": name, "response": {"subtype": "success", "response": whole}},
        "unknown id": {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "nobody", "response": whole},
        },
    }[kind]


async def test_allow_runs_exactly_the_input_that_it_carries(talk: Talk) -> None:
    """measured (all): the edited command runs, not the asked one"""
    prompt, question = await talk.ask_to_touch("asked.txt")
    talk.cli.allow(question, command="touch edited.txt")
    result = await talk.cli.result()
    assert (result["subtype"], result["permission_denials"]) == ("success", [])
    assert talk.made("edited.txt") and not talk.made("asked.txt")
    assert len(talk.calls(prompt)) == 2


@pytest.mark.parametrize("response", [{}, {"updatedInput": {}}], ids=["none", "empty"])
async def test_allow_without_the_whole_input_fails_on_older_clis(talk: Talk, response: Line) -> None:
    """measured: 2.1.37 and 2.1.62 refuse or break the tool, 2.1.326 runs the original input"""
    name = f"half-{len(response)}.txt"
    _, question = await talk.ask_to_touch(name)
    talk.cli.answer(question, {"behavior": "allow", **response})
    assert (await talk.cli.result())["subtype"] == "success"
    assert talk.made(name) is talk.newest


async def test_a_denial_reaches_the_model_as_the_tools_result_and_the_turn_goes_on(talk: Talk) -> None:
    """measured (all)"""
    prompt, question = await talk.ask_to_touch("denied.txt", "I see.")
    talk.cli.answer(question, {"behavior": "deny", "message": "Not in this house."})
    shown = await talk.cli.expect(lambda line: line["type"] == "user", "the tool's result")
    assert shown["message"]["content"][0]["is_error"] is True
    result = await talk.cli.result()
    assert (result["subtype"], result["result"]) == ("success", "I see.")
    assert [denial["tool_use_id"] for denial in result["permission_denials"]] == [question["request"]["tool_use_id"]]
    assert talk.calls(prompt)[-1].results[question["request"]["tool_use_id"]] == "Not in this house."
    assert not talk.made("denied.txt")


async def test_a_denial_with_interrupt_ends_the_turn(talk: Talk) -> None:
    """measured: the message is kept on 2.1.37 and 2.1.62 and replaced on 2.1.326; is_error differs"""
    prompt, question = await talk.ask_to_touch("stopped.txt")
    talk.cli.answer(question, {"behavior": "deny", "message": "Stop it all.", "interrupt": True})
    result = await talk.cli.result()
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", talk.newest)
    assert len(talk.calls(prompt)) == 1
    kept = talk.script("After.")
    assert (await talk.cli.turn(kept))["result"] == "After."
    seen = talk.calls(kept)[-1].results[question["request"]["tool_use_id"]]
    assert ("Stop it all." in seen) is not talk.newest


@pytest.mark.parametrize(
    "response",
    [{"behavior": "deny"}, {"behavior": "maybe", "message": "?"}, {"subtype": "allow"}],
    ids=["no-message", "maybe", "subtype"],
)
async def test_an_answer_that_is_half_right_is_a_refusal(talk: Talk, response: Line) -> None:
    """measured (all): the tool is not run, the model is told so, the turn goes on"""
    prompt, question = await talk.ask_to_touch("refused.txt")
    talk.cli.answer(question, response)
    result = await talk.cli.result()
    assert (result["subtype"], len(result["permission_denials"])) == ("success", 1)
    assert not talk.made("refused.txt") and len(talk.calls(prompt)) == 2


async def test_an_error_as_answer_refuses_with_our_words(talk: Talk) -> None:
    """measured (all)"""
    prompt, question = await talk.ask_to_touch("error.txt")
    answer = {"subtype": "error", "request_id": question["request_id"], "error": "nobody is at home"}
    talk.cli.send({"type": "control_response", "response": answer})
    await talk.cli.result()
    assert "nobody is at home" in talk.calls(prompt)[-1].results[question["request"]["tool_use_id"]]
    assert not talk.made("error.txt")


@pytest.mark.parametrize("kind", ["allow outside", "id outside", "unknown id"])
async def test_a_wrong_envelope_leaves_the_question_open_and_a_right_one_still_works(talk: Talk, kind: str) -> None:
    """measured (all)"""
    name = f"{kind.replace(' ', '-')}.txt"
    _, question = await talk.ask_to_touch(name)
    talk.cli.send(shape(question, kind))
    assert [line["type"] for line in await talk.cli.fence() if line["type"] in ("user", "result")] == []
    assert not talk.made(name)
    talk.cli.allow(question)
    assert (await talk.cli.result())["subtype"] == "success"
    assert talk.made(name)


async def test_a_second_answer_is_ignored(talk: Talk) -> None:
    """measured (all): first answer wins"""
    _, question = await talk.ask_to_touch("twice.txt")
    talk.cli.allow(question)
    talk.cli.answer(question, {"behavior": "deny", "message": "too late"})
    assert (await talk.cli.result())["permission_denials"] == []
    assert talk.made("twice.txt") and not [line for line in await talk.cli.fence() if line["type"] == "result"]


async def test_nonsense_among_the_permissions_spoils_the_answer_on_older_clis(talk: Talk) -> None:
    """measured: 2.1.37 and 2.1.62 refuse the tool, 2.1.326 drops the bad entry and runs it"""
    _, question = await talk.ask_to_touch("rules.txt")
    whole = {"behavior": "allow", "updatedInput": question["request"]["input"], "updatedPermissions": [{"type": "nonsense"}]}
    talk.cli.answer(question, whole)
    await talk.cli.result()
    assert talk.made("rules.txt") is talk.newest


@pytest.mark.parametrize("words", ["frobnicate", "mkdir"])
async def test_a_rule_for_the_session_spares_the_next_question_of_its_kind(talk: Talk, words: str) -> None:
    """measured: addRules to session spares the like on all; on 2.1.37 and 2.1.62 not for commands that write to a path"""
    named = [{"toolName": "Bash", "ruleContent": f"{words}:*"}]
    rule = {"type": "addRules", "rules": named, "behavior": "allow", "destination": "session"}
    talk.cli.prompt(talk.script(command(f"{words} one"), "First."))
    question = await talk.cli.question("Bash")
    allowed = {"behavior": "allow", "updatedInput": question["request"]["input"]}
    talk.cli.answer(question, {**allowed, "updatedPermissions": [rule]})
    assert (await talk.cli.result())["result"] == "First."
    talk.cli.prompt(talk.script(command(f"{words} two"), "Second."))
    next_line = await talk.cli.expect(lambda line: line["type"] in ("control_request", "result"), "a question or a result")
    spared = talk.newest or words == "frobnicate"
    assert next_line["type"] == ("result" if spared else "control_request")


async def test_set_mode_inside_an_answer_works_before_the_tool_runs(talk: Talk) -> None:
    """measured (all): the mode is told by a status line and is in the next init; seed 003 says otherwise"""
    _, question = await talk.ask_to_touch("mode.txt")
    update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    allowed = {"behavior": "allow", "updatedInput": question["request"]["input"], "updatedPermissions": [update]}
    talk.cli.answer(question, allowed)
    status = await talk.cli.expect(lambda line: line.get("subtype") == "status" and "permissionMode" in line, "status")
    assert status["permissionMode"] == "acceptEdits"
    await talk.cli.result()
    talk.cli.prompt(talk.script(touch("unasked.txt"), "Unasked."))
    init = await talk.cli.expect(lambda line: line.get("subtype") == "init", "init")
    assert init["permissionMode"] == "acceptEdits"
    assert (await talk.cli.result())["result"] == "Unasked." and talk.made("unasked.txt")
    assert (await talk.cli.request("set_permission_mode", mode="default"))["subtype"] == "success"


async def test_a_mode_that_would_allow_it_does_not_answer_an_open_question(talk: Talk) -> None:
    """measured (all)"""
    _, question = await talk.ask_to_touch("still-open.txt")
    await talk.cli.request("set_permission_mode", mode="acceptEdits")
    assert not [line for line in await talk.cli.fence() if line["type"] in ("user", "result", "control_cancel_request")]
    assert not talk.made("still-open.txt")
    talk.cli.allow(question)
    assert (await talk.cli.result())["subtype"] == "success" and talk.made("still-open.txt")
    await talk.cli.request("set_permission_mode", mode="default")


async def test_an_interrupt_withdraws_the_question_and_a_late_answer_is_ignored(talk: Talk) -> None:
    """measured (all): cancel, then the response, then the result; the turn's is_error differs"""
    _, question = await talk.ask_to_touch("late.txt")
    heard = await talk.cli.request("interrupt")
    assert heard["subtype"] == "success"
    cancel = await talk.cli.expect(lambda line: line["type"] == "control_cancel_request", "cancel")
    assert cancel["request_id"] == question["request_id"]
    result = await talk.cli.result()
    assert (result["subtype"], result["is_error"]) == ("error_during_execution", talk.newest)
    talk.cli.allow(question)
    assert (await talk.cli.turn(talk.script("Next.")))["result"] == "Next."
    assert not talk.made("late.txt")


async def test_open_questions_are_listed_by_a_second_initialize(talk: Talk) -> None:
    """measured: an error on 2.1.37 and 2.1.62, a success on 2.1.326; the question is in both, and can be answered"""
    _, question = await talk.ask_to_touch("listed.txt")
    again = await talk.cli.request("initialize")
    assert again["subtype"] == ("success" if talk.newest else "error")
    assert [pending["request_id"] for pending in again["pending_permission_requests"]] == [question["request_id"]]
    talk.cli.allow(question)
    assert (await talk.cli.result())["subtype"] == "success" and talk.made("listed.txt")
