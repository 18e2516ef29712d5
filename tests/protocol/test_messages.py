"""Every type of line has its struct; what has none is kept and delivered."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from ropewalk.protocol import control, messages, stream, system
from ropewalk.protocol.codec import decode
from ropewalk.protocol.content import (
    ImageBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from ropewalk.protocol.messages import Message
from ropewalk.protocol.turns import answer_of
from tests.demand import demand
from tests.protocol.captures import every_line, samples
from tests.protocol.wire import connection, line, only

RECORDED: dict[tuple[str, str | None], type[Message]] = {
    ("assistant", None): messages.Assistant,
    ("user", None): messages.User,
    ("stream_event", None): messages.StreamEvent,
    ("result", "success"): messages.Result,
    ("result", "error_during_execution"): messages.Result,
    ("result", "error_max_turns"): messages.Result,
    ("result", "error_max_budget_usd"): messages.Result,
    ("result", "error_max_structured_output_retries"): messages.Result,
    ("command_lifecycle", None): messages.CommandLifecycle,
    ("conversation_reset", None): messages.ConversationReset,
    ("rate_limit_event", None): messages.RateLimitEvent,
    ("tool_progress", None): messages.ToolProgress,
    ("tool_use_summary", None): messages.ToolUseSummary,
    ("active_goal", None): messages.Tidings,
    ("autocompact_state", None): messages.Tidings,
    ("control_request", None): control.ControlRequest,
    ("control_response", None): control.ControlResponse,
    ("control_cancel_request", None): control.ControlCancelRequest,
    ("system", "init"): system.Init,
    ("system", "status"): system.Status,
    ("system", "compact_boundary"): system.CompactBoundary,
    ("system", "task_started"): system.TaskStarted,
    ("system", "task_progress"): system.TaskProgress,
    ("system", "task_updated"): system.TaskUpdated,
    ("system", "task_notification"): system.TaskNotification,
    ("system", "background_tasks_changed"): system.BackgroundTasksChanged,
    ("system", "hook_started"): system.HookStarted,
    ("system", "hook_response"): system.HookResponse,
    ("system", "api_retry"): system.ApiRetry,
    ("system", "permission_denied"): system.PermissionDenied,
    ("system", "informational"): system.Informational,
    ("system", "thinking_tokens"): system.ThinkingTokens,
    ("system", "session_state_changed"): system.SessionStateChanged,
    ("system", "session_title_changed"): system.SessionTitleChanged,
    ("system", "control_request_progress"): system.ControlRequestProgress,
}
"""Every type and subtype that a real CLI was recorded to send."""

DESCRIBED: dict[tuple[str, str | None], type[Message]] = {
    ("keep_alive", None): messages.KeepAlive,
    ("auth_status", None): messages.AuthStatus,
    ("streamlined_text", None): messages.StreamlinedText,
    ("streamlined_tool_use_summary", None): messages.StreamlinedToolUseSummary,
    ("prompt_suggestion", None): messages.PromptSuggestion,
    ("error", None): messages.ErrorLine,
    ("system", "hook_progress"): system.HookProgress,
    ("system", "files_persisted"): system.FilesPersisted,
    **{(name, None): messages.Tidings for name in sorted(messages.NAMED_ONLY)},
    **{("system", name): system.OtherSystem for name in sorted(system.NAMED_ONLY_SUBTYPES)},
}
"""What documents or names inside the program speak of, and no recording has."""


def key_of(found: dict[str, Any]) -> tuple[str, str | None]:
    return found["type"], found.get("subtype") if found["type"] in ("system", "result") else None


def same(typed: Any, raw: Any) -> bool:
    """Is all that the struct names what the line says? Fields that it does not name are left to ``raw``."""
    if isinstance(typed, UnknownBlock | stream.UnknownDelta | stream.UnknownEvent | control.UnknownQuestion):
        return bool(typed.fields == raw)
    if isinstance(typed, msgspec.Struct):
        wire = dict(zip(typed.__struct_encode_fields__, typed.__struct_fields__, strict=True))
        named = [(wire[key], value) for key, value in raw.items() if key in wire]
        tag = typed.__struct_config__.tag
        return all(same(getattr(typed, name), value) for name, value in named) and (not tag or tag in raw.values())
    if isinstance(typed, list) and isinstance(raw, list):
        return len(typed) == len(raw) and all(same(a, b) for a, b in zip(typed, raw, strict=True))
    if isinstance(typed, dict) and isinstance(raw, dict):
        return typed.keys() == raw.keys() and all(same(typed[key], raw[key]) for key in raw)
    return bool(typed == raw)


@demand("001-81", "004-16")
def test_every_recorded_line_becomes_the_struct_of_its_type() -> None:
    """measured (2.1.37 … 2.1.326): 6,405 lines, one table. Nothing unknown by accident: two types are known by name only."""
    seen: Counter[tuple[str, str | None]] = Counter()
    for name, raw in every_line():
        key = key_of(json.loads(raw))
        seen[key] += 1
        message = decode(raw)
        assert type(message) is RECORDED.get(key), (name, key)
        assert message.raw == raw
        assert message.misfits == (), (name, key, message.misfits)
    assert seen.keys() == RECORDED.keys()


def test_what_a_struct_holds_is_what_the_line_says() -> None:
    """ours: field by field, over every recorded line, blocks, deltas and questions included."""
    for name, raw in every_line():
        assert same(decode(raw), json.loads(raw)), name


def test_no_block_delta_event_or_question_of_a_recording_is_a_stranger() -> None:
    """measured: what is unknown in a recording would be unknown by accident."""
    strangers = ("UnknownBlock(", "UnknownDelta(", "UnknownEvent(", "UnknownQuestion(")
    found = [name for name, raw in every_line() if any(word in repr(decode(raw)) for word in strangers)]
    assert found == []


@demand("001-81", "002-52")
@pytest.mark.parametrize("key", DESCRIBED, ids=str)
def test_what_is_known_from_documents_or_by_name_has_a_struct_too(key: tuple[str, str | None]) -> None:
    """seed, and names inside 2.1.326: delivered, and whole in ``fields``."""
    kind, subtype = key
    fields = {"type": kind, "session_id": "s1", "uuid": "u1", "odd": {"a": 1}} | ({"subtype": subtype} if subtype else {})
    message = only(connection().receive_data(line(**fields)))
    assert type(message) is DESCRIBED[key]
    assert (message.session_id, message.uuid, message.fields()) == ("s1", "u1", fields)
    assert getattr(message, "subtype", subtype) == subtype and getattr(message, "type", kind) == kind


@demand("001-35")
def test_shortened_copies_are_told_apart_from_what_they_copy() -> None:
    """seed: recognised and kept; a type of their own, so that nobody shows the words twice."""
    text = only(connection().receive_data(line(type="streamlined_text", text="short")))
    tools = only(connection().receive_data(line(type="streamlined_tool_use_summary", tool_summary="Read 3 files")))
    assert (text.text, tools.tool_summary) == ("short", "Read 3 files")
    assert not isinstance(text, messages.Assistant) and not isinstance(tools, messages.Assistant)


@demand("001-81", "002-52")
def test_a_type_that_nobody_has_heard_of_is_delivered_whole() -> None:
    """seed"""
    fields = {"type": "brand_new", "session_id": "s1", "x": [1, {"y": None}]}
    message = only(connection().receive_data(line(**fields)))
    assert isinstance(message, messages.Unknown) and message.type == "brand_new"
    assert message.fields() == fields and message.session_id == "s1"


@demand("002-52")
def test_a_system_line_of_a_new_subtype_is_delivered_whole() -> None:
    """ours"""
    fields = {"type": "system", "subtype": "brand_new", "session_id": "s1", "x": 1}
    message = only(connection().receive_data(line(**fields)))
    assert isinstance(message, system.UnknownSystem) and message.subtype == "brand_new"
    assert message.fields() == fields


@demand("002-52", "004-16")
@pytest.mark.parametrize("key", [*RECORDED, *DESCRIBED], ids=str)
def test_a_new_field_on_a_known_line_breaks_nothing_and_is_kept(key: tuple[str, str | None]) -> None:
    """seed"""
    kind, subtype = key
    fields = {"type": kind, "brand_new": {"deep": [1]}} | ({"subtype": subtype} if subtype else {})
    message = decode(line(**fields))
    assert type(message) is {**RECORDED, **DESCRIBED}[key]
    assert message.fields()["brand_new"] == {"deep": [1]}


@pytest.mark.parametrize("key", [*RECORDED, *DESCRIBED], ids=str)
def test_a_line_with_nothing_but_its_type_still_becomes_its_struct(key: tuple[str, str | None]) -> None:
    """ours: a missing field degrades to its default, it never kills the stream."""
    kind, subtype = key
    message = decode(line(**{"type": kind} | ({"subtype": subtype} if subtype else {})))
    assert type(message) is {**RECORDED, **DESCRIBED}[key]
    assert message.misfits == ()


@demand("002-52")
def test_an_unknown_block_is_kept_in_its_place_between_known_ones() -> None:
    """ours: on assistant and user lines and in a stream's block start."""
    blocks = [{"type": "text", "text": "a"}, {"type": "hologram", "rays": 7}, {"type": "text", "text": "b"}]
    for kind in ("assistant", "user"):
        message = decode(line(type=kind, message={"role": kind, "content": blocks}))
        assert isinstance(message, messages.Assistant | messages.User)
        first, odd, last = message.content
        assert (first, last) == (TextBlock("a"), TextBlock("b"))
        assert isinstance(odd, UnknownBlock) and odd.type == "hologram" and odd.fields == blocks[1]
    event = {"type": "content_block_start", "index": 2, "content_block": blocks[1]}
    started = decode(line(type="stream_event", event=event))
    assert isinstance(started, messages.StreamEvent) and isinstance(started.event, stream.ContentBlockStart)
    assert isinstance(started.event.content_block, UnknownBlock) and started.event.index == 2


@demand("002-52")
def test_unknown_events_and_deltas_are_kept() -> None:
    """ours"""
    event = decode(line(type="stream_event", event={"type": "message_rewound", "by": 2}))
    assert isinstance(event, messages.StreamEvent) and isinstance(event.event, stream.UnknownEvent)
    assert event.event.fields == {"type": "message_rewound", "by": 2}
    delta = decode(
        line(type="stream_event", event={"type": "content_block_delta", "index": 1, "delta": {"type": "smell", "of": "x"}})
    )
    assert isinstance(delta, messages.StreamEvent) and isinstance(delta.event, stream.ContentBlockDelta)
    assert isinstance(delta.event.delta, stream.UnknownDelta) and delta.event.delta.fields["of"] == "x"


@demand("000-17")
def test_all_six_kinds_of_stream_events_are_understood_in_recordings() -> None:
    """measured (all versions): message_start, _delta, _stop, content_block_start (text, tool_use), _delta, _stop."""
    kinds: set[Any] = set()
    for name, found in samples("stream_event"):
        message = decode(json.dumps(found).encode())
        assert isinstance(message, messages.StreamEvent), name
        kinds.add((name.split("/")[0], type(message.event)))
        if isinstance(message.event, stream.ContentBlockStart):
            kinds.add(type(message.event.content_block))
        if isinstance(message.event, stream.ContentBlockDelta):
            kinds.add(type(message.event.delta))
    six: list[type] = [stream.MessageStart, stream.MessageDelta, stream.MessageStop]
    six += (stream.ContentBlockStart, stream.ContentBlockDelta, stream.ContentBlockStop)
    assert {(version, kind) for version in ("2.1.37", "2.1.62", "2.1.326") for kind in six} <= kinds
    assert {TextBlock, ToolUseBlock, ThinkingBlock} <= kinds
    assert {stream.TextDelta, stream.InputJsonDelta, stream.ThinkingDelta, stream.SignatureDelta} <= kinds


@demand("000-07")
def test_tools_in_init_are_read_as_names_and_as_objects() -> None:
    """seed and measured: real CLIs list names; one document has objects with a schema."""
    schema = {"type": "object"}
    objects = [{"name": "Bash", "description": "run", "input_schema": schema}, "Read"]
    message = decode(line(type="system", subtype="init", tools=objects))
    assert isinstance(message, system.Init)
    assert message.tool_names == ["Bash", "Read"]
    assert message.tools[0] == system.ToolDescription("Bash", "run", schema)
    names = decode(line(type="system", subtype="init", tools=["Bash", "Read"]))
    assert isinstance(names, system.Init) and names.tool_names == ["Bash", "Read"]


@demand("000-12")
@pytest.mark.parametrize("reason", ["end_turn", "tool_use", "max_tokens", None, "something_new"])
def test_every_stop_reason_is_read(reason: str | None) -> None:
    """seed; measured: null on the lines of real CLIs."""
    message = decode(line(type="assistant", message={"content": [], "stop_reason": reason}))
    assert isinstance(message, messages.Assistant) and message.message.stop_reason == reason


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, {"type": "text", "text": "b"}], "a\nb"),
        ({"type": "text", "text": "one object"}, "one object"),
        (["bare", {"odd": 1}], "bare"),
        (None, ""),
        ([], ""),
    ],
)
def test_the_content_of_a_tool_result_is_a_string_a_list_or_an_object(content: Any, text: str) -> None:
    """measured: a string mostly, a list of blocks from MCP servers; an object was reported."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": True}
    message = decode(line(type="user", message={"role": "user", "content": [block]}))
    assert isinstance(message, messages.User) and message.misfits == ()
    assert message.content == [ToolResultBlock("t1", content, True)]
    found = message.content[0]
    assert isinstance(found, ToolResultBlock) and found.text == text


def test_user_lines_hold_words_or_blocks() -> None:
    """measured: an echo of ours is a string; tool results are blocks."""
    words = decode(line(type="user", message={"role": "user", "content": "hello"}, isReplay=True))
    assert isinstance(words, messages.User) and words.content == [TextBlock("hello")] and words.isReplay
    blocks = decode(line(type="user", message={"content": [{"type": "image", "source": {"type": "base64", "data": ""}}]}))
    assert isinstance(blocks, messages.User) and isinstance(blocks.content[0], ImageBlock)


def test_redacted_thinking_is_a_block_of_its_own() -> None:
    """ours: the API has it, no scripted model said it."""
    message = decode(line(type="assistant", message={"content": [{"type": "redacted_thinking", "data": "xx"}]}))
    assert isinstance(message, messages.Assistant) and message.content == [RedactedThinkingBlock("xx")]


@demand("004-09", "004-14")
def test_the_words_of_a_line_are_its_text_blocks_and_the_answer_is_in_the_result() -> None:
    """seed: tool calls and thinking are no words; the last text stands in where a result has none."""
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    lines = [decode(line(type="assistant", message={"content": [block]})) for block in (
        {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "first"}, call, {"type": "text", "text": "last"},
    )]  # fmt: skip
    assert [one.text for one in lines if isinstance(one, messages.Assistant)] == ["", "first", "", "last"]
    agent = decode(line(type="assistant", parent_tool_use_id="t", message={"content": [{"type": "text", "text": "an agent's"}]}))
    full, empty = (
        decode(line(type="result", subtype="success", result="the answer")),
        decode(line(type="result", subtype="success")),
    )
    assert answer_of([*lines, agent, full]) == "the answer"
    assert answer_of([*lines, agent, empty]) == "last"
    assert answer_of([*lines, full, lines[1]]) == "the answer"


@demand("004-10")
def test_a_tool_call_and_its_result_meet_by_id() -> None:
    """measured (all versions): each result line names the call that it ends, with ``is_error``."""
    met = 0
    for name in ("2.1.37", "2.1.62", "2.1.326"):
        calls: set[str] = set()
        for capture, raw in every_line():
            if not capture.startswith(f"{name}/stdio/bash_"):
                continue
            match decode(raw):
                case messages.Assistant() as message:
                    calls |= {block.id for block in message.content if isinstance(block, ToolUseBlock)}
                case messages.User() as message:
                    for block in message.content:
                        if isinstance(block, ToolResultBlock):
                            assert block.tool_use_id in calls, capture
                            assert isinstance(block.is_error, bool | None)
                            met += 1
    assert met > 20


@demand("004-07")
@pytest.mark.parametrize("session", ["not-a-uuid", "", "ünï", "7" * 300])
def test_a_session_id_is_any_text(session: str) -> None:
    """seed: nothing assumes a UUID."""
    conn = connection()
    conn.receive_data(line(type="system", subtype="init", session_id=session))
    assert conn.session_id == session


def test_keys_come_in_any_order() -> None:
    """measured: the result of 2.1.326 begins with duration_api_ms; here every recorded line is read backwards too."""
    for name, raw in every_line()[::7]:
        backwards = dict(reversed(json.loads(raw).items()))
        turned, straight = decode(json.dumps(backwards).encode()), decode(json.dumps(json.loads(raw)).encode())
        turned.raw = straight.raw = b""
        assert turned == straight, name
