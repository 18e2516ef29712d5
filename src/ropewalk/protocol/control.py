"""Control lines that the CLI sends: its questions, its answers to us, its withdrawals. Refuses to answer: see ``connection``."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from .messages import Message


class CanUseTool(Struct, tag_field="subtype", tag="can_use_tool", gc=False):
    """May this tool run? ``permission_suggestions`` go back unchanged in an answer, one at a time."""

    tool_name: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None
    permission_suggestions: list[dict[str, Any]] = field(default_factory=list)
    blocked_path: str | None = None
    decision_reason: str | None = None
    agent_id: str | None = None
    display_name: str | None = None
    description: str | None = None
    title: str | None = None
    decision_reason_type: str | None = None
    decision_reason_code: str | None = None
    requires_user_interaction: bool | None = None
    suppress_always_allow_rule: bool | None = None
    default_to_no: bool | None = None
    server_policy_ask_only: bool | None = None
    mcp_server: dict[str, Any] | None = None


class HookCallback(Struct, tag_field="subtype", tag="hook_callback", gc=False):
    """A hook that we registered is due. ``hook_name`` and ``hook_data`` are another spelling, read when heard."""

    callback_id: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tool_use_id: str | None = None
    hook_name: str | None = None
    hook_data: Any = None


class McpMessage(Struct, tag_field="subtype", tag="mcp_message", gc=False):
    """JSON-RPC for an MCP server that lives in our process."""

    server_name: str = ""
    message: Any = None


class Elicitation(Struct, tag_field="subtype", tag="elicitation", gc=False):
    """An MCP server asks the person something."""

    mcp_server_name: str = ""
    message: str | None = None
    mode: str | None = None
    url: str | None = None
    elicitation_id: str | None = None
    requested_schema: dict[str, Any] | None = None


class RequestUserDialog(Struct, tag_field="subtype", tag="request_user_dialog", gc=False):
    """The CLI wants a dialog of its own shown."""

    dialog_kind: str = ""
    payload: Any = None
    tool_use_id: str | None = None


class SdkControlInterrupt(Struct, tag_field="subtype", tag="sdk_control_interrupt", gc=False):
    """An acknowledgement of an interrupt, described in documents and never seen: acknowledged in turn, no person needed."""


class UnknownQuestion(Struct, gc=False):
    """A question of a subtype that we don't know, whole. It is answered with an error at once: the CLI waits."""

    subtype: str = ""
    fields: dict[str, Any] = field(default_factory=dict)


KnownQuestion = CanUseTool | HookCallback | McpMessage | Elicitation | RequestUserDialog | SdkControlInterrupt


class ControlRequest(Message, tag_field="type", tag="control_request", gc=False):
    """The CLI asks and waits. ``request_id`` is the only handle of the answer."""

    request_id: str = ""
    request: KnownQuestion = field(default_factory=UnknownQuestion)  # type: ignore[assignment]
    input_raw: bytes = field(name=" input", default=b"")
    """The input's own bytes, where it could not be read into ``request.input``; an unchanged allow returns them."""


class ControlAnswer(Struct, gc=False):
    """The inside of a ``control_response``: ``request_id`` sits here, the payload one level deeper."""

    subtype: str = ""
    request_id: str = ""
    response: dict[str, Any] | None = None
    error: str | None = None
    error_code: str | None = None
    pending_permission_requests: list[dict[str, Any]] = field(default_factory=list)
    pending_user_dialog_requests: list[dict[str, Any]] = field(default_factory=list)


class ControlResponse(Message, tag_field="type", tag="control_response", gc=False):
    """The answer to a request of ours."""

    response: ControlAnswer = field(default_factory=ControlAnswer)


class ControlCancelRequest(Message, tag_field="type", tag="control_cancel_request", gc=False):
    """The CLI withdraws a question of its own."""

    request_id: str = ""
