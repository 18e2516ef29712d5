"""Roads that break and repeat themselves: nothing is told twice, nothing stays open that is not, nothing waits for ever."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.errors import RequestFailed
from ropewalk.protocol.answers import Allow, Deny
from ropewalk.protocol.connection import Connection
from ropewalk.protocol.control import ControlCancelRequest, ControlRequest, ControlResponse
from ropewalk.protocol.hearing import REPEATS
from ropewalk.protocol.messages import LinkLost, LinkRestored, Message, Result
from ropewalk.protocol.state import State
from ropewalk.protocol.versions import Version
from tests.protocol.captures import process
from tests.protocol.drive import Drive
from tests.protocol.wire import Heard, ask, connection, failure, init, line, question, result, said, success


def linked(**options: Any) -> Connection:
    """A link that has been greeted."""
    conn = connection(link=True, **options)
    conn.receive_data(success(conn.send_initialize({"hooks": {"Stop": []}}), {}))
    conn.data_to_send()
    return conn


def open_asks(conn: Connection, *request_ids: str) -> None:
    conn.receive_data(b"".join(ask(one) for one in request_ids))


def test_lines_that_are_sent_again_after_a_reconnect_are_told_once() -> None:
    """measured (2.1.120): the whole buffer comes again, init, assistant and result; a replayed result is no new turn."""
    for name in ("2.1.120/ws/ws_drop_idle", "2.1.120/ws/ws_drop_question"):
        recorded = process(name)
        uuids = [one["uuid"] for one in recorded.said if "uuid" in one]
        conn = connection(link=True)
        told = conn.receive_data(recorded.stream)
        known = [one.uuid for one in told if isinstance(one, Message) and one.uuid]
        assert len(known) == len(set(uuids)) < len(uuids)
        assert conn.turns.count == 1 == sum(isinstance(one, Result) for one in told)
        assert conn.last_turn is not None and conn.cost_usd == conn.last_turn.result.total_cost_usd


def test_on_a_pipe_nothing_is_taken_for_a_repeat() -> None:
    """ours: a pipe does not repeat itself."""
    conn = connection()
    assert len(conn.receive_data(line(type="assistant", uuid="u1") * 3)) == 3


def test_one_uuid_on_two_kinds_of_lines_is_no_repeat() -> None:
    """measured: the echo of a prompt has the prompt's own uuid; others may share it."""
    conn = connection(link=True)
    lines = line(type="user", uuid="u1", isReplay=True) + line(type="conversation_reset", uuid="u1")
    assert len(conn.receive_data(lines + lines)) == 2


def test_lines_without_a_uuid_are_never_dropped_as_repeats() -> None:
    """ours: control lines and garbage have none."""
    conn = connection(link=True)
    assert len(conn.receive_data(line(type="keep_alive") * 2 + b"oops\noops\n")) == 4


def test_only_the_last_uuids_are_remembered() -> None:
    """ours: a link of a year must not grow for ever."""
    conn = connection(link=True)
    conn.receive_data(b"".join(b'{"type":"assistant","uuid":"%d"}\n' % number for number in range(REPEATS + 10)))
    assert conn.receive_data(line(type="assistant", uuid=str(REPEATS))) == []
    assert len(conn.receive_data(line(type="assistant", uuid="0"))) == 1


def test_after_a_reconnect_we_say_initialize_again_and_what_may_be_lost() -> None:
    """measured (2.1.37, 2.1.62): what was written while the link was down is lost on both sides."""
    conn = linked()
    taken, lost = conn.send_prompt("taken"), conn.send_prompt("lost")
    conn.send_request("mcp_status")
    answered = conn.send_request("interrupt")
    conn.receive_data(line(type="user", uuid=taken, isReplay=True) + success(answered))
    conn.data_to_send()
    conn.relinked()
    again, request, prompt = said(conn)
    assert again["request"] == {"subtype": "initialize", "hooks": {"Stop": []}}
    assert request["request"] == {"subtype": "mcp_status"}
    assert (prompt["uuid"], prompt["message"]["content"]) == (lost, "lost")
    assert conn.data_to_send() == b""


def test_what_was_not_written_yet_is_written_once() -> None:
    """ours: queued while the link was down, and repeated because unanswered: the same line."""
    conn = linked()
    conn.send_request("mcp_status")
    conn.send_prompt("hi")
    conn.relinked()
    assert [one.get("request", {}).get("subtype") or one["type"] for one in said(conn)] == ["initialize", "mcp_status", "user"]


def test_a_link_that_was_never_greeted_is_not_greeted_by_itself() -> None:
    """ours: a first initialize with nothing in it would make the real one an error (measured, 2.1.37 and 2.1.62)."""
    conn = connection(link=True)
    conn.relinked()
    assert conn.data_to_send() == b"" and conn.state is State.NEW


@pytest.mark.parametrize("heard", [False, True], ids=["it was lost", "its answer was lost"])
def test_an_initialize_that_was_under_way_is_said_again_and_its_caller_gets_an_answer(heard: bool) -> None:
    """measured (2.1.37, 2.1.62): the second is an error if the first was heard; that it was heard is all its caller needs."""
    conn, outcome = connection(link=True), Heard()
    request_id = conn.send_initialize({"hooks": {}}, outcome)
    conn.data_to_send()
    conn.relinked()
    (again,) = said(conn)
    assert again["request_id"] == request_id
    conn.receive_data(
        failure(request_id, "Already initialized", pending_permission_requests=[]) if heard else success(request_id, {"pid": 1})
    )
    assert outcome.outcomes == ([{}] if heard else [{"pid": 1}])
    assert conn.state is State.READY


def test_an_initialize_that_is_refused_for_another_reason_is_still_refused() -> None:
    """ours: without a broken link an error is an error."""
    conn, outcome = connection(link=True), Heard()
    conn.receive_data(failure(conn.send_initialize({}, outcome), "bad hooks"))
    assert isinstance(outcome.outcomes[0], RequestFailed)


def listed(*request_ids: str) -> list[dict[str, Any]]:
    return [json.loads(ask(one)) for one in request_ids]


def recovery(conn: Connection, *still_open: str) -> list[Any]:
    """The link comes back; the CLI says what is open."""
    conn.relinked()
    again = said(conn)[0]["request_id"]
    return conn.receive_data(failure(again, "Already initialized", pending_permission_requests=listed(*still_open)))


def test_questions_that_are_still_open_stay_open_and_are_not_told_again() -> None:
    """measured (2.1.37, 2.1.62, 2.1.120)"""
    conn = linked()
    open_asks(conn, "q1", "q2")
    assert [type(one) for one in recovery(conn, "q1", "q2")] == [ControlResponse]
    assert [one.request_id for one in conn.questions] == ["q1", "q2"]


def test_a_question_that_was_asked_while_the_link_was_down_is_opened_and_told() -> None:
    """measured: it is not sent again, but listed with its id."""
    conn = linked()
    _, asked = recovery(conn, "q9")
    assert isinstance(asked, ControlRequest) and asked.request_id == "q9"
    assert conn.take_notable() == [asked]
    conn.answer("q9", Allow())
    assert said(conn)[0]["response"]["request_id"] == "q9"


def test_an_answer_that_was_lost_on_the_way_is_said_again() -> None:
    """ours: the CLI still lists what we answered; a second answer does no harm (measured)."""
    conn = linked()
    open_asks(conn, "q1")
    conn.answer("q1", Deny("no"))
    answer = conn.data_to_send()
    assert [type(one) for one in recovery(conn, "q1")] == [ControlResponse]
    assert conn.data_to_send() == answer
    recovery(conn)
    assert conn.data_to_send() == b""


def test_an_answer_that_is_on_its_way_over_the_new_link_is_not_said_twice() -> None:
    """measured (2.1.37): a second allow can run the tool again; the list was made before the first one arrived."""
    conn = linked()
    open_asks(conn, "q1")
    conn.relinked()
    again = said(conn)[0]["request_id"]
    conn.answer("q1", Allow())
    assert conn.data_to_send()
    conn.receive_data(failure(again, "Already initialized", pending_permission_requests=listed("q1")))
    assert conn.data_to_send() == b""


@pytest.mark.parametrize(("version", "named"), [((2, 1, 37), False), ((2, 1, 62), True), ((2, 1, 326), True)])
def test_an_answer_names_its_tool_only_to_clis_that_run_it_once_all_the_same(version: Version, named: bool) -> None:
    """measured: 2.1.37 runs a tool again when an allow that names it comes twice."""
    conn = connection(version=version)
    conn.receive_data(question("q1", "can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="t1"))
    conn.answer("q1", Allow())
    assert ("toolUseID" in said(conn)[0]["response"]["response"]) is named


@pytest.mark.parametrize(("version", "lacks"), [((2, 1, 37), True), ((2, 1, 62), True), ((2, 1, 120), False), (None, True)])
def test_a_lost_link_and_its_return_are_told_with_what_may_be_missing(version: Version | None, lacks: bool) -> None:
    """seed 001; measured: 2.1.120 says its whole buffer again, older ones lose what fell out."""
    conn = connection(link=True, version=version)
    conn.send_initialize({})
    conn.send_prompt("hi")
    conn.data_to_send()
    assert isinstance(conn.link_lost(), LinkLost)
    restored = conn.relinked()
    assert isinstance(restored, LinkRestored) and (restored.repeated, restored.may_lack_lines) == (2, lacks)


def test_a_question_that_was_withdrawn_while_the_link_was_down_is_closed_and_told() -> None:
    """ours: its withdrawal was lost; the list of open ones is complete."""
    conn = linked()
    open_asks(conn, "q1", "q2")
    conn.receive_data(question("h1", "hook_callback", callback_id="c", input={}))
    conn.take_notable()
    _, gone = recovery(conn, "q2")
    assert isinstance(gone, ControlCancelRequest) and gone.request_id == "q1"
    assert json.loads(gone.raw) == {"type": "control_cancel_request", "request_id": "q1"}
    assert conn.take_notable() == [gone]
    assert [one.request_id for one in conn.questions] == ["q2", "h1"]


def test_an_error_to_another_request_withdraws_nothing() -> None:
    """ours: only the answer to a repeated initialize lists all that is open."""
    conn = linked()
    open_asks(conn, "q1")
    conn.receive_data(failure(conn.send_request("mcp_toggle", {"serverName": "x"}), "no such server"))
    assert [one.request_id for one in conn.questions] == ["q1"]


def test_a_prompt_whose_turn_has_ended_is_not_said_again() -> None:
    """ours: without an echo its result is the receipt."""
    conn = linked()
    conn.send_prompt("hi")
    conn.data_to_send()
    conn.receive_data(init() + result())
    conn.relinked()
    assert [one["type"] for one in said(conn)] == ["control_request"]


@pytest.mark.parametrize("version", ["2.1.37", "2.1.62", "2.1.120"])
def test_the_recorded_recovery_of_a_question_ends_in_its_answer(version: str) -> None:
    """measured: drop, dial, initialize again, error with the question, allow, result."""
    name = f"{version}/ws/ws_drop_question"
    drive = Drive(process(name), link=True).run()
    assert drive.left_out == [] and len(drive.conn.questions) == 0
    assert [drive.asked_by(turn) for turn in drive.turns] == [["hi"]]
