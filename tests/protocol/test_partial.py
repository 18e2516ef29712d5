"""Blocks joined from their pieces, per parent and index, equal the finished block."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.protocol.codec import decode
from ropewalk.protocol.content import Block, TextBlock, ThinkingBlock, ToolUseBlock, UnknownBlock
from ropewalk.protocol.messages import Assistant, StreamEvent
from ropewalk.protocol.partial import PartialBlock, PartialBlocks
from tests.demand import demand
from tests.protocol.captures import Process, every_process
from tests.protocol.strategies import OBJECTS, tries
from tests.protocol.wire import line

STREAMED = [one for one in every_process() if any(found["type"] == "stream_event" for found in one.said)]


def event(parent: str | None = None, **fields: Any) -> StreamEvent:
    message = decode(line(type="stream_event", event=fields, parent_tool_use_id=parent))
    assert isinstance(message, StreamEvent)
    return message


def start(index: int, block: dict[str, Any], parent: str | None = None) -> StreamEvent:
    return event(parent, type="content_block_start", index=index, content_block=block)


def delta(index: int, parent: str | None = None, **piece: Any) -> StreamEvent:
    return event(parent, type="content_block_delta", index=index, delta=piece)


def stop(index: int, parent: str | None = None) -> StreamEvent:
    return event(parent, type="content_block_stop", index=index)


TOOL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}


def whole(process: Process) -> bool:
    """Was nothing of its stream cut from the recording?"""
    return "left_out" not in str(process.records) and "…[cut" not in str(process.out)


@demand("000-19")
def test_in_every_recording_the_joined_pieces_equal_the_finished_blocks() -> None:
    """measured (all versions): text, thinking with its signature, and tool input; the assistant line comes before the stop."""
    compared: dict[type, int] = {TextBlock: 0, ToolUseBlock: 0, ThinkingBlock: 0}
    for process in filter(whole, STREAMED):
        blocks = PartialBlocks()
        finished, lines = list[Block](), list[Block]()
        for raw in process.out:
            message = decode(raw)
            if isinstance(message, StreamEvent) and (grown := blocks.feed(message)) is not None and grown.finished:
                finished.append(grown.block)
            elif isinstance(message, Assistant) and message.message.model != "<synthetic>" and message.parent_tool_use_id is None:
                lines += message.content
        for block in finished:
            assert block in lines, process.name
            compared[type(block)] += 1
    assert min(compared.values()) >= 3, compared


@demand("000-19")
@tries(100)
@given(OBJECTS, st.lists(st.integers(0, 400), max_size=10), st.integers(0, 5))
def test_any_fragments_of_a_tools_input_join_to_the_same_input(tool_input: dict[str, Any], cuts: list[int], index: int) -> None:
    """seed: cut anywhere, in the middle of an escape too; another block's pieces between them."""
    text = json.dumps(tool_input)
    marks = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    blocks = PartialBlocks()
    blocks.feed(start(index, TOOL))
    blocks.feed(start(index + 1, {"type": "text", "text": ""}))
    for begin, end in pairwise(marks):
        blocks.feed(delta(index, type="input_json_delta", partial_json=text[begin:end]))
        blocks.feed(delta(index + 1, type="text_delta", text="."))
    done = blocks.feed(stop(index))
    assert done is not None and done.finished and done.input == tool_input
    assert done.block == ToolUseBlock("t1", "Bash", tool_input)
    assert [one.text for one in blocks.open] == ["." * (len(marks) - 1)]


@demand("001-24")
def test_pieces_of_a_sub_agent_never_mix_with_the_parents_text() -> None:
    """seed: the same index, another parent."""
    blocks = PartialBlocks()
    for parent in (None, "agent-1", "agent-2"):
        blocks.feed(start(0, {"type": "text", "text": ""}, parent))
    for number in range(3):
        for parent in (None, "agent-1", "agent-2"):
            blocks.feed(delta(0, parent, type="text_delta", text=f"{parent}{number} "))
    assert {one.parent: one.text for one in blocks.open} == {
        None: "None0 None1 None2 ", "agent-1": "agent-10 agent-11 agent-12 ", "agent-2": "agent-20 agent-21 agent-22 ",
    }  # fmt: skip
    done = blocks.feed(stop(0, "agent-1"))
    assert done is not None and done.parent == "agent-1" and [one.parent for one in blocks.open] == [None, "agent-2"]


def test_an_input_is_nothing_until_its_json_is_whole() -> None:
    """ours"""
    blocks = PartialBlocks()
    begun = blocks.feed(start(0, TOOL))
    assert begun is not None and begun.input == {} and begun.block == ToolUseBlock("t1", "Bash", {})
    seen: list[Any] = []
    for piece in ('{"a":', "1}", "]"):
        grown = blocks.feed(delta(0, type="input_json_delta", partial_json=piece))
        assert grown is begun
        seen.append((grown.input, grown.block))
    call, empty = ToolUseBlock("t1", "Bash", {"a": 1}), ToolUseBlock("t1", "Bash", {})
    assert seen == [(None, empty), ({"a": 1}, call), (None, empty)]


def test_a_tool_called_without_any_input_has_an_empty_one() -> None:
    """measured: no fragment comes, or an empty one."""
    blocks = PartialBlocks()
    blocks.feed(start(0, TOOL))
    blocks.feed(delta(0, type="input_json_delta", partial_json=""))
    done = blocks.feed(stop(0))
    assert done is not None and done.block == ToolUseBlock("t1", "Bash", {})


def test_thinking_is_joined_with_its_signature() -> None:
    """measured (all versions)"""
    blocks = PartialBlocks()
    blocks.feed(start(0, {"type": "thinking", "thinking": "", "signature": ""}))
    for piece in ("I ", "think"):
        blocks.feed(delta(0, type="thinking_delta", thinking=piece))
    blocks.feed(delta(0, type="signature_delta", signature="sig"))
    done = blocks.feed(stop(0))
    assert done is not None and done.block == ThinkingBlock("I think", "sig")


def test_a_new_message_forgets_what_an_interrupt_left_open() -> None:
    """measured (2.1.62): a broken stream is asked for again; its half is not continued."""
    blocks = PartialBlocks()
    blocks.feed(start(0, {"type": "text", "text": ""}))
    blocks.feed(start(0, {"type": "text", "text": ""}, "agent"))
    blocks.feed(delta(0, type="text_delta", text="half"))
    assert blocks.feed(event(type="message_start", message={})) is None
    assert [one.parent for one in blocks.open] == ["agent"]
    blocks.feed(event("agent", type="message_stop"))
    assert blocks.open == []


@pytest.mark.parametrize(
    ("piece", "block"),
    [
        ({"type": "text_delta", "text": "x"}, TextBlock("x")),
        ({"type": "thinking_delta", "thinking": "x"}, ThinkingBlock("x")),
        ({"type": "input_json_delta", "partial_json": '{"a":1}'}, ToolUseBlock(input={"a": 1})),
    ],
    ids=["text", "thinking", "input"],
)
def test_pieces_whose_start_was_lost_with_a_link_are_still_shown(piece: dict[str, Any], block: Block) -> None:
    """measured (2.1.37, 2.1.62): lines in the gap are lost."""
    grown = PartialBlocks().feed(delta(3, **piece))
    assert isinstance(grown, PartialBlock) and grown.block == block


def test_what_is_unknown_is_let_through_unharmed() -> None:
    """ours: unknown blocks, deltas and events, a stop without a start."""
    blocks = PartialBlocks()
    begun = blocks.feed(start(0, {"type": "hologram", "rays": 7}))
    assert begun is not None and isinstance(begun.block, UnknownBlock)
    assert blocks.feed(delta(0, type="rays_delta", rays=8)) is begun
    assert blocks.feed(delta(5, type="rays_delta", rays=8)) is None
    assert blocks.feed(stop(9)) is None and blocks.feed(event(type="ping")) is None and blocks.feed(event(type="new")) is None


def test_a_block_that_starts_with_words_keeps_them() -> None:
    """ours: the API may put the first words into the start."""
    blocks = PartialBlocks()
    blocks.feed(start(0, {"type": "text", "text": "Hel"}))
    grown = blocks.feed(delta(0, type="text_delta", text="lo"))
    assert grown is not None and grown.block == TextBlock("Hello") and grown.text == "lo"
