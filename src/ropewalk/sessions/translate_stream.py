"""Pieces of blocks under way → live events. Refuses to keep them: the finished block tells it all again."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from ..events import events as e
from ..protocol.content import RedactedThinkingBlock, ServerToolUseBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ..protocol.messages import StreamEvent
from ..protocol.stream import (
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    InputJsonDelta,
    KnownDelta,
    MessageDelta,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    UnknownDelta,
    UnknownEvent,
)
from .clean import cut, readable
from .memory import Memory, OpenBlock

DELTA = b'{"type":"stream_event","event":{"type":"content_block_delta"'


class _Piece(Struct, gc=False):
    delta: KnownDelta
    index: int = 0


class _DeltaLine(Struct, gc=False):
    """Only what a delta is told with: half the cost of the whole line (measured)."""

    event: _Piece
    parent_tool_use_id: str | None = None
    api_message_id: str | None = None


_decode = msgspec.json.Decoder(_DeltaLine).decode


def delta_event(memory: Memory, raw: bytes) -> e.Event | None:
    """The live event of a delta line. Raises ``msgspec.DecodeError`` for what only the tolerant reader takes."""
    line = _decode(raw)
    return _grown(memory, line.parent_tool_use_id, line.event.index, line.event.delta, line.api_message_id)


def on_stream(memory: Memory, message: StreamEvent) -> list[e.Event]:
    parent, event = message.parent_tool_use_id, message.event
    match event:
        case ContentBlockDelta(index=index, delta=delta):
            if isinstance(delta, UnknownDelta):
                return _strange(memory, delta.type, message.raw)
            grown = _grown(memory, parent, index, delta, message.api_message_id)
            return [grown] if grown is not None else []
        case ContentBlockStart(index=index, content_block=began):
            _begin(memory, parent, index, began, message.api_message_id)
        case ContentBlockStop(index=index):
            _end(memory, parent, index)
        case MessageStart(message=said):
            memory.stream(parent, said.id)
            if parent is None:
                memory.stop = None
                if said.usage is not None:
                    memory.known.context_tokens = said.usage.context_tokens
        case MessageDelta(delta=told):
            if parent is None and isinstance(told.get("stop_reason"), str):
                memory.stop = told["stop_reason"]
        case StreamError(error=told):
            return [e.Warned(text=str(told.get("message") or told.get("type") or "the stream broke"), code="stream_error")]
        case UnknownEvent(type=name):
            return _strange(memory, name, message.raw)
    return []


def _grown(memory: Memory, parent: str | None, index: int, delta: Any, message: str | None) -> e.Event | None:
    stream = memory.streams.get(parent)
    block = stream.blocks.get(index) if stream is not None else None
    kind = type(delta)
    if block is None:
        block = _begin(memory, parent, index, _BLOCK.get(kind), message)  # its start was not heard
    begins = block.begins
    if kind is TextDelta:
        block.begins = begins + len(delta.text)
        return e.TextDelta(block=block.name, text=delta.text, begins=begins)
    if kind is ThinkingDelta:
        block.begins = begins + len(delta.thinking)
        return e.ThinkingDelta(block=block.name, text=delta.thinking, begins=begins)
    if kind is InputJsonDelta:
        block.begins = begins + len(delta.partial_json)
        return e.ToolInputDelta(block=block.name, text=delta.partial_json, begins=begins, tool=block.tool)
    return None  # a signature or a citation: nothing to show before the block is whole


_BLOCK: dict[type[Any], Any] = {TextDelta: TextBlock(), ThinkingDelta: ThinkingBlock(), InputJsonDelta: ToolUseBlock()}
_KIND: dict[type[Any], str] = {
    TextBlock: "text", ThinkingBlock: "thinking", RedactedThinkingBlock: "redacted", ToolUseBlock: "tool_use",
    ServerToolUseBlock: "tool_use",
}  # fmt: skip


def _begin(memory: Memory, parent: str | None, index: int, began: Any, message: str | None) -> OpenBlock:
    stream = memory.stream(parent, message or "")
    block = OpenBlock(f"{stream.message}:{index}", _KIND.get(type(began), "other"))
    if isinstance(began, ToolUseBlock | ServerToolUseBlock):
        block.tool, block.tool_use = began.name, began.id
    stream.blocks[index] = block
    return block


def _end(memory: Memory, parent: str | None, index: int) -> None:
    """Its assistant line has come before (measured 2.1.37 … 2.1.326); if none came, none will."""
    if (stream := memory.streams.get(parent)) is not None:
        stream.blocks.pop(index, None)


def _strange(memory: Memory, name: str, raw: bytes) -> list[e.Event]:
    what = f"stream_event/{name}"
    if what in memory.strange or len(memory.strange) > 100:
        return []
    memory.strange.add(what)
    text, shortened = cut(readable(raw))
    return [e.Unrecognised(what=what, raw=text, cut=shortened)]
