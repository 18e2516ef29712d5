"""Turns, their ends and costs, sub-agents and background work, as events."""

from __future__ import annotations

import json

import pytest

from ropewalk.events import events as e
from ropewalk.sessions.known import Known
from tests.demand import demand
from tests.protocol.captures import on_all, process
from tests.protocol.strategies import SPEAKING
from tests.protocol.wire import init, result
from tests.sessions.told import Told, assistant, of, one, stream, system, text, told, tool, tool_result


@demand("004-12")
def test_each_result_is_one_turn_ended_and_turns_are_numbered() -> None:
    """seed: exactly one; also for turns that nobody asked for. A second init before the result goes on with the same turn."""
    for recorded in SPEAKING:
        events = told(recorded.out)
        results = sum(json.loads(raw)["type"] == "result" for raw in recorded.out)
        ended = of(e.TurnEnded, events)
        assert [event.turn for event in ended] == list(range(1, results + 1)), recorded.name
        begun = [event.turn for event in of(e.TurnStarted, events)]
        assert begun == sorted(set(begun)), recorded.name


def test_turns_go_on_counting_over_processes_and_a_turn_left_open_is_not_gone_on_with() -> None:
    """ours"""
    known = Known(turn=6, running=True, tasks={"old": {"title": "x"}}, cost_usd=1.5)
    heard = Told(known=known)
    assert one(e.TurnStarted, heard.hear(init())).turn == 7
    ended = heard.hear(result(total_cost_usd=0.25))
    assert (one(e.TurnEnded, ended).turn, one(e.TurnEnded, ended).cost_usd, one(e.UsageReported, ended).cost_usd) == (
        7,
        0.25,
        1.75,
    )
    assert known.tasks == {}


def test_a_turn_begins_with_what_init_tells() -> None:
    """seed 004: folder, model, mode, tools."""
    begun = one(e.TurnStarted, told([init()]))
    assert (begun.cwd, begun.model, begun.mode, begun.tools, begun.version) == (
        "/home/user/project", "claude-opus-5-5", "default", ["Bash"], "2.1.326",
    )  # fmt: skip


@demand("004-09", "004-14")
def test_the_answer_is_the_results_text_or_else_the_last_words() -> None:
    """seed"""
    assert one(e.TurnEnded, told([init(), assistant(text("a")), result(result="b")])).text == "b"
    assert one(e.TurnEnded, told([init(), assistant(text("a")), assistant(text("z"), id="m2"), result()])).text == "z"
    theirs = assistant(text("not mine"), parent_tool_use_id="agent1", id="m3")
    assert one(e.TurnEnded, told([init(), assistant(text("a")), theirs, result()])).text == "a"


@demand("004-13")
def test_a_turn_failed_when_it_says_so_or_its_subtype_is_another_than_success() -> None:
    """measured: is_error is false on 2.1.37 and 2.1.62 for interrupts and limits, and true with subtype success elsewhere."""
    for is_error, subtype, failed in [(False, "success", False), (True, "success", True), (False, "error_max_turns", True)]:
        ended = one(e.TurnEnded, told([init(), result(subtype, is_error=is_error)]))
        assert ended.failed is failed and bool(ended.reasons) is failed and bool(ended.advice) is failed


@demand("000-28")
def test_a_result_of_the_error_kind_tells_its_words() -> None:
    """seed: `error`, and `errors` of the other documents."""
    assert one(e.TurnEnded, told([result("error", error="out of rope")])).reasons == ["out of rope"]
    assert one(e.TurnEnded, told([result("error_during_execution", errors=["a", "b"])])).reasons == ["a", "b"]


@pytest.mark.parametrize("scenario", ["interrupt_tool", "interrupt_streaming", "bash_deny_interrupt"])
def test_an_interrupted_turn_is_told_as_such_on_every_version(scenario: str) -> None:
    """measured (all)"""
    for name in on_all(scenario):
        ended = [event for event in of(e.TurnEnded, told(process(name).out)) if event.interrupted]
        assert len(ended) == 1 and ended[0].failed and ended[0].advice == "The turn was interrupted.", name


def test_a_turn_that_said_nothing_at_all_is_told_as_empty() -> None:
    """seed, ours: after a resume that is a silent failure; a compaction, /clear, a local command or an interrupt is none."""
    assert one(e.TurnEnded, told([init(), result(num_turns=0)])).empty
    assert not one(e.TurnEnded, told([init(), result(num_turns=0, result="x")])).empty
    assert not one(e.TurnEnded, told([init(), result(num_turns=0, local_command="/cost")])).empty
    for scenario in ("compact", "slash_commands", "multi_turn", "resume"):
        for name in on_all(scenario):
            assert not any(event.empty for event in of(e.TurnEnded, told(process(name).out))), name


@demand("000-12")
def test_an_answer_cut_off_at_the_limit_of_output_is_told() -> None:
    """seed, measured: the result has it on 2.1.326, only the stream on older ones; a message that goes on clears it."""
    assert one(e.TurnEnded, told([init(), result(stop_reason="max_tokens")])).cut_off
    stop = stream({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})
    begin = stream({"type": "message_start", "message": {"id": "m2"}})
    assert one(e.TurnEnded, told([init(), begin, stop, assistant(text("a")), result()])).cut_off
    assert not one(e.TurnEnded, told([init(), stop, begin, assistant(text("a")), result()])).cut_off
    for reason in ("end_turn", "tool_use", None):
        ended = one(e.TurnEnded, told([init(), assistant(text("a")), result(stop_reason=reason)]))
        assert not ended.cut_off and not ended.advice


@demand("001-26")
@pytest.mark.parametrize(
    ("subtype", "word"),
    [
        ("error_during_execution", "interrupted"),
        ("error_max_turns", "--max-turns"),
        ("error_max_budget_usd", "--max-budget-usd"),
        ("error_max_structured_output_retries", "schema"),
    ],
)
def test_each_kind_of_failed_result_has_a_sentence_on_what_triggers_it(subtype: str, word: str) -> None:
    """seed, measured"""
    ended = one(e.TurnEnded, told([init(), result(subtype, errors=["why"], is_error=False)]))
    assert word in ended.advice and ended.reasons == ["why"] and ended.subtype == subtype


def test_tokens_and_what_the_model_reads_are_reported_with_the_end() -> None:
    """measured: usage of the turn, totals by model, context from the last call of the main thread."""
    usage = {"input_tokens": 3, "output_tokens": 4, "cache_read_input_tokens": 5, "cache_creation_input_tokens": None}
    models = {"claude-opus-5-5": {"inputTokens": 7, "outputTokens": 8, "contextWindow": 200000}, "small": {"inputTokens": 1}}
    call = json.loads(assistant(text("a")))
    call["message"]["usage"] = {"input_tokens": 100, "cache_read_input_tokens": 20}
    theirs = json.loads(assistant(text("b"), parent_tool_use_id="agent1"))
    theirs["message"]["usage"] = {"input_tokens": 9}
    lines = [init(), json.dumps(call).encode(), json.dumps(theirs).encode(), result(usage=usage, modelUsage=models)]
    events = told(lines)
    assert one(e.TurnEnded, events).tokens == e.Tokens(input=3, output=4, cache_read=5)
    reported = one(e.UsageReported, events)
    assert (reported.context_tokens, reported.context_window) == (120, 200000)
    assert reported.models["claude-opus-5-5"].input == 7 and reported.models["small"].input == 1


def test_denials_and_structured_output_are_kept() -> None:
    """seed"""
    ended = one(e.TurnEnded, told([result(permission_denials=[{"tool_name": "Bash"}], structured_output={"a": [1]})]))
    assert (ended.denials, ended.structured) == (1, {"a": [1]})
    assert one(e.TurnEnded, told([result(structured_output="x" * e.TEXT_LIMIT)])).structured is None


def test_prompts_of_a_turn_and_its_cost_come_from_the_connection() -> None:
    """measured (2.1.326): merged prompts; costs are totals of the process."""
    heard = Told(version=(2, 1, 326))
    heard.connection.send_prompt("hi", uuid="u1")
    heard.hear(init(user_message_uuids=["u1"]), result(total_cost_usd=0.5, user_message_uuids=["u1"]))
    heard.hear(init(), result(total_cost_usd=0.75))
    assert [(event.prompts, event.cost_usd) for event in of(e.TurnEnded, heard.events)] == [(["u1"], 0.5), ([], 0.25)]


# -- tasks


def test_every_task_of_every_recording_begins_once_and_ends_once() -> None:
    """measured (2.1.62, 2.1.326): those that the recording's own end cut off, and a stop_task on 2.1.62, stay open."""
    ended_all = 0
    for recorded in SPEAKING:
        events = told(recorded.out)
        begun = [event.task for event in of(e.TaskStarted, events)]
        ended = [event.task for event in of(e.TaskEnded, events)]
        assert len(begun) == len(set(begun)) and len(ended) == len(set(ended)), recorded.name
        still = set(begun) - set(ended)
        open_ended = "2.1.62" in recorded.name and ("stop_task" in recorded.name or "interrupt_with_background" in recorded.name)
        assert set(ended) <= set(begun) and bool(still) is open_ended, recorded.name
        ended_all += len(ended)
    assert ended_all > 20


def test_a_sub_agent_is_told_with_its_title_its_progress_and_its_end() -> None:
    """measured (2.1.326)"""
    events = told(process("2.1.326/stdio/subagent").out)
    begun, ended = one(e.TaskStarted, events), one(e.TaskEnded, events)
    assert (begun.title, begun.does, begun.background) == ("look around", "general-purpose", True)
    progress = next(event for event in of(e.TaskChanged, events) if event.last_tool)
    assert (progress.last_tool, progress.tools, progress.tokens) == ("Read", 1, 112)
    assert (ended.status, ended.summary, ended.tool_use) == ("completed", "Sub answer. ", begun.tool_use)
    assert ended.output_file.endswith(".output")
    inside = [event for event in events if event.parent == begun.tool_use]
    assert {type(event) for event in inside} >= {e.ToolStarted, e.ToolFinished, e.Text}


def test_a_sub_agent_that_was_waited_for_ends_with_its_call() -> None:
    """measured (2.1.62): no other line tells its end."""
    events = told(process("2.1.62/stdio/subagent").out)
    ended = one(e.TaskEnded, events)
    assert ended.status == "completed" and not one(e.TaskStarted, events).background
    assert ended.tool_use in {event.tool_use for event in of(e.ToolFinished, events)}


def test_a_task_that_is_only_listed_is_told_at_the_end_of_the_turn_and_ends_when_it_is_listed_no_more() -> None:
    """ours: 2.1.326 says task_started right after the list; if it does not, the task is not hidden."""
    heard = Told()
    heard.hear(init(), system("background_tasks_changed", tasks=[{"task_id": "b1", "description": "dev server"}]))
    begun = one(e.TaskStarted, heard.hear(result()))
    assert (begun.task, begun.title, begun.background) == ("b1", "dev server", True)
    assert one(e.TaskEnded, heard.hear(system("background_tasks_changed", tasks=[]))).task == "b1"


def test_a_task_that_goes_to_the_background_does_not_end_with_its_call() -> None:
    """ours"""
    heard = Told()
    heard.hear(assistant(tool("Bash", {"command": "x"})), system("task_started", task_id="b1", tool_use_id="t1"))
    moved = heard.hear(system("background_tasks_changed", tasks=[{"task_id": "b1"}]))
    assert one(e.TaskChanged, moved).background is True
    assert of(e.TaskEnded, heard.hear(tool_result(details={"backgroundTaskId": "b1"}))) == []
    assert heard.translator.known.tasks["b1"]["background"] is True


def test_a_stopped_task_of_a_cli_that_does_not_tell_it_is_ended_once() -> None:
    """measured (2.1.62)"""
    heard = Told()
    heard.hear(system("task_started", task_id="b1", tool_use_id="t1", description="wait"))
    assert one(e.TaskEnded, heard.translator.task_stopped("b1", 5.0)).status == "stopped"
    assert heard.translator.task_stopped("b1", 5.0) == []


def test_what_a_process_leaves_open_is_ended_with_it() -> None:
    """ours: no row of a transcript turns for ever."""
    heard = Told()
    heard.hear(init(), assistant(tool("Bash", {"command": "x"})), system("task_started", task_id="b1", description="wait"))
    left = heard.translator.gone(9.0)
    assert [(type(event), event.at, event.process) for event in left] == [(e.ToolFinished, 9.0, "p1"), (e.TaskEnded, 9.0, "p1")]
    assert one(e.ToolFinished, left).failed and one(e.TaskEnded, left).status == "lost"
    assert heard.translator.gone(9.0) == [] and not heard.translator.known.running


def test_the_sub_agent_that_asks_is_named_by_what_it_was_sent_to_do() -> None:
    """measured: by its task on 2.1.62 and 2.1.326; 2.1.37 tells no tasks, so by the one call that runs."""
    heard = Told()
    heard.hear(system("task_started", task_id="a1", description="look around"))
    assert heard.translator.agent_words("a1") == "look around"
    assert heard.translator.agent_words(None) is None and heard.translator.agent_words("a2") == "a2"
    heard.hear(assistant(tool("Task", {"description": "Find callers"})))
    assert heard.translator.agent_words("a2") == "Find callers"
