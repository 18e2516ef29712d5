"""Questions of real CLIs through our Client: what they carry, what each answer does, how they end."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

import pytest

from ropewalk import Allow, Deny, LocalProtocolError, Question, RequestFailed, Result, SessionGone
from ropewalk.protocol.control import ControlCancelRequest
from ropewalk.protocol.system import PermissionDenied, Status
from ropewalk.sim.model import Reply, reply, tool
from tests.demand import demand
from tests.real.rig import Place
from tests.real.rig_client import Reading, Stage, client_at
from tests.real.rig_talk import LOOP, command

pytestmark = LOOP

ASKED: dict[str, Any] = {
    "questions": [
        {
            "question": "Which database?",
            "header": "Database",
            "multiSelect": False,
            "options": [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL", "description": "a server"}],
        },
        {
            "question": "Which parts?",
            "header": "Parts",
            "multiSelect": True,
            "options": [{"label": "Auth", "description": "who"}, {"label": "Export", "description": "what"}],
        },
    ]
}


def last_words(stage: Stage) -> str:
    """What the model was told since it last spoke."""
    told = stage.model.requests[-1].messages
    spoke = max(index for index, one in enumerate(told) if one["role"] == "assistant")
    return json.dumps(told[spoke + 1 :])


def outside_file(stage: Stage, name: str) -> str:
    """A file that is there, outside the folder: reading it is asked for."""
    path = stage.place.home.parent / name
    path.write_text("words")
    path.chmod(0o644)
    return str(path)


@demand("000-32", "001-46", "002-12", "003-04", tag="real")
async def test_an_allow_runs_what_was_asked(stage: Stage) -> None:
    """seeds 000–003; measured (all): left out, the input goes back whole; toolUseID goes with it."""
    played = await stage.play(command("echo kept > allowed.txt"), "Done.")
    assert (stage.place.project / "allowed.txt").read_text() == "kept\n"
    assert played.result.permission_denials == [] and len(played.questions) == 1


@demand("000-33", "001-64", tag="real")
async def test_an_edited_input_is_what_runs(stage: Stage) -> None:
    """seeds 000, 001; measured (all)."""

    def elsewhere(question: Question) -> Allow:
        return Allow({**question.input, "command": "touch narrowed.txt"})

    await stage.play(command("touch wide.txt"), "Done.", decide=elsewhere)
    assert stage.made("narrowed.txt") and not stage.made("wide.txt")


@demand("000-36", "004-31", "002-41", "003-05", "001-47", tag="real")
async def test_a_denial_reaches_the_model_and_the_turn_goes_on(stage: Stage) -> None:
    """seeds 000–004; measured (all): the message is the tool's result; the result lists the denial."""
    played = await stage.play(command("touch denied.txt"), "I see.", decide=lambda q: Deny("Explain your plan first."))
    assert not stage.made("denied.txt") and played.result.result == "I see."
    assert "Explain your plan first." in last_words(stage)
    (denial,) = played.result.permission_denials
    assert denial["tool_name"] == "Bash" and denial["tool_input"]["command"] == "touch denied.txt"


@demand("001-47", "002-15", "003-51", tag="real")
async def test_a_denial_with_interrupt_ends_the_turn_and_not_the_session(stage: Stage) -> None:
    """seeds 001–003; measured (all)."""
    played = await stage.play(command("touch stopped.txt"), "Never said.", decide=lambda q: Deny("Stop.", interrupt=True))
    assert played.result.failed and played.result.interrupted and not stage.made("stopped.txt")
    assert (await stage.play("On we go.")).result.result == "On we go."


@demand("001-45", "002-18", tag="real")
async def test_a_question_carries_what_a_card_needs(stage: Stage) -> None:
    """seeds 001, 002; measured (all): suggestions, the path that made it ask, the reason, the tool's id; words on 2.1.326."""
    outside = outside_file(stage, "outside.txt")
    played = await stage.play(reply(tool("Read", file_path=outside)), "Done.", decide=lambda q: Deny("No."))
    (asked,) = [question.asked for question in played.questions]
    assert asked.tool_name == "Read" and asked.input == {"file_path": outside} and asked.tool_use_id
    assert asked.blocked_path == outside or asked.decision_reason
    assert asked.permission_suggestions and all("destination" in one for one in asked.permission_suggestions)
    if stage.newest:
        assert asked.display_name == "Read" and asked.decision_reason_type


@demand("001-66", "001-65", "002-13", "003-10", tag="real")
async def test_a_rule_given_with_an_allow_holds_for_the_session(stage: Stage) -> None:
    """seeds 001–003; measured (all): by content, by whole tool, taken away again. (Older CLIs ask for paths all the same.)"""
    rules = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": "frobnicate:*"}],
        "behavior": "allow",
        "destination": "session",
    }
    first = await stage.play(command("frobnicate 1"), "Done.", decide=lambda q: Allow(updated_permissions=[rules]))
    second = await stage.play(command("frobnicate 2"), "Done.")
    other = await stage.play(command("twiddle 3"), "Done.")
    assert [len(one.questions) for one in (first, second, other)] == [1, 0, 1]
    whole = {**rules, "rules": [{"toolName": "Bash"}]}
    await stage.play(command("twiddle 4"), "Done.", decide=lambda q: Allow(updated_permissions=[whole]))
    assert not (await stage.play(command("twiddle 5"), "Done.")).questions
    gone = [{**rules, "type": "removeRules"}, {**whole, "type": "removeRules"}]
    outside = reply(tool("Read", file_path=outside_file(stage, "no.txt")))
    await stage.play(outside, "Done.", decide=lambda q: Allow(updated_permissions=gone))
    assert (await stage.play(command("frobnicate 6"), "Done.")).questions


@demand("001-65", "003-10", tag="real")
@pytest.mark.parametrize("destination", ["session", "localSettings", "projectSettings", "userSettings", "cliArg"])
async def test_all_six_kinds_of_updates_pass_to_every_destination(stage: Stage, destination: str) -> None:
    """seeds 001, 003; measured (all): what is sent is taken; files are written where settings live."""
    folder = str(stage.place.home)
    rule: dict[str, Any] = {"rules": [{"toolName": "WebFetch", "ruleContent": "domain:example.com"}], "behavior": "deny"}
    updates: list[dict[str, Any]] = [
        {"type": "addRules", **rule},
        {"type": "replaceRules", **rule},
        {"type": "removeRules", **rule},
        {"type": "addDirectories", "directories": [folder]},
        {"type": "removeDirectories", "directories": [folder]},
        {"type": "setMode", "mode": "default"},
    ]
    told = [{**update, "destination": destination} for update in updates]
    name = f"updates-{destination}.txt"
    played = await stage.play(command(f"touch {name}"), "Done.", decide=lambda q: Allow(updated_permissions=told))
    assert stage.made(name) and played.result.permission_denials == []
    if destination == "localSettings":
        assert (stage.place.project / ".claude" / "settings.local.json").exists()


@demand("003-35", "003-36", "003-38", "001-27", tag="real")
async def test_a_mode_set_in_the_answer_counts_before_the_tool_runs(stage: Stage) -> None:
    """seeds 001, 003; measured (all): setMode in an answer works; no pause is needed, and a status line tells."""
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    write = reply(tool("Write", file_path=str(stage.place.project / "w1.txt"), content="1"))
    again = reply(tool("Write", file_path=str(stage.place.project / "w2.txt"), content="2"))
    played = await stage.play(write, again, "Done.", decide=lambda q: Allow(updated_permissions=[mode]))
    assert len(played.questions) == 1 and stage.made("w1.txt") and stage.made("w2.txt")
    assert "acceptEdits" in [one.permissionMode for one in played.of(Status)] and stage.client.mode == "acceptEdits"


@demand("003-35", "003-36", "003-08", "001-49", tag="real")
async def test_an_answer_and_a_mode_change_right_behind_it_keep_their_order(stage: Stage) -> None:
    """seed 003, measured (all): both lines at once; the mode is the one we named, every time."""
    for round_ in range(3):
        reading = Reading(stage.client.query(stage.script(reply(tool("AskUserQuestion", **ASKED)), "Done.")))
        question = await reading.question()
        answers = {choice.question: choice.options[0].label for choice in question.choices}
        await stage.client.control_response(question.request_id, question.choose(answers))
        wanted = ("acceptEdits", "plan", "default")[round_]
        assert await stage.client.set_permission_mode(wanted) == wanted
        await reading.until(Result)
        assert stage.client.mode == wanted and "SQLite" in last_words(stage)


@demand("000-21", tag="real")
async def test_questions_of_readers_are_open_together_and_answered_in_any_order(stage: Stage) -> None:
    """seed 000; measured (all): tools that only read are asked at the same time."""
    files = [outside_file(stage, name) for name in ("one.txt", "two.txt")]
    both = reply(*(tool("Read", file_path=path) for path in files))
    reading = Reading(stage.client.query(stage.script(both, "Done.")))
    first, second = await reading.question(), await reading.question()
    assert {question.request_id for question in stage.client.questions} == {first.request_id, second.request_id}
    assert first.request_id != second.request_id
    await stage.client.control_response(second.request_id, Deny("Not two."))
    await stage.client.control_response(first.request_id, Deny("Not one."))
    await reading.until(Result)
    results = stage.model.requests[-1].results
    told = {question.asked.tool_use_id: question.input["file_path"] for question in (first, second)}
    assert all(
        ("Not one." if path == first.input["file_path"] else "Not two.") in results[str(use)] for use, path in told.items()
    )


@demand("001-36", "001-48", "003-52", "002-11", tag="real")
async def test_an_interrupt_withdraws_the_question_and_ends_the_turn(stage: Stage) -> None:
    """seeds 001–003; measured (all): the CLI cancels its own question; an answer that comes late is refused here."""
    reading = Reading(stage.client.query(stage.script(command("touch late.txt"), "Never.")))
    question = await reading.question()
    await stage.client.interrupt()
    await reading.until(ControlCancelRequest, lambda one: one.request_id == question.request_id)
    result = await reading.until(Result)
    assert result.failed and result.interrupted and not stage.client.questions
    with pytest.raises(LocalProtocolError, match="withdrawn"):
        await stage.client.control_response(question.request_id, Allow())
    assert not stage.made("late.txt")
    assert (await stage.play("Next.")).result.result == "Next."


@demand("001-48", "002-11", tag="real")
async def test_an_interrupt_stops_a_stream_and_harms_nothing_when_idle(stage: Stage) -> None:
    """seeds 001, 002; measured (all)."""
    prompt = stage.script(reply("Word " * 200, hold="stream", hold_after=5))
    reading = Reading(stage.client.query(prompt))
    await stage.model.asked(lambda asked: prompt in asked.prompt)
    await stage.client.interrupt()
    assert (await reading.until(Result)).interrupted
    stage.model.release("stream")
    await stage.client.interrupt()
    assert (await stage.play("After.")).result.result == "After."


@demand("001-67", tag="real")
async def test_a_question_waits_while_other_things_go_on(stage: Stage) -> None:
    """seed 001; measured (all): no time-out at the CLI's side; a changed mode does not answer it."""
    reading = Reading(stage.client.query(stage.script(command("touch waited.txt"), "Done.")))
    question = await reading.question()
    for mode in ("acceptEdits", "default"):
        await stage.client.set_permission_mode(mode)
        await stage.client.mcp_status()
    assert [one.request_id for one in stage.client.questions] == [question.request_id]
    await stage.client.control_response(question.request_id, Allow())
    await reading.until(Result)
    assert stage.made("waited.txt")


@demand("000-38", "002-24", "002-25", "002-26", "002-28", tag="real")
async def test_choices_are_read_and_their_answers_reach_the_model(stage: Stage) -> None:
    """seeds 000, 002; measured (all): one label, several labels, free text; notes from 2.1.62 on."""

    def answer(question: Question) -> Allow:
        first, second = question.choices
        assert (first.header, first.multiple, second.multiple) == ("Database", False, True)
        assert [(option.label, option.description) for option in first.options] == [
            ("SQLite", "one file"),
            ("PostgreSQL", "a server"),
        ]
        return question.choose(
            {first.question: "Something of our own", second.question: ["Auth", "Export"]}, {first.question: "small"}
        )

    played = await stage.play(reply(tool("AskUserQuestion", **ASKED)), "Thanks.", decide=answer)
    (question,) = played.questions
    assert question.kind == "choice" and question.needs_person
    told = last_words(stage)
    for words in ("Which database?", "Something of our own", "Which parts?", "Auth, Export"):
        assert words in told, words
    assert ("small" in told) == (stage.version != "2.1.37")


@demand("002-27", tag="real")
async def test_skipping_a_choice_is_a_denial_and_the_model_goes_on(stage: Stage) -> None:
    """seed 002; measured (all)."""
    played = await stage.play(
        reply(tool("AskUserQuestion", **ASKED)), "Fine.", decide=lambda q: Deny("Skipped: decide yourself.")
    )
    assert played.result.result == "Fine." and "decide yourself" in last_words(stage)


PLAN = "# The plan\n1. Make a folder."
PLAN_FILE = re.compile(r"/[^\"\s]*/\.claude/plans/[^\"\s]+?\.md")


async def planning(stage: Stage, *after: Reply | str, **asked: object) -> Reading:
    """In plan mode: the model learns where its plan goes, writes it there and asks to begin; up to the question."""
    await stage.client.set_permission_mode("plan")
    first = stage.script("Thinking about it.")
    await stage.play(prompt=first)
    path = PLAN_FILE.findall(json.dumps(stage.calls(first)[-1].body))[-1]
    written = reply(tool("Write", file_path=path, content=PLAN))
    return Reading(stage.client.query(stage.script(written, reply(tool("ExitPlanMode", **asked)), *after)))


@demand("002-19", "003-02", "002-20", "003-41", tag="real")
async def test_a_plan_comes_with_its_text_and_is_carried_out_as_it_is(stage: Stage) -> None:
    """seeds 002, 003; measured (all): the plan file's text is in the input; an allow leaves plan mode and grants nothing."""
    prompts = [{"tool": "Bash", "prompt": "make folders"}]
    reading = await planning(stage, command("mkdir planned"), "Done.", allowedPrompts=prompts)
    question = await reading.question()
    assert question.kind == "plan" and question.needs_person and question.plan == PLAN
    assert question.input["allowedPrompts"] == prompts
    await stage.client.control_response(question.request_id, Allow())
    next_question = await reading.question()
    assert next_question.tool_name == "Bash" and stage.client.mode == "default"
    assert "# The plan" in last_words(stage)
    await stage.client.control_response(next_question.request_id, Allow())
    await reading.until(Result)
    assert stage.made("planned")


@demand("002-21", "002-22", tag="real")
async def test_a_plan_is_sent_back_with_words_or_rejected(stage: Stage) -> None:
    """seed 002; measured (all): the words are the model's feedback, the mode stays plan, the model asks again."""
    reading = await planning(stage, reply(tool("ExitPlanMode")), "Given up.")
    for words in ("Use one folder less.", "Rejected."):
        question = await reading.question()
        await stage.client.control_response(question.request_id, Deny(words))
    result = await reading.until(Result)
    told = json.dumps(stage.model.requests[-1].body["messages"])
    assert "Use one folder less." in told and "Rejected." in told and stage.client.mode == "plan"
    assert [denial["tool_name"] for denial in result.permission_denials] == ["ExitPlanMode", "ExitPlanMode"]


@demand("002-23", tag="real")
async def test_an_edited_plan_is_what_the_model_reads_where_the_cli_takes_edits(stage: Stage) -> None:
    """seed 002; measured: 2.1.326 tells the edited plan; older ones go by the file: there an edit is a denial with its text."""
    edited = PLAN + "\n2. And a second one."
    reading = await planning(stage, reply(tool("ExitPlanMode")) if not stage.newest else "Done.", "Done.")
    question = await reading.question()
    if stage.newest:
        await stage.client.control_response(question.request_id, Allow({**question.input, "plan": edited}))
    else:
        await stage.client.control_response(question.request_id, Deny(f"Take this plan instead:\n{edited}"))
        await stage.client.control_response((await reading.question()).request_id, Allow())
    await reading.until(Result)
    assert "And a second one." in json.dumps(stage.model.requests[-1].body["messages"])


@demand("001-69", "001-63", tag="real")
async def test_every_mode_is_taken_and_shown_and_asks_as_it_should(stage: Stage) -> None:
    """seeds 001, 003; measured (all): dontAsk refuses what it would ask, acceptEdits asks for no edit, bypass for nothing."""
    write = reply(tool("Write", file_path=str(stage.place.project / "modes.txt"), content="1"))
    await stage.client.set_permission_mode("dontAsk")
    refused = await stage.play(command("mkdir refused"), "Well.")
    assert not refused.questions and not stage.made("refused") and stage.client.mode == "dontAsk"
    assert bool(refused.of(PermissionDenied)) == stage.newest
    await stage.client.set_permission_mode("acceptEdits")
    assert not (await stage.play(write, "Done.")).questions and stage.made("modes.txt")
    for mode in ("nonsense", "delegate"):
        with pytest.raises(LocalProtocolError):
            await stage.client.set_permission_mode(mode)
    if stage.newest:
        with pytest.raises(RequestFailed) as refusal:
            await stage.client.set_permission_mode("bypassPermissions")
        assert refusal.value.code == "bypass_not_launched" and refusal.value.reason
        assert await stage.client.set_permission_mode("auto") == "auto"
    else:
        await stage.client.set_permission_mode("bypassPermissions")
        assert not (await stage.play(command("mkdir bypassed"), "Done.")).questions and stage.made("bypassed")


@demand("001-49", "001-63", "001-69", tag="real")
async def test_a_session_launched_for_it_goes_to_bypass(stage: Stage, place: Place, cli_version: str) -> None:
    """seed 001; measured (all): as an ordinary user; only choices and plans are still asked."""
    async with client_at(place, cli_version, stage.model, permission_mode="bypassPermissions") as client:
        own = Stage(cli_version, stage.model, place, client)
        own.counter = stage.counter
        played = await own.play(
            command("mkdir free"), reply(tool("AskUserQuestion", **ASKED)), "Done.", decide=lambda q: Deny("Skip.")
        )
        assert client.mode == "bypassPermissions" and own.made("free")
        assert [question.tool_name for question in played.questions] == ["AskUserQuestion"]


@demand("001-68", tag="real")
async def test_when_the_process_goes_every_open_request_ends_with_a_reason(stage: Stage, place: Place, cli_version: str) -> None:
    """seed 001; ours: killed with -9 while it asks; questions are lost, waiters fail at once with the exit code."""
    async with client_at(place, cli_version, stage.model) as client:
        reading = Reading(client.query(stage.script(command("mkdir lost"), "Never.")))
        question = await reading.question()
        assert client.pid
        os.kill(client.pid, signal.SIGKILL)
        with pytest.raises(SessionGone) as gone:
            await reading.until(Result)
        assert gone.value.exit_code == -signal.SIGKILL and not client.questions
        with pytest.raises(SessionGone):
            await client.control_response(question.request_id, Allow())
        with pytest.raises(SessionGone):
            await client.mcp_status()
