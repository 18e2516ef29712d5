"""What holds for any line, any cut and any mutation."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from ropewalk.protocol import lenient
from ropewalk.protocol.answers import Allow, Deny, Refusal, Reply
from ropewalk.protocol.codec import decode, encode
from ropewalk.protocol.connection import Connection
from ropewalk.protocol.control import ControlRequest, ControlResponse
from ropewalk.protocol.lazy import LazyMessage
from ropewalk.protocol.messages import Message, User
from tests.demand import demand
from tests.protocol.captures import Process
from tests.protocol.strategies import JSON, OBJECTS, SPEAKING, TEXT, mutated_lines, tries
from tests.protocol.wire import ask, connection, question


def told(process: Process, cuts: list[int], **options: Any) -> tuple[list[Message], Connection]:
    """What a connection tells of a recorded process whose output comes in these pieces."""
    conn, stream = connection(**options), process.stream
    marks = [0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)]
    messages: list[Any] = []
    for begin, end in pairwise(marks):
        messages += conn.receive_data(stream[begin:end])
    return [one.message if isinstance(one, LazyMessage) else one for one in messages], conn


@demand("000-04", "001-20")
@tries(150)
@given(st.sampled_from(SPEAKING), st.lists(st.integers(0, 10**7), max_size=12))
def test_any_split_of_any_recording_gives_the_same_messages(process: Process, cuts: list[int]) -> None:
    """seed: a chunk boundary anywhere changes nothing. The same state follows, and replaying is deterministic."""
    whole, first = told(process, [])
    split, second = told(process, cuts)
    assert split == whole
    assert second.snapshot() == first.snapshot()
    assert second.data_to_send() == first.data_to_send()


@tries(60)
@given(st.sampled_from(SPEAKING), st.lists(st.integers(0, 10**7), max_size=6))
def test_what_is_typed_when_looked_at_is_what_is_typed_at_once(process: Process, cuts: list[int]) -> None:
    """ours: lazy and eager reading tell the same messages and know the same."""
    eager, first = told(process, [])
    late, second = told(process, cuts, lazy=True)
    assert [one.raw for one in late] == [one.raw for one in eager]
    assert [type(one) for one in late] == [type(one) for one in eager]
    assert second.snapshot() == first.snapshot()


def test_lazy_reading_knows_the_same_of_every_recording() -> None:
    """ours"""
    for process in SPEAKING:
        assert told(process, [], lazy=True)[1].snapshot() == told(process, [])[1].snapshot(), process.name


def test_replaying_a_recording_twice_gives_the_same_bytes() -> None:
    """ours: no clock, no chance in it."""
    for process in SPEAKING[::3]:
        (_, first), (_, second) = told(process, []), told(process, [])
        assert first.data_to_send() == second.data_to_send()
        assert first.snapshot() == second.snapshot()


@demand("002-52")
@tries(400)
@given(st.lists(mutated_lines(), min_size=1, max_size=4), st.booleans(), st.booleans())
@example([b'{"type":"result","total_cost_usd":"NaN"}', b'{"type":"result","total_cost_usd":1}'], False, False)
@example([b'{"type":"control_response","response":{"request_id":[]}}'], False, True)
def test_no_mutation_of_a_line_raises_or_loses_the_raw(lines: list[bytes], lazy: bool, link: bool) -> None:
    """ours: whatever comes is told, except blank lines, a question that is open already and, on links, repeats by uuid."""
    conn = connection(lazy=lazy, link=link)
    conn.send_initialize({})
    conn.send_prompt("hi")
    messages = conn.receive_data(b"".join(raw + b"\n" for raw in lines)) + conn.receive_eof()
    raws = [one.raw for one in messages]
    assert all(raw.removesuffix(b"\r") in raws for raw in lines if told_always(raw.removesuffix(b"\r")))
    assert all(raw in [one.removesuffix(b"\r") for one in lines] or b'"control_' in raw for raw in raws)
    conn.snapshot()
    for one in conn.data_to_send().splitlines():
        json.loads(one)


def told_always(raw: bytes) -> bool:
    return bool(raw.strip()) and not isinstance(decode(raw), ControlRequest) and decode(raw).uuid is None


@tries(200)
@given(OBJECTS)
def test_what_we_encode_any_json_parser_decodes_to_the_same(fields: dict[str, Any]) -> None:
    """ours: another parser, and our own decoder standing for the other side."""
    raw = encode(fields)
    assert raw.count(b"\n") == 1 and raw.endswith(b"\n")
    assert json.loads(raw) == fields
    assert lenient.load(raw) == fields
    assert json.loads(lenient.dump(fields)) == fields


@tries(100)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=3), OBJECTS)
def test_prompts_requests_and_answers_of_ours_mean_on_the_other_side_what_they_meant_here(
    words: str, texts: list[str], fields: dict[str, Any]
) -> None:
    """ours: the other side is played by our own decoder."""
    conn = connection()
    uuid = conn.send_prompt(words)
    conn.send_prompt([{"type": "text", "text": text} for text in texts])
    fields.pop("subtype", None)
    request_id = conn.send_request("any_subtype", fields)
    conn.receive_data(ask("q1", tool_input={"a": 1}) + ask("q2") + question("h", "hook_callback", callback_id="c", input={}))
    conn.answer("q1", Allow({"text": words, "more": fields}))
    conn.answer("q2", Deny(words or "no"))
    conn.answer("h", Reply(fields))
    prompt, blocks, asked, allowed, denied, replied = (decode(one) for one in conn.data_to_send().splitlines())
    assert isinstance(prompt, User) and prompt.uuid == uuid and prompt.message.content == words
    assert isinstance(blocks, User) and [block.text for block in blocks.message.content] == texts  # type: ignore[union-attr]
    assert isinstance(asked, ControlRequest) and asked.request_id == request_id
    assert asked.fields()["request"] == {"subtype": "any_subtype", **fields}
    assert isinstance(allowed, ControlResponse) and allowed.response.response is not None
    assert allowed.response.response["updatedInput"] == {"text": words, "more": fields}
    assert isinstance(denied, ControlResponse) and (denied.response.response or {})["message"] == (words or "no")
    assert isinstance(replied, ControlResponse) and (replied.response.response or {}) == fields


@tries(100)
@given(OBJECTS)
def test_an_unchanged_allow_returns_any_input_as_it_came(tool_input: dict[str, Any]) -> None:
    """ours: whatever the input holds."""
    conn = connection()
    conn.receive_data(ask("q1", tool_input=tool_input))
    conn.answer("q1", Allow())
    assert json.loads(conn.data_to_send())["response"]["response"]["updatedInput"] == tool_input


@tries(60)
@given(st.text(max_size=30))
def test_a_refusal_reaches_the_other_side_with_its_words(error: str) -> None:
    """ours"""
    conn = connection()
    conn.receive_data(ask("q1"))
    conn.answer("q1", Refusal(error))
    assert json.loads(conn.data_to_send())["response"] == {"subtype": "error", "request_id": "q1", "error": error}


@tries(150)
@given(JSON)
def test_bytes_are_called_whole_json_exactly_when_they_are(value: Any) -> None:
    """ours: what an allow returns unread is checked, in slices, as a parser would."""
    raw = json.dumps(value).encode()
    for text in (raw, b'{"a":' * 650 + raw + b"}" * 650, b"[" * 450 + raw + b",[]]" * 450):
        assert lenient.is_whole(text)
        assert not lenient.is_whole(text + b"]") and not lenient.is_whole(b"[" + text)
    assert not lenient.is_whole(b"[" * 650 + raw + b" x" + b"]" * 650)
    assert not lenient.is_whole(b"[" * 650 + b"NaN" + b"]" * 650)
    assert not lenient.is_whole(b"]" * 650 + raw + b"[" * 650)


@tries(100)
@given(st.dictionaries(TEXT, JSON, max_size=4), st.integers(1001, 1400))
def test_a_deep_object_taken_apart_keeps_every_other_member(fields: dict[str, Any], depth: int) -> None:
    """ours"""
    fields = {key: value for key, value in fields.items() if key not in ("deep", "type")}
    raw = json.dumps({**fields, "type": "brand_new", "deep": 0}).encode()
    deep = raw[: raw.rindex(b"0")] + b"[" * depth + b"]" * depth + b"}"
    too_deep: dict[tuple[str, ...], bytes] = {}
    found, end = lenient.read_apart(deep, 0, frozenset(), too_deep)
    assert end == len(deep)
    assert found == {**fields, "type": "brand_new"} or "deep" in found
    assert set(too_deep) <= {("deep",)}


def test_structs_dates_and_bytes_can_be_said_beside_lone_surrogates() -> None:
    """ours: the second encoder takes what the first one takes."""

    class Thing(msgspec.Struct):
        name: str

    assert json.loads(encode({"x": "\ud800", "thing": Thing("\udfff"), "raw": b"ab", "n": 1.5, "s": (1, None, True)})) == {
        "x": "\ud800", "thing": {"name": "\udfff"}, "raw": "YWI=", "n": 1.5, "s": [1, None, True],
    }  # fmt: skip
