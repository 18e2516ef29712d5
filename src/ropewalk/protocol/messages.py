"""One struct for each ``type`` of line that the CLI sends, field for field in its spelling. Refuses to interpret.

Every field has a default, so a missing one degrades instead of raising; fields that we don't name are in ``raw``.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from .content import ApiMessage, Block, TextBlock, Usage, UserContent
from .lenient import load
from .stream import KnownEvent, Ping


class Message(Struct, kw_only=True, gc=False):
    """What all lines have in common."""

    raw: bytes = field(name=" raw", default=b"")
    """The line as it came, without its newline."""
    misfits: tuple[str, ...] = field(name=" misfits", default=())
    """Names of fields whose value had not the type we know; they hold their default here and their value in ``raw``."""
    session_id: str | None = None
    uuid: str | None = None

    def fields(self) -> dict[str, Any]:
        """The whole line as a dict, unknown fields included; {} when it is no JSON object or nested too deep."""
        try:
            found = load(self.raw)
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class Assistant(Message, tag_field="type", tag="assistant", gc=False):
    """One content block of the model's answer. ``stop_reason`` is null here: a turn ends with ``Result`` alone."""

    message: ApiMessage = field(default_factory=ApiMessage)
    parent_tool_use_id: str | None = None
    error: str | None = None
    request_id: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    aborted: bool | None = None
    is_api_error_message: bool | None = None
    api_error_status: int | None = None
    api_error_type: str | None = None
    thinking_duration_ms: float | None = None
    local_command_source: str | None = None

    @property
    def content(self) -> list[Block]:
        """The blocks of this line (one, on every CLI measured)."""
        return self.message.content  # type: ignore[return-value]

    @property
    def text(self) -> str:
        """The words of this line; empty for tool calls and thinking."""
        return "".join(block.text for block in self.message.content if type(block) is TextBlock)


class User(Message, tag_field="type", tag="user", gc=False):
    """Tool results, the echo of a prompt of ours (``isReplay``), or words that the CLI put in (``isSynthetic``)."""

    message: UserContent = field(default_factory=UserContent)
    parent_tool_use_id: str | None = None
    tool_use_result: Any = None
    tool_result_meta: list[dict[str, Any]] | None = None
    isReplay: bool = False
    isSynthetic: bool | None = None
    timestamp: str | None = None
    agent_id: str | None = None

    @property
    def content(self) -> list[Block]:
        """The blocks of this line; plain words count as one text block."""
        content = self.message.content
        return [TextBlock(content)] if isinstance(content, str) else content  # type: ignore[return-value]


class StreamEvent(Message, tag_field="type", tag="stream_event", gc=False):
    """A piece of an answer under way; superseded by the ``Assistant`` line of the finished block."""

    event: KnownEvent = field(default_factory=Ping)
    parent_tool_use_id: str | None = None
    api_message_id: str | None = None
    ttft_ms: float | None = None


class ModelUsage(Struct, gc=False):
    """What one model cost, summed over the process."""

    inputTokens: int = 0
    outputTokens: int = 0
    cacheReadInputTokens: int = 0
    cacheCreationInputTokens: int = 0
    webSearchRequests: int = 0
    costUSD: float = 0.0
    contextWindow: int | None = None
    maxOutputTokens: int | None = None


class Result(Message, tag_field="type", tag="result", gc=False):
    """The end of a turn, not of the session. Costs are cumulative for the process; ``usage`` is of this turn."""

    subtype: str = ""
    is_error: bool = False
    result: str | None = None
    errors: list[str] = field(default_factory=list)
    error: str | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    num_turns: int | None = None
    stop_reason: str | None = None
    total_cost_usd: float | None = None
    usage: Usage | None = None
    modelUsage: dict[str, ModelUsage] = field(default_factory=dict)
    permission_denials: list[dict[str, Any]] = field(default_factory=list)
    structured_output: Any = None
    terminal_reason: str | None = None
    api_error_status: int | None = None
    queued_turn_count: int | None = None
    result_index: int | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    origin: dict[str, Any] | None = None
    local_command: str | None = None
    prompts: tuple[str, ...] = field(name=" prompts", default=())
    """Uuids of the prompts that this turn answered, as the connection worked it out; none when nobody asked for the turn."""
    cost_usd: float = field(name=" cost", default=0.0)
    """What this turn cost: the difference of totals."""

    @property
    def failed(self) -> bool:
        """``is_error``, or a subtype other than success: older CLIs say ``is_error: false`` on interrupts and limits."""
        return self.is_error or self.subtype != "success"

    @property
    def interrupted(self) -> bool:
        """Ended by an interrupt (ours, or a deny that interrupts); a resume of an unknown session has no turns."""
        aborted = (self.terminal_reason or "").startswith("aborted_")
        return aborted or (self.subtype == "error_during_execution" and bool(self.num_turns))

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it failed, in the CLI's own words, wherever this version put them. Empty when it did not fail."""
        if not self.failed:
            return ()
        words = (*self.errors, *([self.error] if self.error else []), *([self.result] if self.result else []))
        return words or (self.subtype or "error",)


class CommandLifecycle(Message, tag_field="type", tag="command_lifecycle", gc=False):
    """Receipt of a prompt that has a uuid: queued, started, completed, cancelled, discarded or refused."""

    command_uuid: str = ""
    state: str = ""


class ConversationReset(Message, tag_field="type", tag="conversation_reset", gc=False):
    """``/clear``: the CLI's session id changes in mid-process."""

    new_conversation_id: str | None = None
    trigger: str | None = None
    user_message_uuid: str | None = None


class RateLimitInfo(Struct, gc=False):
    """A subscription's limit: allowed, allowed_warning or rejected, and when it resets (seconds since 1970)."""

    status: str = ""
    resetsAt: float | None = None
    rateLimitType: str | None = None
    utilization: float | None = None
    isUsingOverage: bool | None = None
    surpassedThreshold: float | None = None
    overageStatus: str | None = None
    overageDisabledReason: str | None = None


class RateLimitEvent(Message, tag_field="type", tag="rate_limit_event", gc=False):
    rate_limit_info: RateLimitInfo = field(default_factory=RateLimitInfo)


class ToolProgress(Message, tag_field="type", tag="tool_progress", gc=False):
    """A tool still runs. ``tool_use_id`` is made up by the CLI; the real one is in ``parent_tool_use_id``."""

    tool_use_id: str = ""
    tool_name: str = ""
    elapsed_time_seconds: float = 0.0
    parent_tool_use_id: str | None = None
    task_id: str | None = None
    heartbeat: bool | None = None


class ToolUseSummary(Message, tag_field="type", tag="tool_use_summary", gc=False):
    summary: str = ""
    preceding_tool_use_ids: list[str] = field(default_factory=list)


class KeepAlive(Message, tag_field="type", tag="keep_alive", gc=False):
    """Says only that the link lives."""


class AuthStatus(Message, tag_field="type", tag="auth_status", gc=False):
    """A login under way."""

    isAuthenticating: bool | None = None
    output: list[str] = field(default_factory=list)
    error: str | None = None


class StreamlinedText(Message, tag_field="type", tag="streamlined_text", gc=False):
    """A shortened copy of words that come in full as well: keep, don't show twice."""

    text: str = ""


class StreamlinedToolUseSummary(Message, tag_field="type", tag="streamlined_tool_use_summary", gc=False):
    """A shortened copy of tool calls that come in full as well: keep, don't show twice."""

    tool_summary: str = ""


class PromptSuggestion(Message, tag_field="type", tag="prompt_suggestion", gc=False):
    suggestion: str = ""


class ErrorLine(Message, tag_field="type", tag="error", gc=False):
    """A line of type ``error``; described in documents, never seen from a real CLI."""

    error: Any = None


class Tidings(Message, gc=False):
    """A type whose name is known and whose fields are not: ``fields()`` has them all."""

    type: str = ""


class Unknown(Message, gc=False):
    """A JSON object of a type that we have never heard of. Kept whole: ``fields()``."""

    type: str = ""


class Garbage(Message, gc=False):
    """A line that is no JSON object. Kept whole in ``raw``."""


class Dropped(Message, gc=False):
    """A line past the cap. ``raw`` holds its first 200 bytes, ``size`` what came in all; the rest is gone."""

    size: int = 0


class LinkLost(Message, gc=False):
    """Ours, not the CLI's: the link broke and the CLI lives on. What it says meanwhile may be lost."""


class LinkRestored(Message, gc=False):
    """Ours, not the CLI's: it dialled in again. What we had said and it may not have heard was said again."""

    repeated: int = 0
    """Lines that were said again; the CLI tells repeats apart by their ids."""
    may_lack_lines: bool = True
    """Whether what the CLI said while the link was down is gone. 2.1.120 says it all again; 2.1.37 and 2.1.62 don't."""


NAMED_ONLY = frozenset({
    "active_goal",
    "api_metrics",
    "attachment",
    "autocompact_state",
    "queued_notification",
    "session_notice",
    "thinking_progress",
    "tombstone",
    "transcript_mirror",
})  # fmt: skip
"""Types that newer CLIs have by name (two of them seen on 2.1.326) and whose fields nobody needs typed."""
