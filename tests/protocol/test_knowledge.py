"""What a connection knows besides prompts and questions: cost, context, mode, model, session id, version, background work."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.protocol.costs import CostMeter
from ropewalk.protocol.messages import Result
from ropewalk.protocol.versions import parse_version
from tests.protocol.captures import every_process, on_all, process, processes
from tests.protocol.drive import Drive
from tests.protocol.wire import V37, V62, V326, connection, init, line, result

# -- cost


def costs(name: str, number: int = 0, **options: Any) -> list[float]:
    return [round(turn.cost_usd, 6) for turn in Drive(process(name, number), **options).run().turns]


@pytest.mark.parametrize("name", on_all("multi_turn_usage"))
def test_the_cost_of_a_turn_is_the_difference_of_totals(name: str) -> None:
    """measured (all versions): totals add up over the process; summing them would count turns again and again."""
    totals = [one["total_cost_usd"] for one in process(name).said if one["type"] == "result"]
    assert costs(name) == [round(now - before, 6) for before, now in zip([0.0, *totals], totals, strict=False)]
    assert sum(costs(name)) == pytest.approx(totals[-1]) and len(totals) == 3


def test_over_every_recorded_process_the_turns_add_up_to_what_it_reports() -> None:
    """measured: but for /clear, which counts anew."""
    for one in every_process():
        totals = [found["total_cost_usd"] for found in one.said if found["type"] == "result"]
        if totals and "slash_commands" not in one.name:
            drive = Drive(one).run()
            assert drive.conn.cost_usd == pytest.approx(totals[-1]), one.name
            assert all(turn.cost_usd >= 0 for turn in drive.turns)


@pytest.mark.parametrize("scenario", ["resume", "fork", "continue_last", "stdin_closed_tool", "sigterm_tool"])
@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.326"])
def test_a_resumed_process_does_not_pay_again_for_what_came_before(scenario: str, version: str) -> None:
    """measured: 2.1.326 goes on from the stored total, also for a fork and after SIGTERM; older ones begin at 0."""
    name = f"{version}/stdio/{scenario}"
    before = Drive(process(name)).run().conn.cost_usd
    later = costs(name, 1, known_cost=before)
    reported = [one["total_cost_usd"] for one in process(name, 1).said if one["type"] == "result"]
    assert before > 0 and len(later) == len(reported) == 1
    assert reported[0] == pytest.approx(later[0] + (before if version == "2.1.326" else 0))
    turn = 0.0008 if version == "2.1.326" else 0.001
    unreported = turn if version == "2.1.326" and scenario == "sigterm_tool" else 0  # a call of the turn that TERM cut off
    assert later[0] == turn + unreported


@pytest.mark.parametrize("name", on_all("sigkill_tool") + on_all("sigkill_stream"))
def test_after_a_kill_the_count_begins_at_nothing(name: str) -> None:
    """measured (all versions): so whoever resumes after one knows no cost before it."""
    assert costs(name, 1, known_cost=0.0) == [0.0008 if name.startswith("2.1.326") else 0.001]


def test_a_first_total_below_the_known_one_is_a_count_from_nothing() -> None:
    """measured (2.1.326): after SIGKILL it begins at 0."""
    conn = connection(known_cost=5.0)
    conn.receive_data(init() + result(total_cost_usd=0.25))
    assert conn.cost_usd == 0.25
    conn.receive_data(init() + result(total_cost_usd=0.75))
    assert conn.cost_usd == 0.75


@pytest.mark.parametrize(("version", "cost"), [("2.1.37", 7.0), ("2.1.62", 7.0), ("2.1.326", 2.0)])
def test_what_was_known_before_is_taken_off_only_where_the_cli_counts_on(version: str, cost: float) -> None:
    """measured: a first turn that costs more than all before it is not mistaken for a count that goes on."""
    conn = connection(known_cost=5.0)
    conn.receive_data(init(version=version) + result(total_cost_usd=7.0))
    assert conn.cost_usd == cost
    conn.receive_data(init(version=version) + result(total_cost_usd=8.0))
    assert conn.cost_usd == cost + 1.0


def test_clear_begins_to_count_anew() -> None:
    """measured (2.1.326): the total falls to 0 and the session id changes."""
    assert costs("2.1.326/stdio/slash_commands") == [0, 0.0008, 0.0008, 0, 0, 0, 0.0008]
    conn = connection()
    conn.receive_data(result(total_cost_usd=0.5) + line(type="conversation_reset") + result(total_cost_usd=0.75))
    assert conn.cost_usd == 1.25


@pytest.mark.parametrize("name", on_all("max_budget"))
def test_a_turn_over_budget_costs_what_the_total_says_though_its_usage_is_nothing(name: str) -> None:
    """measured (all versions): the difference is right, ``usage`` is not."""
    first, second = Drive(process(name)).run().turns[:2]
    assert first.usage is not None and first.usage.output_tokens == 0
    assert first.cost_usd >= 0.5 and second.cost_usd == 0


@pytest.mark.parametrize("odd", [None, float("nan"), float("inf"), -1.0])
def test_an_odd_total_neither_costs_nor_poisons_the_count(odd: float | None) -> None:
    """ours"""
    meter = CostMeter()
    assert [meter.turn(1.0), meter.turn(odd), meter.turn(1.5)] == [1.0, 0.0, 0.5]
    assert meter.spent == 1.5


# -- context


def usage(tokens: int, cached: int = 0) -> dict[str, int]:
    return {"input_tokens": tokens, "cache_read_input_tokens": cached, "cache_creation_input_tokens": 1, "output_tokens": 50}


@pytest.mark.parametrize("lazy", [False, True], ids=["typed", "lazy"])
def test_the_context_is_what_the_model_read_at_its_last_call_of_the_main_thread(lazy: bool) -> None:
    """measured: usage on assistant lines is that of message_start; sub-agents and made-up lines don't count."""
    conn = connection(lazy=lazy)

    def hear(**fields: Any) -> int:
        raw = json.dumps(fields, separators=(",", ":")).encode()
        conn.receive_data(raw + b"\n")
        return conn.context_tokens

    def assistant(size: dict[str, int] | None, parent: str | None = None, model: str = "m") -> int:
        message = {"model": model, "content": [], "usage": size} if size else {"model": model, "content": []}
        return hear(type="assistant", message=message, parent_tool_use_id=parent)

    def start(size: int, parent: str | None = None) -> int:
        event = {"type": "message_start", "message": {"model": "m", "usage": usage(size)}}
        return hear(type="stream_event", event=event, parent_tool_use_id=parent)

    assert conn.context_tokens == 0
    assert start(10) == 11
    assert assistant(usage(20, cached=7)) == 28
    assert assistant(usage(9999), parent="toolu_1") == 28
    assert start(9999, parent="toolu_1") == 28
    assert assistant(usage(0), model="<synthetic>") == 28
    assert assistant(None) == 28
    assert hear(type="result", subtype="success", usage=usage(5000)) == 28
    assert start(30) == 31


@pytest.mark.parametrize("name", on_all("text_partial") + on_all("subagent") + on_all("api_401"))
def test_the_recorded_context_is_that_of_the_last_real_call(name: str) -> None:
    """measured"""
    real = [
        one["message"]["usage"]["input_tokens"]
        for one in process(name).said
        if one["type"] == "assistant" and one["parent_tool_use_id"] is None and one["message"]["model"] != "<synthetic>"
    ]
    assert Drive(process(name)).run().conn.context_tokens == (real[-1] if real else 0)


# -- mode and model

MODES: dict[str, list[str]] = {
    "mode_plan": ["plan"],
    "plan_allow": ["plan", "default"],
    "plan_allow_setmode": ["plan", "acceptEdits"],
    "set_mode_in_answer": ["default", "acceptEdits"],
    "enter_plan_mode": ["default", "plan"],
    "mode_change_while_asked": ["default", "acceptEdits"],
}


@pytest.mark.parametrize(("name", "modes"), [(name, modes) for scenario, modes in MODES.items() for name in on_all(scenario)])
def test_the_mode_is_followed_through_init_status_and_our_own_requests(name: str, modes: list[str]) -> None:
    """measured (all versions)"""
    drive, seen = Drive(process(name)), list[str | None]()
    while drive.step():
        if drive.conn.mode != (seen or [None])[-1]:
            seen.append(drive.conn.mode)
    assert seen == modes


@pytest.mark.parametrize("name", on_all("plan_race") + on_all("plan_allow_one_write"))
def test_an_allow_and_a_mode_in_one_write_end_in_the_mode_that_was_asked_for(name: str) -> None:
    """measured (all versions): no pause is needed."""
    drive = Drive(process(name)).run()
    asked = [
        json.loads(raw)["request"]["mode"] for way, raw in process(name).wire if way == "in" and b'"set_permission_mode"' in raw
    ]
    assert drive.conn.mode == asked[-1]


def test_the_model_is_the_one_that_really_runs() -> None:
    """measured: init names it, whatever was asked for."""
    conn = connection()
    conn.receive_data(init(model="claude-haiku-4-5"))
    assert conn.model == "claude-haiku-4-5"
    conn.receive_data(line(type="system", subtype="init"))
    assert conn.model == "claude-haiku-4-5"


# -- session id, version


def test_the_session_id_follows_clear() -> None:
    """measured (2.1.326): it changes in mid-process."""
    drive, seen = Drive(process("2.1.326/stdio/slash_commands")), list[str]()
    while drive.step():
        if drive.conn.session_id and drive.conn.session_id not in seen:
            seen.append(drive.conn.session_id)
    assert len(seen) == 2 and drive.conn.session_id == seen[1]


@pytest.mark.parametrize("name", on_all("fork"))
def test_a_fork_has_an_id_of_its_own_and_a_resume_keeps_it(name: str) -> None:
    """measured (all versions)"""
    first, forked = (Drive(one).run().conn.session_id for one in processes(name))
    assert first and forked and first != forked
    before, after = (Drive(one).run().conn.session_id for one in processes(name.replace("fork", "resume")))
    assert before == after


@pytest.mark.parametrize("name", on_all("resume_unknown"))
def test_a_resume_that_finds_nothing_names_no_session(name: str) -> None:
    """measured: 2.1.37 and 2.1.62 make an id up there; nothing can be resumed by it."""
    drive = Drive(process(name)).run()
    assert drive.conn.session_id is None and drive.turns[0].failed and drive.turns[0].errors


def test_a_failed_turn_of_a_living_session_does_not_hide_its_id() -> None:
    """ours"""
    conn = connection()
    conn.receive_data(init("s1") + result("error_during_execution", session_id="s1", num_turns=0))
    assert conn.session_id == "s1"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.1.326 (Claude Code)", V326),
        ("2.1.37", V37),
        ("claude 2.1.62\n", V62),
        ("3.0.0-beta", (3, 0, 0)),
        ("", None),
        ("two", None),
    ],
)
def test_versions_are_read_from_what_the_cli_prints(text: str, version: Any) -> None:
    """measured"""
    assert parse_version(text) == version


@pytest.mark.parametrize("name", on_all("text_partial"))
def test_the_version_is_told_by_init(name: str) -> None:
    """measured (all versions)"""
    conn = Drive(process(name)).run().conn
    assert conn.version == parse_version(name.split("/")[0])
    assert bool(conn.capabilities) == name.startswith("2.1.326")


def test_a_version_that_makes_no_sense_does_not_replace_the_one_we_know() -> None:
    """ours"""
    conn = connection(version=V62)
    conn.receive_data(init(version="latest"))
    assert conn.version == V62


# -- background work


def test_background_work_is_known_while_it_runs() -> None:
    """measured (2.1.62, 2.1.326): started, notified; the newest tells the whole list each time."""
    conn = connection()
    conn.receive_data(line(type="system", subtype="task_started", task_id="b1", description="build"))
    conn.receive_data(line(type="system", subtype="task_started", task_id="b2"))
    assert conn.tasks == {"b1": "build", "b2": ""}
    conn.receive_data(line(type="system", subtype="task_notification", task_id="b1", status="completed"))
    assert list(conn.tasks) == ["b2"]
    conn.receive_data(line(type="system", subtype="background_tasks_changed", tasks=[{"task_id": "b3", "description": "x"}, {}]))
    assert conn.tasks["b3"] == "x" and "b2" not in conn.tasks
    conn.receive_data(line(type="system", subtype="background_tasks_changed", tasks=[]))
    assert conn.tasks == {}


@pytest.mark.parametrize("name", on_all("bash_background") + on_all("subagent_background"))
def test_recorded_background_work_is_over_at_the_end(name: str) -> None:
    """measured: 2.1.37 tells nothing of it."""
    drive, most = Drive(process(name)), 0
    while drive.step():
        most = max(most, len(drive.conn.tasks))
    assert drive.conn.tasks == {} and (most > 0) == (not name.startswith("2.1.37"))


def test_results_carry_what_the_connection_worked_out() -> None:
    """ours: prompts and cost of the turn, beside the CLI's own fields."""
    conn = connection()
    uuid = conn.send_prompt("hi")
    (_, ended) = conn.receive_data(init() + result(total_cost_usd=0.5))
    assert isinstance(ended, Result) and (ended.prompts, ended.cost_usd) == ((uuid,), 0.5)
    assert conn.last_turn is not None and conn.last_turn.result is ended and conn.take_notable() == [ended]
