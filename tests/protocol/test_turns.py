"""Which turn took which prompt: prompts and results are not one to one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ropewalk.protocol.messages import Result
from ropewalk.protocol.turns import REMEMBERED, PromptState
from tests.demand import demand
from tests.protocol.captures import every_process, names, on_all, process
from tests.protocol.drive import Drive
from tests.protocol.wire import ask, connection, init, line, result

GO, NONE = ["go"], list[str]()
SLASHES = [["/cost"], ["/hello Bob"], ["/nosuchcommand"], ["/context"], ["/help"], ["/clear"], ["after"]]

TURNS: dict[str, dict[str, list[list[str]]]] = {
    # one turn each on older CLIs, one turn for all that wait on the newest
    "queued_prompts": {"old": [["p1"], ["p2"], ["p3"]], "2.1.326": [["p1"], ["p2", "p3"]]},
    # folded into the running turn, on all
    "queued_prompt_during_tool": {"all": [["p1", "p2 while tool runs"]]},
    # "now" ends the running turn, "later" waits; p1 had no uuid, so nothing tells who took it
    "queued_priority": {"2.1.326": [[], ["now one"], ["later one"]]},
    # a uuid is run once
    "duplicate_uuid": {"all": [["hi"], ["other"]]},
    "duplicate_uuid_replay": {"old": [["hi"], ["no uuid here"]], "2.1.326": [["hi"], []]},
    # a prompt sent while a question is open joins the turn
    "user_while_asked": {"old": [GO], "2.1.326": [["another thing"]]},
    # background work that ends begins a turn that nobody asked for; 2.1.37 says nothing
    "bash_background": {"2.1.37": [GO], "2.1.62": [GO, NONE], "2.1.326": [GO, NONE]},
    "background_stdin_closed": {"2.1.37": [GO], "2.1.62": [GO, NONE], "2.1.326": [GO, NONE]},
    # 2.1.62 gives one result for both turns
    "subagent_background": {"2.1.37": [GO], "2.1.62": [GO], "2.1.326": [GO, NONE]},
    "subagent": {"old": [GO], "2.1.326": [GO, NONE]},
    "interrupt_waiting_api": {"all": [GO, ["next"]]},
    "interrupt_streaming": {"all": [GO, ["next"]]},
    "interrupt_question": {"all": [GO, ["next"]]},
    "bash_deny_interrupt": {"all": [GO, ["next"]]},
    "slash_commands": {"all": SLASHES},
    "compact": {"all": [["hi"], ["/compact"], ["after"]]},
    "cancel_queued": {"old": [["p1"], ["p2"]], "2.1.326": [[]]},
    "resume_unknown": {"all": [["hi"]]},
}


def expected(scenario: str, version: str) -> list[list[str]] | None:
    by_version = TURNS[scenario]
    return by_version.get(version) or by_version.get("all") or by_version.get("old" if version != "2.1.326" else "")


CASES = [
    pytest.param(name, turns, id=name)
    for scenario in TURNS
    for name in on_all(scenario) + on_all(scenario, "ws")
    if (turns := expected(scenario, name.split("/")[0])) is not None
]


@demand("004-12")
@pytest.mark.parametrize(("name", "expected"), CASES)
def test_each_recorded_turn_answers_the_prompts_that_it_took(name: str, expected: list[list[str]]) -> None:
    """measured: every scenario whose prompts can be told apart, on every version that has it. One end a turn."""
    drive = Drive(process(name)).run()
    assert [drive.asked_by(turn) for turn in drive.turns] == expected
    assert drive.conn.turns.count == len(expected)


def test_every_scenario_of_the_table_is_recorded() -> None:
    """ours: a misspelt name would prove nothing."""
    assert {f"2.1.326/stdio/{scenario}" for scenario in TURNS} <= set(names())


def test_a_prompt_is_answered_at_most_once() -> None:
    """ours: whatever was recorded."""
    for one in every_process():
        taken = [uuid for turn in Drive(one).run().turns for uuid in turn.prompts]
        assert len(taken) == len(set(taken)), one.name


def echo(uuid: str, text: str = "…") -> bytes:
    return line(type="user", uuid=uuid, isReplay=True, message={"role": "user", "content": text})


def lifecycle(uuid: str, state: str) -> bytes:
    return line(type="command_lifecycle", command_uuid=uuid, state=state)


NOTIFIED = line(type="system", subtype="task_notification", task_id="b1", status="completed")


@demand("004-12", "004-15")
def test_a_result_ends_its_turn_once_and_what_follows_belongs_to_the_next() -> None:
    """seed: no second answer for a turn; lines after a result are live."""
    conn = connection()
    first = conn.send_prompt("one")
    ended = [m for m in conn.receive_data(init() + echo(first) + result(result="1")) if isinstance(m, Result)]
    assert [one.prompts for one in ended] == [(first,)]
    assert [
        m for m in conn.receive_data(line(type="assistant") + NOTIFIED + line(type="stream_event")) if isinstance(m, Result)
    ] == []
    assert conn.turns.prompts == {first: PromptState.DONE} and conn.turns.count == 1
    second = conn.send_prompt("two")
    (again,) = [m for m in conn.receive_data(init() + echo(second) + result(result="2")) if isinstance(m, Result)]
    assert again.prompts == (second,) and conn.turns.count == 2


def test_an_unprompted_turn_takes_no_prompt_that_was_sent_after_it_began() -> None:
    """measured (2.1.62): nothing marks such a turn; a prompt sent meanwhile gets its own."""
    conn = connection()
    conn.receive_data(NOTIFIED + init())
    mine = conn.send_prompt("mine")
    assert only_result(conn.receive_data(result())).prompts == ()
    assert only_result(conn.receive_data(init() + echo(mine) + result())).prompts == (mine,)


def test_a_prompt_that_was_sent_after_a_turn_began_waits_for_a_receipt() -> None:
    """ours: a turn that nothing announced (a schedule, a hook) can't have been begun by a prompt that came later."""
    conn = connection()
    conn.receive_data(init())
    mine = conn.send_prompt("mine")
    assert only_result(conn.receive_data(result())).prompts == () and conn.turns.waiting == [mine]


def test_an_unprompted_turn_takes_no_prompt_that_was_sent_just_before_it_began() -> None:
    """measured (2.1.62): the notification came in mid-turn, its own turn follows the result."""
    conn = connection()
    first = conn.send_prompt("one")
    conn.receive_data(init() + echo(first) + NOTIFIED + result())
    second = conn.send_prompt("two")
    assert only_result(conn.receive_data(init() + result())).prompts == ()
    assert only_result(conn.receive_data(init() + echo(second) + result())).prompts == (second,)


def test_without_any_receipt_the_oldest_waiting_prompt_is_answered() -> None:
    """measured (2.1.37, 2.1.62): local commands, and ends before the model spoke, give no echo."""
    conn = connection()
    first, second = conn.send_prompt("/cost"), conn.send_prompt("/context")
    assert only_result(conn.receive_data(init() + result())).prompts == (first,)
    assert only_result(conn.receive_data(init() + result())).prompts == (second,)
    assert only_result(conn.receive_data(init() + result())).prompts == ()


def test_a_cli_that_tells_receipts_by_itself_is_never_guessed_about() -> None:
    """measured (2.1.326): every prompt with a uuid has its steps told."""
    conn = connection()
    first, second = conn.send_prompt("one"), conn.send_prompt("two")
    conn.receive_data(lifecycle(first, "queued") + lifecycle(second, "queued"))
    assert only_result(conn.receive_data(init() + result())).prompts == ()
    assert only_result(conn.receive_data(lifecycle(second, "started") + init() + result())).prompts == (second,)


def test_a_turn_that_says_where_it_came_from_takes_no_prompt() -> None:
    """measured (2.1.326): origin on turns that nobody prompted."""
    conn = connection()
    conn.send_prompt("mine")
    assert only_result(conn.receive_data(init() + result(origin={"kind": "task-notification"}))).prompts == ()


def test_uuids_on_init_and_result_are_receipts_too() -> None:
    """measured (2.1.326)"""
    conn = connection()
    first, second, third = (conn.send_prompt(text) for text in "abc")
    conn.receive_data(init(user_message_uuids=[first]))
    assert conn.turns.under_way == [first] and conn.turns.waiting == [second, third]
    assert only_result(conn.receive_data(result(user_message_uuids=[first, second]))).prompts == (first, second)
    assert only_result(conn.receive_data(init() + result(user_message_uuid=third))).prompts == (third,)


@pytest.mark.parametrize("state", ["cancelled", "discarded", "refused"])
def test_a_prompt_that_the_cli_gives_back_is_withdrawn_and_nobody_waits_for_it(state: str) -> None:
    """measured (2.1.326): cancel_async_message takes a queued prompt back."""
    conn = connection()
    uuid = conn.send_prompt("x")
    conn.receive_data(lifecycle(uuid, "queued") + lifecycle(uuid, state) + lifecycle("a stranger", state))
    assert conn.turns.prompts == {uuid: PromptState.WITHDRAWN} and conn.idle


def test_a_prompt_that_is_done_stays_done() -> None:
    """measured (all versions): a repeated uuid is echoed and not run again."""
    conn = connection()
    uuid = conn.send_prompt("x")
    conn.receive_data(init() + echo(uuid) + result())
    conn.send_prompt("x", uuid=uuid)
    conn.receive_data(echo(uuid) + lifecycle(uuid, "completed"))
    assert conn.turns.prompts == {uuid: PromptState.DONE} and conn.turns.waiting == [] and conn.idle


def test_idle_means_that_nothing_runs_waits_or_is_asked() -> None:
    """ours"""
    conn = connection()
    seen = [conn.idle]
    uuid = conn.send_prompt("x")
    seen.append(conn.idle)
    for data in (init() + echo(uuid), ask("q1") + result(), line(type="control_cancel_request", request_id="q1")):
        conn.receive_data(data)
        seen.append(conn.idle)
    assert seen == [True, False, False, False, True]


def test_only_the_last_finished_prompts_are_remembered_and_no_waiting_one_is_forgotten() -> None:
    """ours: a session of a year must not grow for ever."""
    conn = connection()
    conn.receive_data(lifecycle("x", "queued"))
    waiting = conn.send_prompt("never taken")
    for number in range(REMEMBERED + 50):
        conn.send_prompt("x", uuid=f"p{number}")
        conn.receive_data(lifecycle(f"p{number}", "started") + init() + result())
    assert len(conn.turns.prompts) == REMEMBERED
    assert conn.turns.prompts[waiting] is PromptState.SENT and conn.turns.waiting == [waiting]


def only_result(messages: Sequence[object]) -> Result:
    (found,) = [one for one in messages if isinstance(one, Result)]
    return found
