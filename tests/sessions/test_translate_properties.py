"""What holds for any line and any mutation: it is told, it can be stored, and it is told alike the next time."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from ropewalk.events import events as e
from ropewalk.protocol.control import ControlRequest
from ropewalk.sessions.asked import question_view
from ropewalk.sessions.clean import DEEPEST, harmless, whole
from tests.demand import demand
from tests.protocol.captures import Process
from tests.protocol.strategies import JSON, OBJECTS, SPEAKING, TEXT, mutated_lines, tries
from tests.protocol.wire import connection, line
from tests.sessions.told import Told, assistant, told, tool, tool_result

READ = msgspec.json.Decoder(e.AnyEvent)


def told_and_readable(lines: list[bytes], lazy: bool) -> list[e.Event]:
    heard = Told(lazy=lazy)
    events = heard.hear(*lines)
    for event in events:
        assert type(READ.decode(msgspec.json.encode(event))) is type(event)
    msgspec.json.decode(msgspec.json.encode(heard.translator.known))
    return events


@demand("002-52")
@tries(400)
@given(st.lists(mutated_lines(), min_size=1, max_size=4), st.booleans())
@example([b'{"type":"system","subtype":"init","mcp_servers":[{"name":1}],"tools":[{"name":[]}]}'], True)
@example([b'{"type":"system","subtype":"init"}', b'{"type":"system","subtype":"init","session_id":"\\ud800"}'], True)
@example([b'{"type":"result","modelUsage":{"a":{"contextWindow":"x"}},"usage":{"input_tokens":1e400}}'], True)
@example([b'{"type":"user","message":{"content":[{"type":"tool_result","content":{"text":["\\ud800"]}}]}}'], True)
def test_no_mutation_of_a_line_raises_or_gives_an_event_that_cannot_be_stored(lines: list[bytes], lazy: bool) -> None:
    """ours: total, whatever comes."""
    told_and_readable(lines, lazy)


@tries(200)
@given(
    OBJECTS,
    JSON,
    st.sampled_from(["Bash", "Write", "TodoWrite", "TaskCreate", "TaskUpdate", "Agent", "Read", "AskUserQuestion", "X"]),
)
def test_any_input_and_any_result_of_a_tool_is_told(given_input: dict[str, Any], details: Any, name: str) -> None:
    """ours"""
    heard = told_and_readable([assistant(tool(name, given_input)), tool_result(details=details)], True)
    assert {type(event) for event in heard} >= {e.ToolStarted, e.ToolFinished}


@tries(60)
@given(st.sampled_from(SPEAKING))
def test_the_same_lines_give_the_same_events(process: Process) -> None:
    """ours: what is replayed after a restart is skipped by (process, line, part), so it must be the same."""
    first, again, eager = told(process.out), told(process.out), told(process.out, lazy=False)
    assert first == again == eager


@tries(60)
@given(st.sampled_from(SPEAKING))
def test_without_the_deltas_the_durable_events_are_the_same(process: Process) -> None:
    """ours: pieces are not stored; what a Translator knows is rebuilt from the rest."""
    kept = [number for number, raw in enumerate(process.out, 1) if b'"type":"stream_event"' not in raw[:40]]
    whole_run = Told(lazy=True)
    whole_run.hear(*process.out)
    durable = [event for event in whole_run.events if not isinstance(event, e.LiveEvent)]
    rebuilt = Told(lazy=True)
    for number in kept:
        rebuilt.number = number - 1
        rebuilt.hear(process.out[number - 1])
    left = [event for event in rebuilt.events if not isinstance(event, e.LiveEvent)]
    assert [(type(event), event.line, event.part) for event in left] == [
        (type(event), event.line, event.part) for event in durable
    ]
    assert rebuilt.translator.known == whole_run.translator.known


@tries(200)
@given(st.lists(mutated_lines(), min_size=1, max_size=3), OBJECTS)
def test_any_question_can_be_shown(lines: list[bytes], given_input: dict[str, Any]) -> None:
    """ours: a view that can be stored, or the CLI would wait for nobody."""
    asked = line(
        type="control_request", request_id="q", request={"subtype": "can_use_tool", "tool_name": "X", "input": given_input}
    )
    conn = connection(answerable=frozenset({"can_use_tool", "elicitation", "request_user_dialog"}))
    for raw in (*lines, asked.strip()):
        for message in conn.receive_data(raw + b"\n"):
            if isinstance(message, ControlRequest):
                view = question_view(message, session="s", question_id="i", cwd="/p", at=1.0)
                assert msgspec.json.decode(msgspec.json.encode(view))["title_words"]
                assert view.line


@tries(200)
@given(JSON)
def test_what_is_harmless_can_be_encoded_and_what_was_whole_is_unchanged(value: Any) -> None:
    """ours"""
    kept = harmless(value)
    assert harmless(kept) == kept
    msgspec.json.encode(kept)


@given(TEXT)
def test_only_half_characters_are_replaced(words: str) -> None:
    """ours"""
    kept = whole(words)
    kept.encode()
    if "\ufffd" not in kept:
        assert kept == words or any("\ud800" <= char <= "\udfff" for char in words)


def test_an_input_nested_past_reading_is_told_without_its_depth() -> None:
    """ours: readers of JSON give up at a few hundred levels."""
    deep: Any = "x"
    for _ in range(DEEPEST * 3):
        deep = [deep]
    event = told([assistant(tool("X", {"deep": deep, "near": 1}))])[0]
    assert isinstance(event, e.ToolStarted) and isinstance(event.input, dict) and event.cut and event.input["near"] == 1
