"""The API's own streaming events, as they ride on ``stream_event`` lines. Refuses to join them: see ``partial``."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from .content import ApiMessage, KnownBlock, TextBlock, Usage


class TextDelta(Struct, tag_field="type", tag="text_delta", gc=False):
    text: str = ""


class ThinkingDelta(Struct, tag_field="type", tag="thinking_delta", gc=False):
    thinking: str = ""


class SignatureDelta(Struct, tag_field="type", tag="signature_delta", gc=False):
    signature: str = ""


class InputJsonDelta(Struct, tag_field="type", tag="input_json_delta", gc=False):
    partial_json: str = ""


class CitationsDelta(Struct, tag_field="type", tag="citations_delta", gc=False):
    citation: Any = None


class UnknownDelta(Struct, gc=False):
    """A delta of a type that we have no struct for, whole."""

    type: str
    fields: dict[str, Any]


KnownDelta = TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta | CitationsDelta


class MessageStart(Struct, tag_field="type", tag="message_start", gc=False):
    message: ApiMessage = field(default_factory=ApiMessage)


class MessageDelta(Struct, tag_field="type", tag="message_delta", gc=False):
    delta: dict[str, Any] = field(default_factory=dict)
    usage: Usage | None = None


class MessageStop(Struct, tag_field="type", tag="message_stop", gc=False):
    pass


class ContentBlockStart(Struct, tag_field="type", tag="content_block_start", gc=False):
    index: int = 0
    content_block: KnownBlock = field(default_factory=TextBlock)


class ContentBlockDelta(Struct, tag_field="type", tag="content_block_delta", gc=False):
    index: int = 0
    delta: KnownDelta = field(default_factory=TextDelta)


class ContentBlockStop(Struct, tag_field="type", tag="content_block_stop", gc=False):
    index: int = 0


class Ping(Struct, tag_field="type", tag="ping", gc=False):
    pass


class StreamError(Struct, tag_field="type", tag="error", gc=False):
    error: dict[str, Any] = field(default_factory=dict)


class UnknownEvent(Struct, gc=False):
    """A streaming event of a type that we have no struct for, whole."""

    type: str
    fields: dict[str, Any]


KnownEvent = (
    ContentBlockDelta | ContentBlockStart | ContentBlockStop | MessageStart | MessageDelta | MessageStop | Ping | StreamError
)
