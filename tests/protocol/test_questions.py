"""Questions of the CLI: each is answered once, by its id, in the one shape that works, or refused at once."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import SessionGone
from ropewalk.protocol.answers import Allow, Answer, Deny, Option, Refusal, Reply, choices_of, choose
from ropewalk.protocol.control import CanUseTool, ControlCancelRequest, ControlRequest, HookCallback, McpMessage, UnknownQuestion
from ropewalk.protocol.hearing import ANSWERABLE
from tests.demand import demand
from tests.protocol.captures import every_process, on_all, process
from tests.protocol.schemas import ALLOW, DENY, envelope, faults
from tests.protocol.strategies import OBJECTS, TEXT, tries
from tests.protocol.wire import ask, connection, init, line, only, question, result, said

UPDATES = st.lists(
    st.sampled_from(
        [
            {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session"},
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            {"type": "addDirectories", "directories": ["/tmp"], "destination": "localSettings"},
        ]
    ),
    max_size=3,
)
ANSWERS: st.SearchStrategy[Answer] = st.builds(
    Allow, st.none() | st.dictionaries(TEXT, st.integers(), min_size=1), UPDATES
) | st.builds(Deny, TEXT.filter(bool), st.booleans())


@demand("003-06", "002-17")
@tries(150)
@given(ANSWERS, OBJECTS)
def test_every_answer_validates_against_the_schema_of_its_kind(answer: Answer, tool_input: dict[str, Any]) -> None:
    """seed: types and required fields of the two responses; the envelope is always that of a success."""
    conn = connection()
    conn.receive_data(ask("q1", tool_input=tool_input))
    conn.answer("q1", answer)
    schema = envelope(ALLOW if isinstance(answer, Allow) else DENY)
    assert faults(json.loads(conn.data_to_send()), schema) == []


@demand("003-06")
def test_the_schemas_refuse_what_the_clis_refuse() -> None:
    """measured: the check itself can fail, on the very shapes that were recorded as wrong."""
    schemas = (envelope(ALLOW), envelope(DENY))
    right = wrong = 0
    for one in every_process():
        for direction, raw in one.wire if "/shape_" in one.name else []:
            found = json.loads(raw)
            if direction == "in" and found["type"] == "control_response" and "error" not in found.get("response", {}):
                fits = not all(faults(found, schema) for schema in schemas)
                inside = bool(dig(found, "response", "request_id"))
                assert fits == (inside and dig(found, "response", "response", "behavior") in ("allow", "deny"))
                right, wrong = right + fits, wrong + (not fits)
    assert right >= 3 and wrong >= 15


def dig(found: Any, *path: str) -> Any:
    for name in path:
        found = found.get(name) if isinstance(found, dict) else None
    return found


@demand("003-07", "004-29")
@tries(100)
@given(ANSWERS)
def test_the_shapes_that_hang_or_kill_a_cli_are_never_sent(answer: Answer) -> None:
    """seed and measured: subtype "allow" leaves the question open, "approved" ends 2.1.37 and 2.1.62."""
    conn = connection()
    conn.receive_data(ask("q1"))
    conn.answer("q1", answer)
    (line,) = said(conn)
    assert line["type"] == "control_response" and set(line) == {"type", "response"}
    response = line["response"]
    assert response["subtype"] == "success" and response["request_id"] == "q1"
    assert not {"behavior", "approved", "message"} & set(response)
    assert not {"subtype", "approved", "request_id"} & set(response["response"])


def test_an_answer_names_the_call_when_the_question_did() -> None:
    """seed"""
    conn = connection()
    without = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}
    conn.receive_data(ask("q1") + line(type="control_request", request_id="q2", request=without))
    conn.answer("q1", Allow())
    conn.answer("q2", Allow())
    first, second = said(conn)
    assert first["response"]["response"]["toolUseID"] == "t-q1"
    assert "toolUseID" not in second["response"]["response"]


def test_interrupt_is_said_only_when_meant_and_permissions_only_when_given() -> None:
    """ours"""
    conn = connection()
    conn.receive_data(ask("q1") + ask("q2") + ask("q3"))
    conn.answer("q1", Deny("no"))
    conn.answer("q2", Deny("stop", interrupt=True))
    conn.answer("q3", Allow())
    plain, hard, allowed = (one["response"]["response"] for one in said(conn))
    assert "interrupt" not in plain and hard["interrupt"] is True and "updatedPermissions" not in allowed


@pytest.mark.parametrize("order", list(itertools.permutations(["q1", "q2", "q3"])))
def test_questions_are_answered_in_any_order_each_by_its_id(order: tuple[str, ...]) -> None:
    """measured (readonly_parallel, subagents_ask_together): several of one tool can be open at once."""
    conn = connection()
    conn.receive_data(b"".join(ask(one, "Read", {"file_path": f"/{one}"}) for one in ("q1", "q2", "q3")))
    for one in order:
        conn.answer(one, Allow())
    assert [(one["response"]["request_id"], one["response"]["response"]["updatedInput"]["file_path"]) for one in said(conn)] == [
        (one, f"/{one}") for one in order
    ]
    assert len(conn.questions) == 0


@pytest.mark.parametrize("name", on_all("readonly_parallel") + on_all("subagents_ask_together"))
def test_recorded_questions_that_are_open_together_have_ids_of_their_own(name: str) -> None:
    """measured (all versions)"""
    conn, most = connection(), 0
    for direction, raw in process(name).wire:
        conn.receive_data(raw + b"\n") if direction == "out" else conn.replay(raw + b"\n")
        most = max(most, len(conn.questions))
    assert most >= 2 and len(conn.questions) == 0


@pytest.mark.parametrize("subtype", ["elicitation", "oauth_token_refresh", "remote_tool_call", "of tomorrow", ""])
def test_an_unknown_question_is_refused_at_once_so_that_the_cli_does_not_wait(subtype: str) -> None:
    """seed; names inside 2.1.326. It is told all the same."""
    conn = connection()
    told = only(conn.receive_data(question("q9", subtype, payload={"x": 1})))
    assert isinstance(told, ControlRequest) and told.fields()["request"]["payload"] == {"x": 1}
    assert said(conn)[0]["response"]["subtype"] == "error" and len(conn.questions) == 0
    assert conn.take_notable() == []


def test_an_owner_may_answer_further_kinds_of_questions() -> None:
    """ours: the hub will show dialogs; what it does not name is still refused."""
    conn = connection(answerable=ANSWERABLE | {"elicitation", "of tomorrow"})
    conn.receive_data(
        question("a", "elicitation", message="?") + question("b", "of tomorrow", x=1) + question("c", "of next year")
    )
    assert [one["response"]["request_id"] for one in said(conn)] == ["c"]
    conn.answer("a", Reply({"action": "accept", "content": {}}))
    conn.answer("b", Reply({"y": 2}))
    assert said(conn)[1]["response"]["response"] == {"y": 2}


@demand("002-31")
def test_sdk_control_interrupt_is_an_acknowledgement_that_needs_no_person() -> None:
    """seed: described and never seen; acknowledged in turn, nobody is asked."""
    conn = connection()
    told = only(conn.receive_data(question("i", "sdk_control_interrupt")))
    assert isinstance(told, ControlRequest)
    assert said(conn) == [{"type": "control_response", "response": {"subtype": "success", "request_id": "i", "response": {}}}]
    assert len(conn.questions) == 0 and conn.take_notable() == []


def test_hooks_and_mcp_messages_are_questions_also_while_initialize_is_pending() -> None:
    """measured (2.1.326): the MCP handshake comes before our initialize is answered; both sides would wait."""
    conn = connection()
    conn.send_initialize({"sdkMcpServers": ["calc"]})
    conn.data_to_send()
    mcp, hook = conn.receive_data(
        question("m", "mcp_message", server_name="calc", message={"jsonrpc": "2.0", "id": "1", "method": "initialize"})
        + question("h", "hook_callback", callback_id="cb", input={"hook_event_name": "PreToolUse"}, tool_use_id="t")
    )
    assert isinstance(mcp, ControlRequest) and isinstance(mcp.request, McpMessage) and mcp.request.server_name == "calc"
    assert isinstance(hook, ControlRequest) and isinstance(hook.request, HookCallback) and hook.request.callback_id == "cb"
    conn.answer("m", Reply({"mcp_response": {"jsonrpc": "2.0", "id": "1", "result": {}}}))
    conn.answer("h", Reply())
    assert [one["response"]["response"] for one in said(conn)] == [
        {"mcp_response": {"jsonrpc": "2.0", "id": "1", "result": {}}},
        {},
    ]


def test_a_withdrawn_question_is_closed_and_told() -> None:
    """measured (all versions): an interrupt withdraws it; a hook's timeout too."""
    conn = connection()
    conn.receive_data(ask("q1") + ask("q2"))
    conn.take_notable()
    told = only(conn.receive_data(line(type="control_cancel_request", request_id="q1")))
    assert isinstance(told, ControlCancelRequest) and conn.take_notable() == [told]
    assert [one.request_id for one in conn.questions] == ["q2"]
    conn.receive_data(line(type="control_cancel_request", request_id="q1") + line(type="control_cancel_request", request_id="?"))
    assert conn.take_notable() == []


@pytest.mark.parametrize("name", on_all("interrupt_question"))
def test_recorded_interrupts_leave_no_question_open(name: str) -> None:
    """measured (all versions): withdrawn before the result."""
    conn = connection()
    conn.receive_data(process(name).stream)
    assert len(conn.questions) == 0 and conn.turns.count == 2


def test_open_questions_are_lost_when_the_process_goes() -> None:
    """measured: a resume never asks them again."""
    conn = connection()
    conn.receive_data(ask("q1"))
    conn.close(SessionGone("killed", -9))
    assert len(conn.questions) == 0
    assert list(conn.snapshot().questions) == []


def test_a_question_outlives_the_result_of_the_turn() -> None:
    """measured (2.1.326): sub-agents in the background ask after the main result."""
    conn = connection()
    conn.receive_data(init() + result() + ask("q1", agent_id="a1"))
    (open_one,) = conn.questions
    assert isinstance(open_one.request, CanUseTool) and open_one.request.agent_id == "a1"
    assert not conn.idle
    conn.answer("q1", Allow())
    assert conn.idle


def test_a_question_that_comes_after_we_closed_the_input_is_told_and_can_not_be_answered() -> None:
    """measured: the CLI refuses the tool by itself then."""
    conn = connection()
    conn.end_input()
    assert isinstance(only(conn.receive_data(ask("q1"))), ControlRequest)
    assert isinstance(only(conn.receive_data(question("u", "unknown"))), ControlRequest)
    assert conn.data_to_send() == b""


def test_a_question_asked_again_is_told_once_and_answered_again_only_where_the_answer_may_be_lost() -> None:
    """measured (2.1.37): a second allow may run the tool again; so it is said again only after the link broke, and once."""
    conn = connection()
    assert isinstance(only(conn.receive_data(ask("q1"))), ControlRequest)
    assert conn.receive_data(ask("q1")) == []
    conn.answer("q1", Deny("no"))
    first = conn.data_to_send()
    assert conn.receive_data(ask("q1")) == []
    assert conn.data_to_send() == b""
    conn.relinked()
    conn.data_to_send()
    assert conn.receive_data(ask("q1") * 2) == []
    assert conn.data_to_send() == first


def test_an_empty_answer_to_a_hook_is_whole() -> None:
    """measured: {} means the normal rules."""
    conn = connection()
    conn.receive_data(question("h", "hook_callback", callback_id="c", input={}))
    conn.answer("h", Reply())
    assert said(conn)[0]["response"] == {"subtype": "success", "request_id": "h", "response": {}}


@demand("000-22")
@pytest.mark.parametrize("many", ["multiSelect", "multi_select"])
@pytest.mark.parametrize(
    "options", [["A", "B"], [{"label": "A", "description": "first"}, {"label": "B"}]], ids=["strings", "objects"]
)
def test_the_questions_of_a_choice_are_read_in_both_spellings(many: str, options: list[Any]) -> None:
    """seed; measured: real CLIs send objects and multiSelect."""
    asked = {
        "questions": [{"question": "Which?", "header": "W", many: True, "options": options}, {"question": "And?", "options": []}]
    }
    first, second = choices_of(asked)
    assert (first.question, first.header, first.multiple) == ("Which?", "W", True)
    assert [option.label for option in first.options] == ["A", "B"]
    assert first.options[0] == Option("A", "first" if isinstance(options[0], dict) else None)
    assert (second.question, second.header, second.multiple, second.options) == ("And?", None, False, ())


@demand("000-22")
@pytest.mark.parametrize("name", on_all("choice_single") + on_all("choice_multi_string"))
def test_recorded_choices_are_recognised_by_their_tool_name(name: str) -> None:
    """measured (all versions)"""
    asked = [one for one in process(name).said if one["type"] == "control_request"]
    assert [one["request"]["tool_name"] for one in asked] == ["AskUserQuestion"]
    for choice in choices_of(asked[0]["request"]["input"]):
        assert choice.question and choice.options and all(option.label for option in choice.options)


def test_odd_choices_are_read_as_far_as_they_go() -> None:
    """ours"""
    assert choices_of({}) == [] and choices_of({"questions": "x"}) == [] and choices_of({"questions": [5, None]}) == []
    (one,) = choices_of({"questions": [{"header": 7, "options": [1, {"label": 2, "description": 3}]}]})
    assert (one.question, one.header, [option.label for option in one.options]) == ("", None, ["1", "2"])


def test_an_answer_to_a_choice_echoes_the_questions_and_keys_answers_by_their_text() -> None:
    """seed; measured: several labels are one string, free text is taken as written, notes are added."""
    asked = {
        "questions": [{"question": "Which?", "options": ["A", "B"]}, {"question": "Why?", "options": []}],
        "metadata": {"x": 1},
    }
    conn = connection()
    conn.receive_data(ask("c1", "AskUserQuestion", asked))
    conn.answer("c1", choose(asked, {"Which?": ["A", "B"], "Why?": "because"}, {"Why?": "in haste"}))
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {
        **asked, "answers": {"Which?": "A, B", "Why?": "because"}, "annotations": {"Why?": {"notes": "in haste"}},
    }  # fmt: skip


def test_a_choice_answered_by_hand_gets_its_questions_back_too() -> None:
    """measured (2.1.326): without ``questions`` the tool fails."""
    asked = {"questions": [{"question": "Which?", "options": ["A"]}]}
    conn = connection()
    conn.receive_data(ask("c1", "AskUserQuestion", asked))
    conn.answer("c1", Allow({"answers": {"Which?": "A"}}))
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {"answers": {"Which?": "A"}, **asked}


def test_a_refusal_reaches_the_model_as_an_error() -> None:
    """measured (all versions): our text is what the model reads."""
    conn = connection()
    conn.receive_data(ask("q1"))
    conn.answer("q1", Refusal("not here"))
    assert said(conn)[0] == {
        "type": "control_response",
        "response": {"subtype": "error", "request_id": "q1", "error": "not here"},
    }


def test_only_the_last_answers_are_remembered() -> None:
    """ours: a session of a year must not grow for ever."""
    conn = connection()
    for number in range(300):
        conn.receive_data(ask(f"q{number}"))
        conn.answer(f"q{number}", Allow())
    conn.questions.doubt()
    assert conn.questions.to_repeat("q299") and not conn.questions.to_repeat("q0")


def test_unknown_questions_keep_their_fields() -> None:
    """ours"""
    told = only(connection().receive_data(question("q", "of tomorrow", a=1)))
    assert isinstance(told.request, UnknownQuestion)
    assert (told.request.subtype, told.request.fields) == ("of tomorrow", {"subtype": "of tomorrow", "a": 1})
