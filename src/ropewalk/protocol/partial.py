"""Blocks under way, joined from stream events as the API cuts them. Refuses to mix: one parent's pieces never meet another's.

What is joined here is provisional: the ``Assistant`` line of the finished block supersedes it.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from .content import Block, ServerToolUseBlock, TextBlock, ThinkingBlock, ToolUseBlock
from .lenient import load
from .messages import StreamEvent
from .stream import (
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    InputJsonDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    TextDelta,
    ThinkingDelta,
)

_EMPTY: dict[type[Any], Block] = {TextDelta: TextBlock(), ThinkingDelta: ThinkingBlock(), InputJsonDelta: ToolUseBlock()}


class PartialBlock(Struct):
    """One block as far as it has come. ``parent`` is the agent call that it belongs to; None is the main thread."""

    parent: str | None
    index: int
    began: Block
    finished: bool = False
    signature: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Words, thinking, or a tool's input as JSON, so far."""
        return "".join(self.pieces)

    @property
    def input(self) -> dict[str, Any] | None:
        """A tool's input; None while its JSON is not whole."""
        text = self.text
        try:
            found = load(text.encode("utf-8", "surrogatepass")) if text else {}
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    @property
    def block(self) -> Block:
        """The block as the finished line will have it, if nothing more comes."""
        match self.began:
            case TextBlock(text=head):
                return TextBlock(head + self.text)
            case ThinkingBlock(thinking=head, signature=signature):
                return ThinkingBlock(head + self.text, self.signature or signature)
            case ToolUseBlock(id=id, name=name, input=given):
                return ToolUseBlock(id, name, self.input or given)
            case ServerToolUseBlock(id=id, name=name, input=given):
                return ServerToolUseBlock(id, name, self.input or given)
            case _:
                return self.began


class PartialBlocks:
    """Feed it every ``StreamEvent``; it keeps the blocks that are open and gives back the one that changed."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, int], PartialBlock] = {}

    @property
    def open(self) -> list[PartialBlock]:
        """The blocks under way, in the order in which they began."""
        return list(self._open.values())

    def feed(self, message: StreamEvent) -> PartialBlock | None:
        """The block that began, grew or was finished by this event; None for events about the message as a whole."""
        parent, event = message.parent_tool_use_id, message.event
        match event:
            case ContentBlockDelta(index=index, delta=delta):
                return self._grow(parent, index, delta)
            case ContentBlockStart(index=index, content_block=began):
                block = self._open[parent, index] = PartialBlock(parent, index, began)
                return block
            case ContentBlockStop(index=index):
                return self._finish(parent, index)
            case MessageStart() | MessageStop():
                self.forget(parent)
        return None

    def forget(self, parent: str | None) -> None:
        """A new message, or the end of one: what was left open (an interrupt, a broken stream) will not be finished."""
        for key in [key for key in self._open if key[0] == parent]:
            del self._open[key]

    def _grow(self, parent: str | None, index: int, delta: Any) -> PartialBlock | None:
        block = self._open.get((parent, index))
        if block is None:  # its start was lost with a link
            began = _EMPTY.get(type(delta))
            if began is None:
                return None
            block = self._open[parent, index] = PartialBlock(parent, index, began)
        match delta:
            case TextDelta(text=piece) | ThinkingDelta(thinking=piece) | InputJsonDelta(partial_json=piece):
                block.pieces.append(piece)
            case SignatureDelta(signature=piece):
                block.signature += piece
        return block

    def _finish(self, parent: str | None, index: int) -> PartialBlock | None:
        block = self._open.pop((parent, index), None)
        if block is not None:
            block.finished = True
        return block
