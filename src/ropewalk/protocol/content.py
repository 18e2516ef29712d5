"""Content blocks as the Messages API spells them. Refuses to judge: an unknown block is kept, not dropped."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field


class TextBlock(Struct, tag_field="type", tag="text", gc=False):
    """Words."""

    text: str = ""


class ThinkingBlock(Struct, tag_field="type", tag="thinking", gc=False):
    """The model's own thinking, signed."""

    thinking: str = ""
    signature: str | None = None


class RedactedThinkingBlock(Struct, tag_field="type", tag="redacted_thinking", gc=False):
    """Thinking that only the API can read."""

    data: str | None = None


class ToolUseBlock(Struct, tag_field="type", tag="tool_use", gc=False):
    """The model calls a tool. In a ``content_block_start`` the input is still empty."""

    id: str = ""
    name: str = ""
    input: dict[str, Any] = field(default_factory=dict)


class ServerToolUseBlock(Struct, tag_field="type", tag="server_tool_use", gc=False):
    """A tool that runs at the API's side (web search)."""

    id: str = ""
    name: str = ""
    input: dict[str, Any] = field(default_factory=dict)


class ToolResultBlock(Struct, tag_field="type", tag="tool_result", gc=False):
    """What a tool gave back: a string, a list of blocks, or one object."""

    tool_use_id: str = ""
    content: str | list[Any] | dict[str, Any] | None = None
    is_error: bool | None = None

    @property
    def text(self) -> str:
        """The result as one text; pictures and unknown parts are left out."""
        parts = self.content if isinstance(self.content, list) else [self.content]
        return "\n".join(text for part in parts if (text := _text_of(part)) is not None)


class ImageBlock(Struct, tag_field="type", tag="image", gc=False):
    """A picture; ``source`` is {type: base64, media_type, data} or {type: url, url}."""

    source: dict[str, Any] = field(default_factory=dict)


class DocumentBlock(Struct, tag_field="type", tag="document", gc=False):
    """A document (PDF, plain text)."""

    source: dict[str, Any] = field(default_factory=dict)
    title: str | None = None


class UnknownBlock(Struct, gc=False):
    """A block of a type that we have no struct for, whole."""

    type: str
    fields: dict[str, Any]


KnownBlock = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ServerToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | DocumentBlock
)
Block = KnownBlock | UnknownBlock


class Usage(Struct, gc=False):
    """Tokens of one call, or of one turn in a ``result``."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int | None = 0
    cache_read_input_tokens: int | None = 0
    cache_creation: dict[str, Any] | None = None
    server_tool_use: dict[str, Any] | None = None
    service_tier: str | None = None

    @property
    def context_tokens(self) -> int:
        """What the model had to read: the size of the context at that call."""
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class ApiMessage(Struct, gc=False):
    """An API message. On ``assistant`` lines it holds one block; the same ``id`` comes again with the next."""

    id: str = ""
    type: str = "message"
    role: str = "assistant"
    model: str = ""
    content: list[KnownBlock] = field(default_factory=list)
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None


class UserContent(Struct, gc=False):
    """``message`` of a ``user`` line: words, or blocks (tool results, pictures)."""

    role: str = "user"
    content: str | list[KnownBlock] = ""


def _text_of(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return None
