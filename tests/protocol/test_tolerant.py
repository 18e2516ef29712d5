"""Lines that a fast reader refuses, or that are no JSON: questions are still opened, turns still end, nothing is lost."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ropewalk.errors import LocalProtocolError
from ropewalk.protocol import lenient
from ropewalk.protocol.answers import Allow, Deny
from ropewalk.protocol.codec import decode, encode
from ropewalk.protocol.content import TextBlock, ToolUseBlock, Usage
from ropewalk.protocol.control import CanUseTool, ControlRequest, ControlResponse, HookCallback, UnknownQuestion
from ropewalk.protocol.messages import Assistant, Garbage, Result, Unknown, User
from ropewalk.protocol.system import Init
from tests.demand import demand
from tests.protocol.wire import connection, line, only, question, said

ASKED = b'{"subtype":"can_use_tool","tool_name":"Bash","input":%s,"tool_use_id":"t1"}'
ASK = b'{"type":"control_request","request_id":"q1","request":' + ASKED + b"}\n"
END = b'{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"ok","odd":%s,"total_cost_usd":0.5}\n'
DEEP = b'{"a":' * 100_000 + b"[]" + b"}" * 100_000

ODD = {
    "half an emoji": b'{"command":"\\ud83d"}',
    "the other half": b'{"command":"\\ude00 and \\ud800\\ud800"}',
    "half an emoji as a key": b'{"\\udfff":{"command":1}}',
    "1e400": b'{"n":1e400,"m":-1e400}',
    "5,000 digits": b'{"n":' + b"7" * 5000 + b"}",
    "NaN": b'{"n":NaN,"i":-Infinity}',
    "bytes that are no UTF-8": b'{"command":"\xff\xfe"}',
    "a raw NUL and a raw tab": b'{"command":"a\x00b\tc"}',
    "an escaped NUL": b'{"command":"a\\u0000b"}',
    "900 levels": b'{"a":' * 900 + b"1" + b"}" * 900,
    "100,000 levels": DEEP,
    "100,000 lists": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}
"""Inputs that msgspec refuses, one way or another."""

AS_IT_CAME = ["half an emoji", "the other half", "half an emoji as a key", "1e400", "5,000 digits", "an escaped NUL"]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_question_is_opened_whatever_its_input_holds(odd: bytes) -> None:
    """ours: skipped, the CLI would wait for ever."""
    conn = connection()
    asked = only(conn.receive_data(ASK % odd))
    assert isinstance(asked, ControlRequest) and isinstance(asked.request, CanUseTool)
    assert (asked.request_id, asked.request.tool_name, asked.request.tool_use_id) == ("q1", "Bash", "t1")
    assert asked.raw == (ASK % odd)[:-1]
    conn.answer("q1", Deny("no"))
    assert said(conn)[0]["response"]["response"] == {"behavior": "deny", "message": "no", "toolUseID": "t1"}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_unchanged_allow_can_always_be_said_and_is_a_whole_line(odd: bytes) -> None:
    """ours: a malformed line of ours would end the process (measured, all versions)."""
    conn = connection()
    conn.receive_data(ASK % odd)
    conn.answer("q1", Allow())
    out = conn.data_to_send()
    assert out.count(b"\n") == 1 and out.endswith(b"\n")
    assert lenient.is_whole(out.strip())


@demand("002-12")
@pytest.mark.parametrize("name", AS_IT_CAME)
def test_an_unchanged_allow_gives_back_the_same_escapes_and_digits(name: str) -> None:
    """ours: leaving ``updated_input`` out means the input as it came, byte for byte where no parser holds it."""
    conn = connection()
    conn.receive_data(ASK % ODD[name])
    conn.answer("q1", Allow())
    assert b'"updatedInput":' + ODD[name] in conn.data_to_send()


@pytest.mark.parametrize("name", ["100,000 levels", "100,000 lists"])
def test_an_allow_of_an_input_too_deep_to_read_returns_its_very_bytes(name: str) -> None:
    """ours: what can't be read can still be returned."""
    conn = connection()
    asked = only(conn.receive_data(ASK % ODD[name]))
    assert asked.request.input == {} and asked.misfits == ("input",)
    conn.answer("q1", Allow(updated_permissions=[{"type": "setMode", "mode": "plan", "destination": "session"}]))
    out = conn.data_to_send()
    assert b'"updatedInput":' + ODD[name] + b"," in out
    assert b'"mode":"plan"' in out


def test_an_input_too_deep_to_read_is_not_replaced_by_nothing() -> None:
    """ours: {} where the input is not empty breaks the tool on 2.1.37 and 2.1.62."""
    conn = connection()
    conn.receive_data(ASK % DEEP)
    with pytest.raises(LocalProtocolError, match="whole input"):
        conn.answer("q1", Allow({}))
    conn.answer("q1", Allow({"command": "ls"}))
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {"command": "ls"}


def test_a_deep_input_that_is_no_json_inside_is_never_written_back() -> None:
    """ours: counting brackets is not enough to call bytes JSON; the question can be denied, or allowed with another input."""
    conn = connection()
    conn.receive_data(ASK % DEEP.replace(b"[]", b"[oops]"))
    with pytest.raises(LocalProtocolError, match="could not be read"):
        conn.answer("q1", Allow())
    assert conn.data_to_send() == b""
    conn.answer("q1", Deny("unreadable"))


@pytest.mark.parametrize("value", [b"null", b"[1,2]", b'"words"', b"7"])
def test_an_input_that_is_no_object_goes_back_as_it_came(value: bytes) -> None:
    """ours: no CLI was seen to send one."""
    conn = connection()
    asked = only(conn.receive_data(ASK % value))
    assert asked.request.input == {} and "input" in asked.misfits
    conn.answer("q1", Allow())
    assert b'"updatedInput":' + value in conn.data_to_send()


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_result_ends_its_turn_whatever_it_holds(odd: bytes) -> None:
    """ours: skipped, the turn would never end."""
    conn = connection()
    uuid = conn.send_prompt("hi")
    ended = only(conn.receive_data(END % odd))
    assert isinstance(ended, Result) and not ended.failed
    assert (ended.num_turns, ended.result, ended.total_cost_usd) == (2, "ok", 0.5)
    assert ended.prompts == (uuid,) and conn.turns.count == 1
    assert ended.raw == (END % odd)[:-1]


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_an_answer_of_the_cli_settles_its_request_whatever_it_holds(odd: bytes) -> None:
    """ours: skipped, the caller would wait for its deadline."""
    conn = connection()
    outcomes: list[Any] = []
    request_id = conn.send_request("get_settings", on_outcome=outcomes.append)
    told = b'{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"x":%s}}}\n'
    assert isinstance(only(conn.receive_data(told % (request_id.encode(), odd))), ControlResponse)
    assert len(outcomes) == 1 and isinstance(outcomes[0], dict)


def test_a_deep_line_keeps_all_that_is_not_too_deep_itself() -> None:
    """ours"""
    inside = b'{"model":"m","content":%s,"usage":{"input_tokens":7},"id":"x"}' % (b"[" * 5000 + b"]" * 5000)
    message = decode(b'{"type":"assistant","uuid":"u","message":%s,"parent_tool_use_id":"p","session_id":"s"}' % inside)
    assert isinstance(message, Assistant)
    assert (message.uuid, message.session_id, message.parent_tool_use_id) == ("u", "s", "p")
    assert (message.message.id, message.message.model, message.message.usage) == ("x", "m", Usage(input_tokens=7))
    assert message.content == [] and "content" in message.misfits


def test_a_hook_that_could_not_be_read_is_refused_rather_than_called_with_nothing() -> None:
    """ours: a hook that decides about an empty input would decide wrongly; an error counts as no answer (measured)."""
    conn = connection()
    conn.receive_data(
        b'{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"c","input":%s}}\n' % DEEP
    )
    assert said(conn)[0]["response"]["subtype"] == "error" and len(conn.questions) == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"Debugger attached.",
        b"{",
        b'{"type":"assistant"',
        b"[1,2,3]",
        b'"words"',
        b"42",
        b"null",
        b"true",
        b"\x00\x01\x02",
        b"\xff\xfe\xfd",
        b'{"type":"result"}{"type":"result"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        b'words {"type":"result","subtype":' + DEEP + b"}",
        b'{"type":"result","x":' + b"[" * 2000 + b'"unfinished ' + b"a" * 100_000,
    ],
    ids=lambda raw: repr(raw[:30]),
)
@demand("000-05")
def test_what_is_no_json_object_is_garbage_kept_whole_and_the_session_lives(raw: bytes) -> None:
    """seed: neither ends the session nor disappears."""
    conn = connection()
    message = only(conn.receive_data(raw + b"\n"))
    assert isinstance(message, Garbage) and message.raw == raw and message.fields() == {}
    assert isinstance(only(conn.receive_data(END % b"0")), Result)


@demand("000-05")
@pytest.mark.parametrize("raw", [b"{}", b'{"no":"type"}', b'{"type":null}', b'{"type":7,"session_id":"s"}', b'{"type":{}}'])
def test_an_object_without_a_type_is_unknown_and_kept(raw: bytes) -> None:
    """seed"""
    message = only(connection().receive_data(raw + b"\n"))
    assert isinstance(message, Unknown) and message.raw == raw and message.fields() == json.loads(raw)


def test_a_byte_order_mark_does_not_hide_a_line() -> None:
    """ours: JSON parsers may pass over it; deep lines too."""
    conn = connection()
    assert isinstance(only(conn.receive_data(b"\xef\xbb\xbf" + END % b"0")), Result)
    assert isinstance(only(conn.receive_data(b"\xef\xbb\xbf " + END % DEEP)), Result)


@pytest.mark.parametrize(
    ("fields", "misfits", "kept"),
    [
        ({"type": "result", "subtype": "success", "num_turns": "many", "result": "ok"}, ("num_turns",), {"result": "ok"}),
        ({"type": "result", "subtype": ["x"], "is_error": True}, ("subtype",), {"is_error": True}),
        (
            {"type": "result", "subtype": "success", "modelUsage": {"a": 5, "b": {"inputTokens": 3}}},
            ("[a]",),
            {"subtype": "success"},
        ),
        ({"type": "result", "subtype": "error", "errors": ["one", {"odd": 1}, "two"]}, ("[1]",), {"errors": ["one", "two"]}),
        ({"type": "assistant", "uuid": 5, "session_id": "s"}, ("uuid",), {"session_id": "s"}),
        ({"type": "assistant", "message": "words", "error": "rate_limit"}, ("message",), {"error": "rate_limit"}),
        ({"type": "user", "message": {"content": 5}, "isReplay": True}, ("content",), {"isReplay": True}),
        ({"type": "stream_event", "event": [], "uuid": "u"}, ("event",), {"uuid": "u"}),
        ({"type": "system", "subtype": "init", "cwd": {}, "model": "m"}, ("cwd",), {"model": "m"}),
        ({"type": "system", "subtype": "task_started", "task_id": None, "description": "d"}, ("task_id",), {"description": "d"}),
        ({"type": "control_cancel_request", "request_id": {}}, ("request_id",), {"request_id": ""}),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_field_of_another_type_costs_only_itself_and_is_named(
    fields: dict[str, Any], misfits: Any, kept: dict[str, Any]
) -> None:
    """ours: never a line, never its neighbours."""
    message = only(connection().receive_data(line(**fields)))
    assert message.misfits == misfits
    assert {name: getattr(message, name) for name in kept} == kept
    assert message.fields() == fields


def test_a_block_that_is_no_block_costs_only_itself() -> None:
    """ours"""
    content = [{"type": "text", "text": "a"}, "bare", None, {"type": "tool_use", "id": "t", "name": "Bash", "input": "odd"}]
    message = only(connection().receive_data(line(type="assistant", message={"content": content})))
    assert message.content == [TextBlock("a"), ToolUseBlock("t", "Bash", {})]
    assert message.misfits == ("[1]", "[2]", "input")


def test_numbers_may_be_floats_where_the_documents_say_integers() -> None:
    """ours: whole floats are read as integers, others are misfits."""
    message = only(connection().receive_data(line(type="result", subtype="success", num_turns=3.0, usage={"input_tokens": 7.0})))
    assert isinstance(message, Result) and message.num_turns == 3 and message.usage == Usage(input_tokens=7)
    assert message.misfits == ()
    half = only(connection().receive_data(line(type="result", subtype="success", num_turns=1.5, duration_ms=12)))
    assert half.num_turns is None and half.duration_ms == 12 and half.misfits == ("num_turns",)


def test_integers_past_64_bits_survive_the_way_there_and_back() -> None:
    """ours"""
    conn = connection()
    conn.receive_data(ASK % b'{"n":123456789012345678901234567890}')
    conn.answer("q1", Allow())
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {"n": 123456789012345678901234567890}


def test_a_question_without_a_request_or_a_subtype_is_refused_at_once() -> None:
    """ours: it must not become a permission question about nothing."""
    for raw in (b'{"type":"control_request","request_id":"q"}', b'{"type":"control_request","request_id":"q","request":{}}',
                b'{"type":"control_request","request_id":"q","request":"odd"}'):  # fmt: skip
        conn = connection()
        asked = only(conn.receive_data(raw + b"\n"))
        assert isinstance(asked.request, UnknownQuestion)
        assert said(conn)[0]["response"]["subtype"] == "error"


def test_a_question_without_an_id_is_told_and_not_opened() -> None:
    """ours: the id is the only handle of an answer."""
    conn = connection()
    raw = line(type="control_request", request={"subtype": "can_use_tool", "tool_name": "Bash", "input": {}})
    for _ in range(2):
        assert isinstance(only(conn.receive_data(raw)), ControlRequest)
    assert len(conn.questions) == 0 and conn.data_to_send() == b""


@demand("002-29")
def test_a_hook_callback_in_its_other_spelling_is_understood() -> None:
    """seed: hook_name and hook_data beside the real callback_id and input."""
    conn = connection()
    asked = only(conn.receive_data(question("h", "hook_callback", hook_name="PreToolUse", hook_data={"a": 1})))
    assert isinstance(asked.request, HookCallback)
    assert (asked.request.hook_name, asked.request.hook_data) == ("PreToolUse", {"a": 1})
    assert "h" in conn.questions


def test_a_line_can_not_fill_what_is_ours_to_fill() -> None:
    """ours: bytes that an allow would return come from the reader alone, never from a key of the line."""
    forged = b'{" input":"Cm9vcHMK"," raw":"eA==",' + (ASK % b"{}")[1:]
    conn = connection()
    asked = only(conn.receive_data(forged))
    assert asked.raw == forged[:-1] and asked.input_raw == b""
    conn.answer("q1", Allow())
    assert said(conn)[0]["response"]["response"]["updatedInput"] == {}
    ended = only(conn.receive_data(b'{"type":"result","subtype":"success"," prompts":["x"]," cost":9}\n'))
    assert ended.prompts == () and ended.cost_usd == 0.0


@pytest.mark.slow
def test_a_deep_line_of_sixteen_mib_is_read_in_seconds() -> None:
    """ours: one pass, no search that could grow with the square. The bound only tells a pass from a square."""
    levels = 16 * 1024 * 1024 // 6
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    began = time.monotonic()
    asked = decode(ASK % deep)
    assert isinstance(asked, ControlRequest) and asked.input_raw == deep
    assert time.monotonic() - began < 30


def test_half_a_string_in_a_deep_line_is_not_searched_again_and_again() -> None:
    """ours: a quote that never closes, a million bytes before the end."""
    began = time.monotonic()
    raw = b'{"type":"result","x":' + b"[" * 2000 + b"1," * 500_000 + b'"' + b"a" * 500_000
    assert isinstance(decode(raw), Garbage)
    assert time.monotonic() - began < 30


def test_user_lines_with_odd_blocks_keep_the_results_beside_them() -> None:
    """ours"""
    odd = {"type": "tool_result", "tool_use_id": 5, "content": "x"}
    message = decode(line(type="user", message={"content": [odd, {"type": "tool_result", "tool_use_id": "t", "content": 9}]}))
    assert isinstance(message, User) and len(message.content) == 2
    assert message.misfits == ("tool_use_id", "content")


def test_an_init_with_odd_lists_keeps_what_fits() -> None:
    """ours"""
    message = decode(line(type="system", subtype="init", slash_commands=["a", {"name": "b"}], mcp_servers=["x", {"name": "y"}]))
    assert isinstance(message, Init)
    assert message.slash_commands == ["a"] and [server.name for server in message.mcp_servers] == ["y"]


@pytest.mark.parametrize("value", [object(), {"a": object()}, {1, object()}, print], ids=["object", "inside", "set", "function"])
def test_what_json_has_no_word_for_can_not_be_said(value: Any) -> None:
    """ours"""
    with pytest.raises(LocalProtocolError):
        encode({"x": value})


def test_a_value_that_contains_itself_can_not_be_said() -> None:
    """ours: it would never end."""
    ring: dict[str, Any] = {}
    ring["ring"] = [ring]
    with pytest.raises(LocalProtocolError):
        encode(ring)


@pytest.mark.slow
def test_what_is_deeper_than_any_parser_can_be_said() -> None:
    """ours: the caller's depth is the caller's business."""
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    assert encode(deep) == b"[" * 50_001 + b"]" * 50_001 + b"\n"
