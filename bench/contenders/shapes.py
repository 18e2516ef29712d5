"""The structs that the limit prototype reads into: the corpus, typed down to blocks and deltas. Refuses to know more.

``raw`` is under a name that no line has, so a wire field can't fill it.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Usage = dict[str, Any]


class Typed(msgspec.Struct, tag_field="type", gc=False):
    """A struct whose tag is the wire's ``type``."""


class TextBlock(Typed, tag="text"):
    text: str


class ThinkingBlock(Typed, tag="thinking"):
    thinking: str
    signature: str


class ToolUse(Typed, tag="tool_use"):
    id: str
    name: str
    input: dict[str, Any]


class ToolResult(Typed, tag="tool_result"):
    tool_use_id: str
    content: str | list[Any] | None = None
    is_error: bool | None = None


Block = TextBlock | ThinkingBlock | ToolUse | ToolResult


class TextDelta(Typed, tag="text_delta"):
    text: str


class ThinkingDelta(Typed, tag="thinking_delta"):
    thinking: str


class SignatureDelta(Typed, tag="signature_delta"):
    signature: str


class InputDelta(Typed, tag="input_json_delta"):
    partial_json: str


class ApiMessage(msgspec.Struct, gc=False):
    id: str
    role: str
    model: str
    content: list[Block]
    usage: Usage
    stop_reason: str | None = None


class MessageStart(Typed, tag="message_start"):
    message: ApiMessage


class BlockStart(Typed, tag="content_block_start"):
    index: int
    content_block: Block


class BlockDelta(Typed, tag="content_block_delta"):
    index: int
    delta: TextDelta | ThinkingDelta | SignatureDelta | InputDelta


class BlockStop(Typed, tag="content_block_stop"):
    index: int


class MessageDelta(Typed, tag="message_delta"):
    delta: dict[str, Any]
    usage: Usage


class MessageStop(Typed, tag="message_stop"):
    pass


class Line(msgspec.Struct, tag_field="type", gc=False, kw_only=True):
    """What every line carries; ``raw`` is the line itself."""

    raw: bytes = msgspec.field(default=b"", name=" raw")
    session_id: str = ""
    uuid: str = ""
    parent_tool_use_id: str | None = None


class StreamEvent(Line, tag="stream_event"):
    event: MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop


class Assistant(Line, tag="assistant"):
    message: ApiMessage


class UserMessage(msgspec.Struct, gc=False):
    role: str
    content: str | list[Block]


class User(Line, tag="user"):
    message: UserMessage
    tool_use_result: Any = None


class System(Line, tag="system"):
    subtype: str
    status: str | None = None
    tools: list[str] = []
    model: str | None = None
    permissionMode: str | None = None


class Result(Line, tag="result"):
    subtype: str
    is_error: bool
    duration_ms: float
    num_turns: int
    total_cost_usd: float
    usage: Usage
    result: str = ""
    modelUsage: dict[str, Any] = {}
    permission_denials: list[Any] = []


class CanUseTool(msgspec.Struct):
    subtype: Literal["can_use_tool"]
    tool_name: str
    input: msgspec.Raw
    tool_use_id: str
    permission_suggestions: list[dict[str, Any]] = []


class ControlRequest(Line, tag="control_request"):
    request_id: str
    request: CanUseTool


class Reply(msgspec.Struct):
    subtype: str
    request_id: str
    response: dict[str, Any] = {}


class ControlResponse(Line, tag="control_response"):
    response: Reply


Message = StreamEvent | Assistant | User | System | Result | ControlRequest | ControlResponse


class Answer(msgspec.Struct, omit_defaults=True):
    behavior: str
    updatedInput: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET


class Light(msgspec.Struct, gc=False):
    """A glance at a line: its type, nothing else."""

    type: str


class LightMessage:
    """A line whose type is known; the rest is read when somebody asks."""

    __slots__ = ("raw", "type")

    def __init__(self, kind: str, raw: bytes) -> None:
        self.type, self.raw = kind, raw

    @property
    def typed(self) -> Message:
        message: Message = msgspec.json.decode(self.raw, type=Message)
        message.raw = self.raw
        return message
