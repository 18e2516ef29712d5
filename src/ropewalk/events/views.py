"""What the hub answers: sessions, questions, queues, runners, as every face shows them. Refuses behaviour: structs only."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Raw, Struct, field

from .events import Fate, QuestionKind, Status

NeedGroup = Literal["needs_you", "working", "quiet"]

WORKING: frozenset[str] = frozenset({"starting", "thinking", "running_tool", "rate_limited", "compacting", "background"})


def group_of(status: str) -> NeedGroup:
    """Where a list puts it. Out of reach counts as at work: its turns go on there."""
    if status == "waiting":
        return "needs_you"
    return "working" if status in WORKING or status == "unreachable" else "quiet"


class SessionView(Struct, kw_only=True):
    id: str
    title: str
    status: Status
    why: str
    status_at: float
    group: NeedGroup
    fix: str = ""
    """The one verb that would help, where one would: answer, interrupt, wake, sign_in, choose_folder, send_again …"""
    cwd: str
    runner: str = "local"
    model: str | None = None
    mode: str | None = None
    cost_usd: float = 0.0
    context_tokens: int = 0
    context_window: int | None = None
    cli_session: str | None = None
    cli_version: str | None = None
    sim: bool = False
    tags: list[str] = field(default_factory=list)
    archived: bool = False
    open_questions: int = 0
    queued: int = 0
    last_seq: int = 0
    seen: int = 0
    muted: bool = False
    fork_of: str | None = None
    process: str | None = None
    pid: int | None = None
    children: int | None = None
    memory: int | None = None
    created_at: float = 0.0
    changed_at: float = 0.0


class PromptView(Struct, kw_only=True):
    id: str
    session: str
    state: Literal["queued", "sent", "taken", "done", "withdrawn", "failed", "lost"]
    text: str
    content: list[dict[str, Any]] | None = None
    when: str = "next"
    by: str = ""
    door: str = ""
    queued_at: float = 0.0
    sent_at: float | None = None
    taken_at: float | None = None
    done_at: float | None = None
    reason: str = ""
    turn: int | None = None


class Part(Struct, omit_defaults=True):
    """A part of what would happen, with its own verdict."""

    text: str
    kind: str = ""
    verdict: str = ""
    because: str = ""
    tags: list[str] = field(default_factory=list)


class Matches(Struct, omit_defaults=True):
    """What a rule would have had a say in, among the requests that were recorded last."""

    total: int = 0
    denied: int = 0
    """Of those, how many a person denied."""
    of: int = 0


class Step(Struct, kw_only=True, omit_defaults=True):
    """One width of an offer: all of these rules together."""

    rules: list[str]
    warning: str = ""
    """What else it would allow."""
    still_asked_because: str = ""
    """Why the same question would come back."""
    matches: Matches | None = None
    also_answers: list[str] = field(default_factory=list)
    """Ids of other open questions that it would answer."""


class Offer(Struct, kw_only=True):
    """What may be granted besides this once, from narrow to wide. ``rules`` are those of the first step."""

    scope: Literal["session", "folder", "everywhere"]
    places: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)


class QuestionView(Struct, kw_only=True):
    """A question as every face shows it."""

    id: str
    session: str
    asks: QuestionKind
    state: Literal["open", "answered", "withdrawn", "expired", "lost"] = "open"
    tool: str = ""
    does: str = ""
    title_words: str = ""
    """What is asked, as a question: ``Run a command?``"""
    line: str = ""
    """One line for lists: ``Run: npm run migrate``."""
    description: str = ""
    input: Raw | dict[str, Any] = field(default_factory=dict)
    tool_use: str | None = None
    reason: str = ""
    """Why the CLI asks, in its own words."""
    blocked_path: str | None = None
    suggestions: list[dict[str, Any]] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    because: str = ""
    """Why we ask: no rule matches, which rule says ask, what could not be taken apart."""
    because_rule: str | None = None
    """The rule that says ask, by its id."""
    offers: list[Offer] = field(default_factory=list)
    once_only_because: str = ""
    """Why nothing can be granted besides this once."""
    before: dict[str, Any] | None = None
    """The file before an edit, as it stood when this was asked: path, exists, text, or size and why there is no text."""
    hash: str = ""
    """Of what is shown. Given back with an answer, the answer is bound to it."""
    policy_deadline: float | None = None
    """When a policy denies it, if nobody has answered."""
    plan: dict[str, Any] | None = None
    choices: list[dict[str, Any]] | None = None
    origin: str | None = None
    """The sub-agent that asks."""
    only_people: bool = False
    default_to_no: bool = False
    no_always: bool = False
    opened_at: float = 0.0
    closed_at: float | None = None
    by: str = ""
    door: str = ""
    verdict: dict[str, Any] | None = None
    delivered_at: float | None = None
    session_title: str = ""
    cwd: str = ""
    may_answer: bool = True


class RuleView(Struct, kw_only=True):
    """A rule, or a grant: a rule with an end. Deny beats ask beats allow, whatever the order."""

    id: str
    text: str
    behavior: Literal["deny", "ask", "allow"]
    scope: Literal["everywhere", "folder", "session"] = "everywhere"
    place: str = ""
    place_title: str = ""
    """The session's title, where the place is a session."""
    source: Literal["store", "file", "built_in", "cli"] = "store"
    """``cli``: Claude Code's own settings, for show: it applies them before it asks us."""
    file: str = ""
    by: str = ""
    door: str = ""
    question: str | None = None
    """The card that it was made on."""
    session: str | None = None
    note: str = ""
    enabled: bool = True
    created_at: float = 0.0
    ends_at: float | None = None
    uses_left: int | None = None
    ends_with: Literal["", "turn", "session"] = ""
    hits: int = 0
    hit_at: float | None = None
    ended_at: float | None = None
    ended_why: str = ""
    not_read: str = ""
    """Of Claude Code's own: why we would not take it."""


class TriedView(Struct, kw_only=True):
    """A verdict tried out: nothing was asked, nothing ran."""

    behavior: Literal["deny", "ask", "allow"]
    because: str
    parts: list[Part] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    rule: str | None = None


class TrialLine(Struct, kw_only=True):
    """One recorded request that a rule would answer otherwise."""

    what: str
    tool: str
    before: str
    after: str
    decided: str = ""
    """What a person said then."""
    by: str = ""
    at: float = 0.0
    verdict: str = ""
    session: str = ""


class TrialView(Struct, kw_only=True):
    """What one rule would have changed. ``conflicts`` are among the others: it answers, and not as a person did."""

    total: int
    more: int = 0
    fewer: int = 0
    denied: int = 0
    matches: int = 0
    conflicts: list[TrialLine] = field(default_factory=list)
    lines: list[TrialLine] = field(default_factory=list)
    words: str = ""


class Suggestion(Struct, kw_only=True):
    """Rules that would have answered what people kept approving."""

    rules: list[str]
    times: int
    example: str
    folder: str = ""


class VerdictView(Struct, kw_only=True):
    """Why a tool call ran, or did not: one row of the audit."""

    id: str
    at: float
    session: str
    session_title: str = ""
    tool: str = ""
    tool_use: str | None = None
    what: str = ""
    behavior: Literal["allow", "deny"]
    because_kind: Literal["rule", "grant", "person", "policy", "mode", "cli", "built_in"]
    because_id: str = ""
    because: str = ""
    by: str = ""
    door: str = ""
    question: str | None = None
    rules: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    message: str = ""
    input: Raw | dict[str, Any] = field(default_factory=dict)
    """As asked."""
    ran: Raw | dict[str, Any] | None = None
    """As run, where that differs."""
    hash: str = ""
    cwd: str = ""
    turn: int | None = None
    seq: int | None = None
    """Where in the session's log it stands, where it is known."""
    delivered: bool | None = None


class Why(Struct, kw_only=True):
    """One verdict with all that led to it: the answer to "why did this run?"."""

    verdict: VerdictView
    words: str
    """The answer in one sentence."""
    rule: RuleView | None = None
    """As it stands now, where a rule or a grant decided."""
    others: int = 0
    """Calls besides this one that the same rule had a say in."""
    mode: str = ""
    """The CLI's permission mode at that time, where it is known."""
    ends_it: str = ""
    """The command that takes back what let it run."""


class Partial(Struct):
    """A block that is being said."""

    block: str
    kind: Literal["text", "thinking", "tool_input"]
    text: str
    parent: str | None = None
    tool: str = ""


class Snapshot(Struct, kw_only=True):
    """Everything that a face needs to draw a session; then events after ``last_seq``."""

    session: SessionView
    questions: list[QuestionView] = field(default_factory=list)
    queue: list[PromptView] = field(default_factory=list)
    partial: list[Partial] = field(default_factory=list)
    todos: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    last_seq: int = 0


class Page(Struct):
    """``next``: give it as ``after`` (or ``cursor``) to go on; None: this was all."""

    items: list[Any]
    next: str | int | None = None


class Receipt(Struct, kw_only=True):
    """A command was stored and carried out, or is under way."""

    ok: bool = True
    session: str | None = None
    prompt: str | None = None
    question: str | None = None
    state: str = "done"
    reply: dict[str, Any] | None = None
    message: str = ""


class RunnerView(Struct, kw_only=True):
    id: str
    name: str
    state: Literal["live", "lost"]
    since: float
    pid: int | None = None
    version: str = ""
    processes: int = 0
    children: int = 0
    memory: int = 0
    held_lines: int = 0
    why: str = ""


class TokenView(Struct, kw_only=True):
    id: str
    name: str
    roles: list[str]
    kind: str
    created_at: float
    last_seen: float | None = None
    expires_at: float | None = None
    code: str | None = None
    """Only in the answer that made it."""
    token: str | None = None


class Me(Struct):
    name: str
    roles: list[str]
    door: str


class Health(Struct, kw_only=True):
    """``state``: ok, or what is wrong; every face shows ``why``."""

    state: Literal["ok", "degraded"]
    why: str = ""
    version: str = ""
    store: str = "ok"
    runner: str = "ok"
    claude: str = ""
    claude_found: bool = False
    sim: bool = False
    sessions: int = 0
    open_questions: int = 0
    started_at: float = 0.0


class UsageRow(Struct, kw_only=True):
    key: str
    turns: int = 0
    cost_usd: float = 0.0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    unknown: int = 0
    """Turns whose cost is not known."""


class Hit(Struct, kw_only=True):
    """A place that a search found."""

    session: str
    seq: int
    at: float
    kind: str
    snippet: str
    title: str = ""


class Summary(Struct, kw_only=True):
    """What happened since a time: for whoever comes back."""

    since: float
    questions: list[QuestionView] = field(default_factory=list)
    finished: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)
    cost_usd: float = 0.0


class Problem(Struct, kw_only=True, omit_defaults=True):
    """An error, as problem+json: ``detail`` says what to do."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str = ""
    by: str | None = None
    fields: list[str] = field(default_factory=list)


__all__ = ["Fate", "Health", "Hit", "Me", "Page", "Part", "Partial", "Problem", "PromptView", "QuestionView", "Receipt",
           "RunnerView", "SessionView", "Snapshot", "Summary", "TokenView", "UsageRow", "Why", "group_of"]  # fmt: skip
