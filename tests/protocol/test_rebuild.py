"""A connection rebuilt from stored lines knows what the one knew that lived through them."""

from __future__ import annotations

import pytest

from ropewalk.protocol.answers import Allow
from ropewalk.protocol.connection import Connection
from ropewalk.protocol.state import State
from tests.protocol.captures import Process, every_process
from tests.protocol.drive import Drive
from tests.protocol.wire import ask, connection, failure, ids, init, question, result, said, success

DRIVEN = [one for one in every_process() if one.wire]


def rebuilt(drive: Drive, **options: object) -> Connection:
    return Connection.rebuild(drive.lines, new_id=ids("later"), **options)


def test_every_recorded_process_can_be_driven_live_but_for_lines_that_are_wrong_on_purpose() -> None:
    """ours: what the driver leaves out is what the recordings tried in vain."""
    left_out = {one.name.split("/")[2].split("#")[0] for one in DRIVEN if Drive(one).run().left_out}
    wrong_on_purpose = {
        "answer_twice", "answer_unknown_id", "assistant_line", "bad_updated_permissions", "bash_allow_empty_input",
        "bash_deny_no_message", "blank_line", "cancel_from_us", "choice_by_index", "control_all", "interrupt_question",
        "malformed_half", "malformed_line", "no_type_line", "plan_allow_empty", "shape_approved", "shape_bad_behavior",
        "shape_outer_id", "shape_subtype_allow", "shape_subtype_allow_inner_id", "shape_subtype_allow_nested", "unknown_type",
        "user_no_message", "ws_malformed",
    }  # fmt: skip
    assert left_out == wrong_on_purpose


@pytest.mark.parametrize("lazy", [False, True], ids=["typed", "lazy"])
def test_rebuilt_from_its_lines_a_connection_knows_the_same_for_every_recording(lazy: bool) -> None:
    """ours: state, ids, mode, model, version, questions, requests, tasks, prompts, turns, cost, context."""
    for one in DRIVEN:
        drive = Drive(one).run()
        assert rebuilt(drive, lazy=lazy).snapshot() == drive.conn.snapshot(), one.name


@pytest.mark.parametrize("process", DRIVEN[::23], ids=lambda one: one.name)
def test_rebuilt_after_any_line_a_connection_knows_the_same(process: Process) -> None:
    """ours: a hub may die between any two lines."""
    drive = Drive(process)
    while drive.step():
        later = rebuilt(drive)
        assert later.snapshot() == drive.conn.snapshot(), drive.lines[-1]
        assert later.data_to_send() == b""


@pytest.mark.parametrize("process", DRIVEN[::41], ids=lambda one: one.name)
def test_a_rebuilt_connection_goes_on_like_the_original(process: Process) -> None:
    """ours: cut in the middle, rebuilt, fed with the rest."""
    whole, first = Drive(process).run(), Drive(process)
    for _ in range(len(process.wire) // 2):
        first.step()
    first.conn = rebuilt(first)
    first.conn._new_id = first._new_id
    assert first.run().conn.snapshot() == whole.conn.snapshot()


def test_an_answer_that_nobody_is_asked_for_and_that_was_not_written_is_due_again() -> None:
    """ours: the hub died between the question and its own refusal; the CLI still waits for it."""
    asked = question("u1", "of tomorrow").strip()
    unwritten = Connection.rebuild([("out", asked)], new_id=ids())
    assert [one["response"]["request_id"] for one in said(unwritten)] == ["u1"]
    live = connection()
    live.receive_data(asked + b"\n")
    written = Connection.rebuild([("out", asked), ("in", live.data_to_send())], new_id=ids())
    assert written.data_to_send() == b"" and len(written.questions) == 0


def test_open_questions_are_open_again_and_can_be_answered() -> None:
    """ours"""
    later = Connection.rebuild([("out", init()), ("out", ask("q1")), ("out", ask("q2"))], new_id=ids())
    assert later.data_to_send() == b"" and later.take_notable() == []
    later.answer("q2", Allow())
    assert said(later)[0]["response"]["request_id"] == "q2"
    assert [one.request_id for one in later.questions] == ["q1"]


def test_an_answer_to_a_request_of_the_former_life_still_counts() -> None:
    """ours: nobody hears its outcome any more, but the mode that it tells is the mode."""
    live = connection()
    live.send_initialize({"hooks": {}})
    live.send_request("set_permission_mode", {"mode": "plan"})
    lines = [("in", one) for one in live.data_to_send().splitlines(keepends=True)]
    later = Connection.rebuild(lines, new_id=ids("later"))  # type: ignore[arg-type]
    assert later.state is State.STARTING and later.snapshot().pending == ("id-1", "id-2")
    later.receive_data(success("id-1", {"claude_code_version": "2.1.326"}) + success("id-2", {"mode": "plan"}))
    assert (later.state, later.mode, later.version) == (State.READY, "plan", (2, 1, 326))
    assert len(later.pending) == 0


def test_prompts_without_a_receipt_are_said_again_only_after_a_broken_link() -> None:
    """ours: the runner wrote them; on a link that breaks they may be lost. A uuid is run once (measured)."""
    live = connection(link=True)
    live.send_initialize({"systemPrompt": "x"})
    live.receive_data(success("id-1", {}))
    live.send_prompt("hi", uuid="p1")
    lines = [("in", one) for one in live.data_to_send().splitlines(keepends=True)]
    lines.insert(1, ("out", success("id-1", {})))
    later = Connection.rebuild(lines, new_id=ids("later"), link=True)  # type: ignore[arg-type]
    assert later.data_to_send() == b""
    later.relinked()
    again, prompt = said(later)
    assert again["request"] == {"subtype": "initialize", "systemPrompt": "x"} and prompt["uuid"] == "p1"


def test_lines_come_with_or_without_their_newlines() -> None:
    """ours"""
    bare = Connection.rebuild([("out", init().strip()), ("out", result().strip())], new_id=ids())
    ended = Connection.rebuild([("out", init()), ("out", result())], new_id=ids())
    assert bare.snapshot() == ended.snapshot() and bare.turns.count == 1


def test_lines_of_ours_that_were_wrong_do_no_harm() -> None:
    """ours: a journal may hold what another program said through us."""
    odd = [
        b"",
        b"oops",
        b"{}",
        b'{"type":"assistant"}',
        b'{"type":"user"}',
        b'{"type":"control_request"}',
        b'{"type":"control_response"}',
    ]
    later = Connection.rebuild([("in", one) for one in odd] + [("out", init())], new_id=ids())
    assert later.state is State.RUNNING
    later.receive_data(failure("", "x"))
