"""One struct for each ``subtype`` of a ``system`` line. Refuses to interpret what they mean for a session."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from .messages import Message


class ToolDescription(Struct, gc=False):
    """A tool as an object. Real CLIs list names only; both are read."""

    name: str = ""
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class McpServer(Struct, gc=False):
    name: str = ""
    status: str = ""
    source: str | None = None


class Plugin(Struct, gc=False):
    name: str = ""
    path: str | None = None
    source: str | None = None


class System(Message, gc=False):
    """A ``system`` line; each subtype has a class of its own below."""


class Init(System, tag_field="subtype", tag="init", gc=False):
    """The start of a turn (each turn, after the first prompt): neither a greeting nor a new session."""

    cwd: str | None = None
    tools: list[str | ToolDescription] = field(default_factory=list)
    mcp_servers: list[McpServer] = field(default_factory=list)
    model: str | None = None
    permissionMode: str | None = None
    slash_commands: list[str] = field(default_factory=list)
    apiKeySource: str | None = None
    claude_code_version: str | None = None
    output_style: str | None = None
    agents: list[str] = field(default_factory=list)
    skills: list[str] = field(default_factory=list)
    plugins: list[Plugin] = field(default_factory=list)
    capabilities: list[str] = field(default_factory=list)
    user_message_uuids: list[str] | None = None
    fast_mode_state: str | None = None
    original_cwd: str | None = None
    additional_directories: list[str] = field(default_factory=list)

    @property
    def tool_names(self) -> list[str]:
        """Names of the tools, whichever way they were listed."""
        return [tool if isinstance(tool, str) else tool.name for tool in self.tools]


class Status(System, tag_field="subtype", tag="status", gc=False):
    """What the CLI does now (compacting, requesting, nothing), and the mode where it changed."""

    status: str | None = None
    permissionMode: str | None = None
    compact_result: str | None = None
    compact_error: str | None = None


class CompactMetadata(Struct, gc=False):
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: float | None = None


class CompactBoundary(System, tag_field="subtype", tag="compact_boundary", gc=False):
    compact_metadata: CompactMetadata = field(default_factory=CompactMetadata)


class TaskUsage(Struct, gc=False):
    total_tokens: int = 0
    tool_uses: int = 0
    duration_ms: float = 0.0


class TaskStarted(System, tag_field="subtype", tag="task_started", gc=False):
    task_id: str = ""
    tool_use_id: str | None = None
    description: str | None = None
    task_type: str | None = None
    run_id: str | None = None
    subagent_type: str | None = None
    is_backgrounded: bool | None = None
    prompt: str | None = None


class TaskProgress(System, tag_field="subtype", tag="task_progress", gc=False):
    task_id: str = ""
    tool_use_id: str | None = None
    description: str | None = None
    usage: TaskUsage | None = None
    last_tool_name: str | None = None
    subagent_type: str | None = None


class TaskUpdated(System, tag_field="subtype", tag="task_updated", gc=False):
    task_id: str = ""
    run_id: str | None = None
    patch: dict[str, Any] = field(default_factory=dict)


class TaskNotification(System, tag_field="subtype", tag="task_notification", gc=False):
    """A background task ended: completed, failed or stopped. A turn that nobody asked for may follow."""

    task_id: str = ""
    status: str = ""
    tool_use_id: str | None = None
    output_file: str | None = None
    summary: str | None = None
    usage: TaskUsage | None = None
    run_id: str | None = None


class BackgroundTasksChanged(System, tag_field="subtype", tag="background_tasks_changed", gc=False):
    """The whole list of background tasks, each time."""

    tasks: list[dict[str, Any]] = field(default_factory=list)


class HookStarted(System, tag_field="subtype", tag="hook_started", gc=False):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""


class HookProgress(System, tag_field="subtype", tag="hook_progress", gc=False):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None


class HookResponse(System, tag_field="subtype", tag="hook_response", gc=False):
    hook_id: str = ""
    hook_name: str = ""
    hook_event: str = ""
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None


class ApiRetry(System, tag_field="subtype", tag="api_retry", gc=False):
    """Before each retry of a model call; ``error_status`` is null when there was no connection."""

    attempt: int = 0
    max_retries: int | None = None
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: str | None = None


class PermissionDenied(System, tag_field="subtype", tag="permission_denied", gc=False):
    """A tool that the CLI refused by itself, without asking."""

    tool_name: str = ""
    tool_use_id: str | None = None
    message: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    decision_reason_code: str | None = None


class Informational(System, tag_field="subtype", tag="informational", gc=False):
    content: str | None = None
    level: str | None = None
    tag: str | None = None


class ThinkingTokens(System, tag_field="subtype", tag="thinking_tokens", gc=False):
    estimated_tokens: int = 0
    estimated_tokens_delta: int = 0


class SessionStateChanged(System, tag_field="subtype", tag="session_state_changed", gc=False):
    """idle, running or requires_action; only when the session's environment asks for it."""

    state: str = ""


class SessionTitleChanged(System, tag_field="subtype", tag="session_title_changed", gc=False):
    title: str | None = None


class ControlRequestProgress(System, tag_field="subtype", tag="control_request_progress", gc=False):
    """A slow request of ours is under way."""

    request_id: str = ""
    status: str | None = None


class FilesPersisted(System, tag_field="subtype", tag="files_persisted", gc=False):
    files: list[Any] = field(default_factory=list)
    failed: list[Any] = field(default_factory=list)


class OtherSystem(System, gc=False):
    """A subtype whose name is known and whose fields nobody needs typed: ``fields()``."""

    subtype: str = ""


class UnknownSystem(System, gc=False):
    """A subtype that we have never heard of. Kept whole: ``fields()``."""

    subtype: str = ""


KnownSystem = (
    Init
    | Status
    | CompactBoundary
    | TaskStarted
    | TaskProgress
    | TaskUpdated
    | TaskNotification
    | BackgroundTasksChanged
    | HookStarted
    | HookProgress
    | HookResponse
    | ApiRetry
    | PermissionDenied
    | Informational
    | ThinkingTokens
    | SessionStateChanged
    | SessionTitleChanged
    | ControlRequestProgress
    | FilesPersisted
)

NAMED_ONLY_SUBTYPES = frozenset({
    "agents_killed",
    "api_error",
    "away_summary",
    "cloud_session_delta",
    "code_change_published",
    "commands_changed",
    "dev_intent",
    "elicitation_complete",
    "feedback_draft_queued",
    "file_attachments_missing",
    "file_snapshot",
    "inherited_asks_settled",
    "instruction_size_warning",
    "late_allow_not_run",
    "local_command_output",
    "memory_recall",
    "memory_saved",
    "mirror_error",
    "model_consent_fallback",
    "model_fallback",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "notification",
    "peer_message_hold",
    "per_turn_effort_changed",
    "permission_check_status",
    "permission_retry",
    "plugin_install",
    "post_turn_summary",
    "scheduled_task_fire",
    "session_metadata",
    "session_writes_lost",
    "stop_hook_summary",
    "task_summary",
    "turn_duration",
    "turn_handoff_available",
    "turn_preempted",
    "vcs_state_changed",
    "worker_shutting_down",
})  # fmt: skip
"""Subtypes that 2.1.326 has by name; not one of them was seen on the wire."""
