"""One struct for each thing that can happen to a session, in the past tense. Refuses the CLI's own words: those are messages.

Every durable event has a ``seq``, given by the store: 1, 2, 3 … for each session. A live event carries the last durable one and
is never stored; the finished block supersedes it.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct, field

Status = Literal[
    "starting", "thinking", "running_tool", "waiting", "rate_limited", "compacting", "background", "idle", "asleep",
    "unreachable", "stopped", "failed",
]  # fmt: skip
QuestionKind = Literal["permission", "plan", "choice", "dialog"]
Fate = Literal["answered", "withdrawn", "expired", "lost"]
"""How a question ended: by an answer, by the CLI's own word, by a policy's deadline, or with its process."""

TEXT_LIMIT = 64 * 1024
"""Longer texts stay in the line they came from; the event says so with ``cut`` and names the line."""


class Event(Struct, kw_only=True, omit_defaults=True, tag_field="kind"):
    """What all of them have. ``line`` is the number of the CLI's line that said it, ``process`` whose line that was."""

    session: str = ""
    seq: int = 0
    at: float = 0.0
    parent: str | None = None
    """The tool_use_id of the sub-agent that this belongs to."""
    process: str | None = None
    line: int | None = None
    part: int = 0


# -- the session and its processes


class SessionCreated(Event, tag="session_created"):
    cwd: str
    title: str = ""
    by: str = ""
    door: str = ""
    sim: bool = False
    fork_of: str | None = None
    fork_at: str | None = None
    resume: str | None = None


class SessionChanged(Event, tag="session_changed"):
    """Title, tags or archive; only what changed is set."""

    title: str | None = None
    tags: list[str] | None = None
    archived: bool | None = None
    cli_session: str | None = None
    by: str = ""


class ProcessStarted(Event, tag="process_started"):
    pid: int | None = None
    runner: str = ""
    argv: list[str] = field(default_factory=list)
    version: str | None = None
    resumed: str | None = None
    """The CLI session that it goes on with."""
    why: str = ""


class ProcessEnded(Event, tag="process_ended"):
    code: int | None = None
    why: str = ""
    stderr: list[str] = field(default_factory=list)
    wanted: bool = False
    """A person or the idle clock ended it: no failure."""
    by: str = ""
    """The person who stopped it; empty when it was put to sleep, or ended by itself."""


class StopRung(Event, tag="stop_rung"):
    """A stop is under way: the rung of the ladder that is taken now."""

    rung: str
    by: str = ""


class LinkLost(Event, tag="link_lost"):
    """The runner, or the road to the CLI, is not heard. Its turns may go on there."""

    why: str = ""
    may_lack_lines: bool = False


class LinkRestored(Event, tag="link_restored"):
    may_lack_lines: bool = False


# -- prompts: each has a receipt


class PromptQueued(Event, tag="prompt_queued"):
    prompt: str
    text: str = ""
    cut: bool = False
    images: int = 0
    when: Literal["next", "now", "instead"] = "next"
    by: str = ""
    door: str = ""


class PromptChanged(Event, tag="prompt_changed"):
    """A prompt that was not yet handed over was edited or moved."""

    prompt: str
    text: str | None = None
    cut: bool = False
    before: str | None = None
    by: str = ""


class PromptSent(Event, tag="prompt_sent"):
    prompt: str


class PromptTaken(Event, tag="prompt_taken"):
    prompt: str


class PromptWithdrawn(Event, tag="prompt_withdrawn"):
    prompt: str
    by: str = ""


class PromptFailed(Event, tag="prompt_failed"):
    prompt: str
    reason: str = ""


class PromptLost(Event, tag="prompt_lost"):
    """Handed over, and its process ended before it was known to be taken. Never sent again by itself."""

    prompt: str
    reason: str = ""


# -- turns


class TurnStarted(Event, tag="turn_started"):
    turn: int
    model: str | None = None
    mode: str | None = None
    tools: list[str] | None = None
    cwd: str | None = None
    version: str | None = None


class Tokens(Struct, omit_defaults=True, gc=False):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class TurnEnded(Event, tag="turn_ended"):
    """``prompts``: those that it answered; none when nobody asked for the turn."""

    turn: int
    prompts: list[str] = field(default_factory=list)
    failed: bool = False
    interrupted: bool = False
    subtype: str = ""
    text: str = ""
    cut: bool = False
    reasons: list[str] = field(default_factory=list)
    cost_usd: float = 0.0
    duration_ms: float | None = None
    tokens: Tokens | None = None
    empty: bool = False
    """It said nothing at all: after a resume that means the session may not have resumed."""
    cut_off: bool = False
    """The model ran into its limit of output: the text ends in mid-sentence."""
    denials: int = 0
    structured: Any = None
    error: str = ""
    """The kind of failure, where the CLI names one: authentication_failed, rate_limit …"""
    advice: str = ""
    """A sentence: why it ended so, and what to do about it. Empty when it went well."""


class StatusChanged(Event, tag="status_changed"):
    status: Status
    why: str = ""


# -- what is said and done


class Text(Event, tag="text"):
    text: str
    cut: bool = False
    block: str = ""
    """Names the block that deltas were told for: ``<message id>:<index>``."""
    aborted: bool = False
    error: str | None = None
    """The kind of failure that the CLI says in these words (authentication_failed, rate_limit …)."""
    synthetic: bool = False


class Thinking(Event, tag="thinking"):
    text: str
    cut: bool = False
    block: str = ""
    duration_ms: float | None = None
    redacted: bool = False
    """Only the model's maker can read it."""


class ToolStarted(Event, tag="tool_started"):
    """``does``: read, edit, run, search, fetch, agent, todo, plan, ask, mcp or other; ``title``: the one telling argument."""

    tool_use: str
    tool: str
    does: str
    title: str
    input: Raw | dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    block: str = ""


class ToolFinished(Event, tag="tool_finished"):
    tool_use: str
    tool: str = ""
    failed: bool = False
    title: str = ""
    """As of its start."""
    output: str = ""
    cut: bool = False
    summary: str = ""
    """At most four words: what came of it."""
    by: str | None = None
    """Who let it run, where the CLI says so: user_temporary, config …"""
    why: str = ""
    """Why the CLI let it run or refused it by itself, where it says so: rule, mode …, or a sentence."""
    images: int = 0
    """Pictures in the result; the line has them."""


class ToolsSummarised(Event, tag="tools_summarised"):
    text: str
    tool_uses: list[str] = field(default_factory=list)


class TodosChanged(Event, tag="todos_changed"):
    todos: list[dict[str, Any]] = field(default_factory=list)


class TaskStarted(Event, tag="task_started"):
    task: str
    tool_use: str | None = None
    title: str = ""
    does: str = ""
    background: bool = False


class TaskChanged(Event, tag="task_changed"):
    task: str
    title: str | None = None
    last_tool: str | None = None
    tools: int | None = None
    tokens: int | None = None
    status: str | None = None
    background: bool | None = None


class TaskEnded(Event, tag="task_ended"):
    task: str
    status: str = ""
    summary: str = ""
    tool_use: str | None = None
    tools: int | None = None
    tokens: int | None = None
    output_file: str = ""


# -- questions


class QuestionOpened(Event, tag="question_opened"):
    """``asked`` is the question as faces show it: a ``QuestionView`` as JSON."""

    question: str
    asks: QuestionKind
    tool: str = ""
    words: str = ""
    asked: Raw | dict[str, Any] = field(default_factory=dict)


class QuestionClosed(Event, tag="question_closed"):
    question: str
    fate: Fate
    behavior: Literal["allow", "deny"] | None = None
    by: str = ""
    door: str = ""
    message: str = ""
    edited: bool = False
    interrupt: bool = False
    because: str = ""
    because_kind: str = ""
    """person; or rule, grant, mode, policy, where nobody had to answer any more."""
    rules: list[str] = field(default_factory=list)
    """The rules that were made with this answer, word for word."""
    tool_use: str | None = None
    verdict: str = ""
    """Its row in the audit."""


class VerdictGiven(Event, tag="verdict_given"):
    """A tool call was allowed or denied without asking anybody. Those that a person answers end with ``question_closed``."""

    verdict: str
    tool_use: str | None
    tool: str
    behavior: Literal["allow", "deny"]
    because: str
    because_kind: str = "rule"
    """rule, grant, mode or policy."""
    rules: list[str] = field(default_factory=list)
    """Ids of the rules that had a say."""


class GrantEnded(Event, tag="grant_ended"):
    """A rule that was made with an end, for this session or on a card of it, does not hold any more."""

    rule: str
    text: str
    why: str = ""
    by: str = ""


class QuestionDelivered(Event, tag="question_delivered"):
    """The answer is on the CLI's input; or it never will be."""

    question: str
    delivered: bool = True
    why: str = ""


# -- what changed around it


class ModeChanged(Event, tag="mode_changed"):
    mode: str
    by: str = ""


class ModelChanged(Event, tag="model_changed"):
    model: str
    by: str = ""


class UsageReported(Event, tag="usage_reported"):
    """Running totals after a turn. ``context_tokens``: what the model read at its last call."""

    cost_usd: float = 0.0
    context_tokens: int = 0
    context_window: int | None = None
    models: dict[str, Tokens] = field(default_factory=dict)


class RateLimitChanged(Event, tag="rate_limit_changed"):
    status: str
    resets_at: float | None = None
    limit: str | None = None
    utilization: float | None = None
    using_overage: bool | None = None
    overage_status: str | None = None
    overage_reason: str | None = None


class ApiRetried(Event, tag="api_retried"):
    """Claude's service failed and is asked again."""

    attempt: int = 0
    of: int = 0
    delay_ms: float = 0.0
    status: int | None = None
    error: str = ""


class HookRan(Event, tag="hook_ran"):
    name: str = ""
    on: str = ""
    outcome: str = ""
    output: str = ""
    started: bool = False
    """It began, or goes on: no outcome yet."""
    stderr: str = ""
    exit_code: int | None = None


class McpChanged(Event, tag="mcp_changed"):
    servers: list[dict[str, Any]] = field(default_factory=list)


class ContextCompacting(Event, tag="context_compacting"):
    """Room is being made: ``context_compacted`` follows, or the turn goes on without."""

    before: int | None = None


class ContextCompacted(Event, tag="context_compacted"):
    trigger: str = ""
    before: int | None = None
    after: int | None = None
    summary: str = ""
    error: str = ""


class ContextCleared(Event, tag="context_cleared"):
    cli_session: str | None = None
    why: str = ""


class FilesRewound(Event, tag="files_rewound"):
    prompt: str
    files: list[str] = field(default_factory=list)
    by: str = ""


class FilesSaved(Event, tag="files_saved"):
    files: list[str] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)


class SignInChanged(Event, tag="sign_in_changed"):
    """A login of the CLI under way."""

    under_way: bool = False
    output: list[str] = field(default_factory=list)
    error: str | None = None


class Noted(Event, tag="noted"):
    """Something that the CLI tells in words of its own and that changes nothing."""

    what: str = ""
    text: str = ""
    level: str = ""
    cut: bool = False
    tool_use: str | None = None
    raw: str = ""
    """The line, where we know its name and not its fields."""


class Unrecognised(Event, tag="unrecognised"):
    """A line that we have no word for. ``line`` has it verbatim; ``what`` is its type and subtype."""

    what: str = ""
    raw: str = ""
    cut: bool = False


class LineDropped(Event, tag="line_dropped"):
    size: int
    head: str = ""


class Warned(Event, tag="warning"):
    text: str
    code: str = ""
    prompt: str | None = None
    """The prompt that it is about."""


class Failed(Event, tag="failed"):
    text: str
    code: str = ""


# -- live: told, never stored


class LiveEvent(Event):
    """Told to whoever listens now. ``seq`` is the last durable one."""


class TextDelta(LiveEvent, tag="text_delta"):
    block: str
    text: str
    begins: int = 0
    """How many characters of the block came before: a listener that missed some knows."""


class ThinkingDelta(LiveEvent, tag="thinking_delta"):
    block: str
    text: str
    begins: int = 0


class ToolInputDelta(LiveEvent, tag="tool_input_delta"):
    block: str
    text: str
    begins: int = 0
    tool: str = ""


class ToolProgressed(LiveEvent, tag="tool_progressed"):
    tool_use: str
    tool: str = ""
    seconds: float = 0.0


DURABLE = (
    SessionCreated | SessionChanged | ProcessStarted | ProcessEnded | StopRung | LinkLost | LinkRestored | PromptQueued
    | PromptChanged | PromptSent | PromptTaken | PromptWithdrawn | PromptFailed | PromptLost | TurnStarted | TurnEnded
    | StatusChanged | Text | Thinking | ToolStarted | ToolFinished | ToolsSummarised | TodosChanged | TaskStarted | TaskChanged
    | TaskEnded | QuestionOpened | QuestionClosed | QuestionDelivered | VerdictGiven | GrantEnded | ModeChanged | ModelChanged
    | UsageReported
    | RateLimitChanged | ApiRetried | HookRan | McpChanged | ContextCompacting | ContextCompacted | ContextCleared
    | FilesRewound | FilesSaved | SignInChanged | Noted | Unrecognised | LineDropped | Warned | Failed
)  # fmt: skip
LIVE = TextDelta | ThinkingDelta | ToolInputDelta | ToolProgressed
AnyEvent = DURABLE | LIVE
