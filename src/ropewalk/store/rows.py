"""What a row of each table holds: one struct a table, its fields the columns in their order. Refuses logic and SQL."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class TableRow(Struct, kw_only=True):
    """A row as a value. ``table`` is its table, ``key`` the columns that name one row."""

    table: ClassVar[str]
    key: ClassVar[tuple[str, ...]] = ("id",)


class SessionRow(TableRow, kw_only=True):
    """One session, over all its processes. ``last_seq`` and ``epoch`` belong to the store: written by nobody else."""

    table: ClassVar[str] = "session"
    id: str
    title: str = ""
    tags: list[str] = []
    archived: bool = False
    cli_session: str | None = None
    cwd: str = ""
    runner: str = ""
    owner: str = ""
    epoch: int = 1
    last_seq: int = 0
    status: str = "asleep"
    why: str = ""
    status_at: float = 0.0
    mode: str = ""
    model: str = ""
    cost_usd: float | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    options: bytes = b"{}"
    """How to start it, as JSON."""
    sim: bool = False
    """On the scripted stand-in."""
    parent: str | None = None
    """The session it was forked from."""
    process: str | None = None
    """The process that serves it now."""
    tries: int = 0
    """Recoveries tried by ourselves since a turn last ended well."""
    last_prompt: str = ""
    added: int = 0
    removed: int = 0
    created_at: float = 0.0
    changed_at: float = 0.0


class ProcessRow(TableRow, kw_only=True):
    """One CLI process."""

    table: ClassVar[str] = "process"
    id: str
    session: str
    runner: str = ""
    pid: int | None = None
    start_time: str | None = None
    boot_id: str | None = None
    argv: list[str] = []
    version: str = ""
    started_at: float = 0.0
    ended_at: float | None = None
    exit_code: int | None = None
    why: str = ""
    acked: int = 0
    """The last line of which the runner was told that it is stored."""


class PromptRow(TableRow, kw_only=True):
    """What a person sent: queued → sent → taken → done, or withdrawn, failed, lost."""

    table: ClassVar[str] = "prompt"
    id: str
    session: str
    position: float
    """Order in the queue; a move takes the middle of its new neighbours."""
    content: bytes = b"[]"
    text: str = ""
    when_: str = "next"
    state: str = "queued"
    by: str = ""
    door: str = ""
    client_id: str | None = None
    process: str | None = None
    queued_at: float = 0.0
    sent_at: float | None = None
    taken_at: float | None = None
    done_at: float | None = None
    turn: int | None = None
    """The seq of the turn_started (or turn_ended) that it belongs to."""
    reason: str = ""


class QuestionRow(TableRow, kw_only=True):
    """What the CLI asks and waits for: open → answered, withdrawn, expired, lost. One per (process, request_id)."""

    table: ClassVar[str] = "question"
    id: str
    session: str
    process: str
    request_id: str
    kind: str = "permission"
    tool: str = ""
    input: bytes = b"{}"
    asked: bytes = b"{}"
    """The whole view as it was opened, as JSON."""
    state: str = "open"
    opened_at: float = 0.0
    closed_at: float | None = None
    by: str = ""
    door: str = ""
    verdict: bytes | None = None
    delivered_at: float | None = None


class VerdictRow(TableRow, kw_only=True):
    """The audit: what was allowed or denied, by whom or which rule, because of what. Never changed."""

    table: ClassVar[str] = "verdict"
    id: str
    session: str
    question: str | None = None
    tool: str = ""
    what: str = ""
    behavior: str = "deny"
    because_kind: str = ""
    because_id: str = ""
    because: str = ""
    by: str = ""
    door: str = ""
    input: bytes = b"{}"
    """As asked."""
    ran: bytes | None = None
    """As run, where that differs."""
    at: float = 0.0
    tool_use: str | None = None
    cwd: str = ""
    rules: list[str] = []
    """Ids of those that had a say."""
    parts: bytes = b"[]"
    """With their own verdicts, as JSON."""
    context: bytes = b"{}"
    """What the names in it led to, as JSON: by it a rule can be tried on it later."""
    hash: str = ""
    """Of what was shown to whoever answered."""
    message: str = ""
    turn: int | None = None


class CommandRow(TableRow, kw_only=True):
    """One action of a client: repeated with the same id it is the same action. accepted → done, failed, unknown."""

    table: ClassVar[str] = "command"
    key: ClassVar[tuple[str, ...]] = ("principal", "client_id")
    principal: str
    client_id: str
    kind: str = ""
    session: str | None = None
    body_hash: str = ""
    state: str = "accepted"
    reply: bytes | None = None
    at: float = 0.0


class TurnRow(TableRow, kw_only=True):
    """What a turn cost, one row for each model that took part (``""``: not known). ``seq`` is its turn_ended."""

    table: ClassVar[str] = "turn"
    key: ClassVar[tuple[str, ...]] = ("session", "seq", "model")
    session: str
    seq: int
    model: str = ""
    process: str | None = None
    folder: str = ""
    at: float = 0.0
    seconds: float | None = None
    cost_usd: float | None = None
    """None is "not known", and is shown so."""
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    prompts: list[str] = []
    failed: bool = False


class RuleRow(TableRow, kw_only=True):
    """A rule, or a grant: a rule with an end."""

    table: ClassVar[str] = "rule"
    id: str
    behavior: str
    tool: str
    pattern: str = ""
    scope: str = "everywhere"
    place: str = ""
    by: str = ""
    because: str = ""
    created_at: float = 0.0
    ends_at: float | None = None
    uses_left: int | None = None
    hits: int = 0
    hit_at: float | None = None
    text: str = ""
    """The rule as it is written."""
    note: str = ""
    door: str = ""
    question: str | None = None
    """The card that it was made on."""
    session: str | None = None
    """The session that it was made in, or for."""
    turn: int | None = None
    """The turn of that session that it ends with."""
    ended_at: float | None = None
    ended_why: str = ""
    ended_by: str = ""


class TokenRow(TableRow, kw_only=True):
    """A way in, kept as a hash only. ``kind``: api, browser, cli, runner, or code (one use, exchanged for another)."""

    table: ClassVar[str] = "token"
    id: str
    hash: str
    name: str = ""
    kind: str = "api"
    roles: list[str] = []
    session: str | None = None
    device: str | None = None
    uses_left: int | None = None
    created_at: float = 0.0
    seen_at: float | None = None
    expires_at: float | None = None
    revoked_at: float | None = None


class DeviceRow(TableRow, kw_only=True):
    """A browser or phone of a person, with what is needed to push to it."""

    table: ClassVar[str] = "device"
    id: str
    person: str = ""
    name: str = ""
    push: bytes | None = None
    created_at: float = 0.0
    seen_at: float | None = None
    removed_at: float | None = None


class RunnerRow(TableRow, kw_only=True):
    """A machine that runs CLIs."""

    table: ClassVar[str] = "runner"
    id: str
    name: str = ""
    address: str = ""
    version: str = ""
    state: str = ""
    said: bytes = b"{}"
    """What it last said of itself, as JSON."""
    pid: int | None = None
    start_time: str | None = None
    boot_id: str | None = None
    drained: bool = False
    created_at: float = 0.0
    seen_at: float | None = None


class AttachmentRow(TableRow, kw_only=True):
    """A file that a person gave to a session; its bytes are where ``path`` says, on the runner."""

    table: ClassVar[str] = "attachment"
    id: str
    session: str
    name: str = ""
    media_type: str = ""
    size: int = 0
    path: str = ""
    by: str = ""
    at: float = 0.0


class SeenRow(TableRow, kw_only=True):
    """How far a person has read a session, and whether they want to hear of it."""

    table: ClassVar[str] = "seen"
    key: ClassVar[tuple[str, ...]] = ("person", "session")
    person: str
    session: str
    seq: int = 0
    at: float = 0.0
    muted_until: float | None = None


class SettingRow(TableRow, kw_only=True):
    """A named value of the hub or of a person (``person`` empty: the hub's)."""

    table: ClassVar[str] = "setting"
    key: ClassVar[tuple[str, ...]] = ("person", "name")
    person: str
    name: str
    value: bytes = b"null"
    at: float = 0.0


ROWS: tuple[type[TableRow], ...] = (
    SessionRow, ProcessRow, PromptRow, QuestionRow, VerdictRow, CommandRow, TurnRow, RuleRow,
    TokenRow, DeviceRow, RunnerRow, AttachmentRow, SeenRow, SettingRow,
)  # fmt: skip
TABLES: dict[str, type[TableRow]] = {row.table: row for row in ROWS}
