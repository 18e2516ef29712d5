"""Requests of ours: each ends exactly once, by answer, refusal, deadline or loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropewalk.errors import LocalProtocolError, RequestFailed, RequestTimedOut, SessionGone
from ropewalk.protocol.control import ControlRequest, ControlResponse
from ropewalk.protocol.state import State
from tests.demand import demand
from tests.protocol.captures import on_all, process
from tests.protocol.wire import V37, V62, V326, Heard, ask, connection, failure, line, only, said, success


def test_a_request_ends_by_its_answer() -> None:
    """ours: the inner response is what the caller gets."""
    conn, heard = connection(), Heard()
    request_id = conn.send_request("mcp_status", on_outcome=heard)
    assert said(conn) == [{"type": "control_request", "request_id": request_id, "request": {"subtype": "mcp_status"}}]
    conn.receive_data(success(request_id, {"mcpServers": []}))
    assert heard.outcomes == [{"mcpServers": []}] and len(conn.pending) == 0


@demand("002-47")
def test_an_answer_without_an_inner_response_is_a_success_with_nothing_in_it() -> None:
    """seed; measured: interrupt, set_model and others on 2.1.37 and 2.1.62."""
    conn, heard = connection(), Heard()
    told = only(conn.receive_data(success(conn.send_request("interrupt", on_outcome=heard))))
    assert isinstance(told, ControlResponse) and told.response.response is None
    assert heard.outcomes == [{}]


@demand("001-60")
def test_a_request_ends_by_a_refusal_with_the_words_of_the_cli() -> None:
    """seed; measured (2.1.326): error_code beside the text."""
    conn, heard = connection(), Heard()
    request_id = conn.send_request("set_permission_mode", {"mode": "bypassPermissions"}, heard)
    conn.receive_data(failure(request_id, "not launched for it", error_code="bypass_not_launched"))
    (error,) = heard.outcomes
    assert isinstance(error, RequestFailed) and not isinstance(error, RequestTimedOut)
    assert (error.request_id, error.subtype, error.reason, error.code) == (
        request_id, "set_permission_mode", "not launched for it", "bypass_not_launched",
    )  # fmt: skip
    assert "not launched for it" in str(error)


def test_a_request_ends_by_its_deadline_and_a_late_answer_is_nobodys() -> None:
    """measured (2.1.37): a subtype that it does not know is never answered."""
    conn, heard = connection(), Heard()
    request_id = conn.send_request("get_settings", on_outcome=heard)
    conn.data_to_send()
    conn.give_up(request_id, "no answer within 60 s")
    (error,) = heard.outcomes
    assert isinstance(error, RequestTimedOut) and "no answer within 60 s" in str(error)
    assert isinstance(only(conn.receive_data(success(request_id, {"late": True}))), ControlResponse)
    conn.give_up(request_id, "again")
    assert len(heard.outcomes) == 1


@demand("001-42")
def test_a_request_that_is_given_up_is_dropped_on_our_side_and_nothing_is_said() -> None:
    """measured: control_cancel_request does nothing on 2.1.62 and 2.1.326, and ends 2.1.37."""
    conn = connection()
    request_id = conn.send_request("side_question", {"question": "?"})
    conn.data_to_send()
    conn.give_up(request_id, "not wanted any more")
    assert conn.data_to_send() == b"" and request_id not in conn.pending
    with pytest.raises(LocalProtocolError, match=r"2\.1\.37"):
        conn.send_request("control_cancel_request", {"request_id": request_id})


def test_a_request_ends_by_loss_of_the_process_with_exit_code_and_last_words() -> None:
    """ours: every waiter fails at once, and only once."""
    conn, first, second = connection(), Heard(), Heard()
    request_id = conn.send_request("mcp_status", on_outcome=first)
    conn.send_request("interrupt", on_outcome=second)
    gone = SessionGone("exited", 1, ("boom",))
    conn.close(gone)
    conn.receive_data(success(request_id, {}))
    conn.close(SessionGone("again"))
    assert first.outcomes == [gone] and second.outcomes == [gone]
    assert conn.state is State.CLOSED and conn.why == "exited"


@pytest.mark.parametrize("name", on_all("control_all") + on_all("plan_allow_then_mode"))
def test_the_second_answer_of_a_request_is_dropped_quietly(name: str) -> None:
    """measured (2.1.37): set_permission_mode is answered twice, the second time with nothing in it."""
    conn = connection()
    outcomes: dict[str, Heard] = {}
    answers: list[str] = []
    for direction, raw in process(name).wire:
        if direction == "out":
            conn.receive_data(raw + b"\n")
            found = json.loads(raw)
            answers += [found["response"]["request_id"]] if found["type"] == "control_response" else []
            continue
        found = json.loads(raw)
        if found.get("type") == "control_request":
            conn._new_id = lambda found=found: found["request_id"]  # type: ignore[misc]
            fields = {key: value for key, value in found["request"].items() if key != "subtype"}
            heard = outcomes[found["request_id"]] = Heard()
            try:
                conn.send_request(found["request"]["subtype"], fields, heard)
            except LocalProtocolError:  # "nonsense" as a mode: ours to refuse, though 2.1.37 and 2.1.62 took it
                del outcomes[found["request_id"]]
    answered = {request_id: answers.count(request_id) for request_id in outcomes}
    assert all(len(heard.outcomes) == min(1, answered[request_id]) for request_id, heard in outcomes.items())
    assert any(count == 2 for count in answered.values()) == name.startswith("2.1.37/")


@demand("002-47")
def test_answers_come_in_any_order_each_to_its_own_request() -> None:
    """ours"""
    conn = connection()
    heard = [Heard() for _ in range(5)]
    sent = [conn.send_request("get_usage", on_outcome=one) for one in heard]
    for number in (3, 0, 4, 2, 1):
        conn.receive_data(success(sent[number], {"n": number}))
    assert [one.outcomes for one in heard] == [[{"n": number}] for number in range(5)]


def test_an_answer_to_nobody_changes_nothing() -> None:
    """ours"""
    conn = connection()
    before = conn.snapshot()
    conn.receive_data(success("stranger", {"mode": "plan"}) + failure("stranger", "no") + line(type="control_response"))
    assert conn.snapshot() == before


@pytest.mark.parametrize("subtype", ["initialize", "interrupt", "get_settings", "ui_draw_pane", "a name nobody knows yet"])
def test_any_subtype_can_be_sent_by_name(subtype: str) -> None:
    """ours: new CLIs learn new words; the fields go out as they were given."""
    conn = connection()
    request_id = conn.send_request(subtype, {"a": [1, None], "b": {"c": "ü"}})
    assert said(conn)[0]["request"] == {"subtype": subtype, "a": [1, None], "b": {"c": "ü"}}
    assert request_id in conn.pending


def test_an_initialize_is_answered_with_what_the_faces_need() -> None:
    """measured (2.1.326): version, mode and capabilities are in it."""
    conn, heard = connection(), Heard()
    request_id = conn.send_initialize({"hooks": {}}, heard)
    response = {"claude_code_version": "2.1.326", "current_permission_mode": "plan", "capabilities": ["msg_lifecycle_v1", 5]}
    conn.receive_data(success(request_id, response))
    assert conn.initialize_response == response and heard.outcomes == [response]
    assert (conn.version, conn.mode, conn.capabilities) == (V326, "plan", frozenset({"msg_lifecycle_v1"}))


def test_an_initialize_that_is_refused_leaves_the_session_ready() -> None:
    """measured (2.1.37, 2.1.62): a second one, or one after a prompt, is an error; the session lives on."""
    conn, heard = connection(), Heard()
    conn.receive_data(failure(conn.send_initialize({}, heard), "Already initialized", pending_permission_requests=[]))
    assert conn.state is State.READY and isinstance(heard.outcomes[0], RequestFailed)
    assert conn.send_prompt("hi")


@demand("001-60")
def test_questions_that_an_error_lists_become_open_questions_and_are_told() -> None:
    """seed; measured (2.1.37, 2.1.62, links): complete with their ids."""
    conn, heard = connection(), Heard()
    request_id = conn.send_initialize({}, heard)
    listed = [json.loads(ask("q7", "Write", {"file_path": "/x"})), json.loads(ask("q8"))]
    error, first, second = conn.receive_data(failure(request_id, "Already initialized", pending_permission_requests=listed))
    assert isinstance(heard.outcomes[0], RequestFailed) and "Already initialized" in str(heard.outcomes[0])
    assert isinstance(error, ControlResponse)
    assert isinstance(first, ControlRequest) and isinstance(second, ControlRequest)
    assert [question.request_id for question in conn.questions] == ["q7", "q8"] == [first.request_id, second.request_id]
    assert json.loads(first.raw) == listed[0]
    assert conn.take_notable() == [first, second]


def test_dialogs_that_an_answer_lists_are_refused_unless_the_owner_answers_them() -> None:
    """ours: 2.1.326 lists them beside the permission questions."""
    dialog = {"type": "control_request", "request_id": "d1", "request": {"subtype": "request_user_dialog", "dialog_kind": "x"}}
    conn = connection()
    conn.receive_data(success(conn.send_initialize({}), {}, pending_user_dialog_requests=[dialog]))
    assert said(conn)[-1]["response"] == {
        "subtype": "error", "request_id": "d1", "error": "request_user_dialog is not supported by this controller",
    }  # fmt: skip
    able = connection(answerable=frozenset({"request_user_dialog"}))
    able.receive_data(success(able.send_initialize({}), {}, pending_user_dialog_requests=[dialog]))
    assert [question.request_id for question in able.questions] == ["d1"]


@pytest.mark.parametrize("version", [V37, V62, V326])
def test_the_mode_follows_the_answer_to_our_request(version: Any) -> None:
    """measured: {mode} on all; the second, empty answer of 2.1.37 does not undo it."""
    conn = connection(version=version)
    request_id = conn.send_request("set_permission_mode", {"mode": "acceptEdits"})
    conn.receive_data(success(request_id, {"mode": "acceptEdits"}) + success(request_id))
    assert conn.mode == "acceptEdits"
    refused = conn.send_request("set_permission_mode", {"mode": "plan"})
    conn.receive_data(failure(refused, "no"))
    assert conn.mode == "acceptEdits"


def test_the_model_follows_the_answer_where_the_cli_tells_it() -> None:
    """measured (2.1.326): {model}; older CLIs answer nothing and tell it with the next init."""
    conn = connection()
    conn.receive_data(success(conn.send_request("set_model", {"model": "opus"}), {"model": "claude-opus-5-5"}))
    assert conn.model == "claude-opus-5-5"
    conn.receive_data(success(conn.send_request("set_model", {"model": "x"})))
    assert conn.model == "claude-opus-5-5"


def test_a_stopped_task_is_no_longer_under_way() -> None:
    """measured: 2.1.62 says nothing but the answer; unknown ids are an error there."""
    conn = connection()
    conn.receive_data(line(type="system", subtype="task_started", task_id="b1", description="sleep"))
    assert conn.tasks == {"b1": "sleep"}
    conn.receive_data(failure(conn.send_request("stop_task", {"task_id": "b1"}), "no such task"))
    assert conn.tasks == {"b1": "sleep"}
    conn.receive_data(success(conn.send_request("stop_task", {"task_id": "b1"}), {}))
    assert conn.tasks == {}
