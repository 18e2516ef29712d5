"""What doors may ask of the hub: the bodies of the API's verbs. Refuses unknown fields, so that a typing error is no silence."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

Role = Literal["watch", "prompt", "answer", "admin"]
Line = Annotated[str, Meta(max_length=400, pattern=r"^[^\x00-\x1f\x7f]*$")]
"""One line of a person's words: a title, a name, a tag."""
Word = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Path = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]
Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]
ClientId = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
Mode = Literal["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto"]
When = Literal["next", "now", "instead"]
Kind = Literal["rule", "grant", "person", "policy", "mode", "cli", "built_in"]
"""What a verdict rests on; ``cli``: Claude Code decided by itself."""
Text = Annotated[str, Meta(max_length=16 * 1024 * 1024)]


class Principal(Struct, frozen=True):
    """Who asks, as ``servers.access`` found it. Roles come from the token, never from the request."""

    name: str
    roles: frozenset[str] = frozenset()
    door: str = ""
    token: str = ""

    def may(self, role: str) -> bool:
        """watch < prompt, answer (side by side) < admin."""
        if role == "watch":
            return bool(self.roles)
        return role in self.roles or "admin" in self.roles


class Command(Struct, forbid_unknown_fields=True, kw_only=True):
    """``client_id``: the asker's own name for this action. Repeated, it is the same action; under another body it is refused."""

    client_id: ClientId | None = None


class SessionOptions(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """How its CLI is started, beyond folder, model and mode. What a program, hooks or servers could be smuggled in by is refused
    unless the configuration allows it."""

    append_system_prompt: Text | None = None
    max_turns: Annotated[int, Meta(ge=1, le=10000)] | None = None
    max_budget_usd: Annotated[float, Meta(gt=0)] | None = None
    fallback_model: Word | None = None
    allowed_tools: Annotated[list[Word], Meta(max_length=500)] = field(default_factory=list)
    disallowed_tools: Annotated[list[Word], Meta(max_length=500)] = field(default_factory=list)
    add_dirs: Annotated[list[Path], Meta(max_length=100)] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    mcp_config: Path | None = None
    settings: Path | None = None
    allow_bypass: bool = False
    """Started so that it may be switched to bypassPermissions later."""
    keep_stream_events: bool = False
    idle_after: Annotated[float, Meta(ge=0)] | None = None
    """Seconds without work after which the process is closed; 0: never; None: as configured."""
    sim: bool = False
    """On the stand-in: a scripted CLI of ours, no account, no model."""


class Prompt(Command):
    """``text``, or ``content`` as the CLI's content blocks (text, image, and attachments of ours by reference)."""

    text: Text | None = None
    content: list[dict[str, Any]] | None = None
    when: When = "next"


class CreateSession(Command):
    cwd: Path | None = None
    """Needed unless the session is a fork."""
    prompt: Text | None = None
    content: list[dict[str, Any]] | None = None
    title: Line | None = None
    tags: Annotated[list[Word], Meta(max_length=50)] = field(default_factory=list)
    model: Word | None = None
    permission_mode: Mode | None = None
    for_seconds: Annotated[float, Meta(gt=0, le=86400)] | None = None
    """How long bypassPermissions lasts, from the moment in which Claude runs in it."""
    resume: Id | None = None
    """A CLI session id of that folder to go on with."""
    fork_of: Id | None = None
    fork_at: Id | None = None
    """The uuid of a message of the CLI: the fork knows what came up to it."""
    runner: Id | None = None
    options: SessionOptions = field(default_factory=SessionOptions)


class EditPrompt(Command):
    """New words, or another place: ``before`` the prompt of that id, or last with an empty text."""

    text: Text | None = None
    content: list[dict[str, Any]] | None = None
    before: str | None = None


class Withdraw(Command):
    pass


class Interrupt(Command):
    pass


class Stop(Command):
    patience: Annotated[float, Meta(ge=0, le=600)] = 10.0


class Wake(Command):
    pass


class Fork(Command):
    at: Id | None = None
    prompt: Text | None = None
    title: Line | None = None


class Rewind(Command):
    """Back to the moment before this prompt: files, conversation or both. ``dry_run`` changes nothing and tells what would."""

    prompt: Id
    dry_run: bool = False
    files: bool = True
    conversation: bool = False


class SetMode(Command):
    mode: Mode
    for_seconds: Annotated[float, Meta(gt=0, le=86400)] | None = None
    """How long; bypassPermissions needs it, and ends by the hub's clock. The mode before it follows."""


class SetModel(Command):
    model: Word | None = None
    """None: the CLI's default."""


class SetThinking(Command):
    max_thinking_tokens: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None


class SetEnvironment(Command):
    variables: dict[str, str] = field(default_factory=dict)


class Rename(Command):
    title: Line


class Archive(Command):
    archived: bool = True


class ChangeSession(Command):
    title: Line | None = None
    tags: Annotated[list[Word], Meta(max_length=50)] | None = None
    archived: bool | None = None


class Control(Struct, kw_only=True):
    """Any control request of the protocol: ``subtype`` and whatever fields it has."""

    subtype: Word
    client_id: ClientId | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    within: Annotated[float, Meta(gt=0, le=600)] = 30.0


RuleText = Annotated[str, Meta(min_length=1, max_length=4096)]
Behavior = Literal["deny", "ask", "allow"]
Scope = Literal["everywhere", "folder", "session"]
Span = Annotated[float, Meta(gt=0, le=366 * 86400)]
"""Seconds."""
Uses = Annotated[int, Meta(ge=1, le=1_000_000)]


class Remember(Struct, forbid_unknown_fields=True, kw_only=True):
    """What is granted with an allow: rules of ours, word for word as they were offered or narrower, or one suggestion of the CLI.

    Rules hold in this folder, unless ``scope`` says otherwise; with ``for_seconds``, ``uses`` or ``turn`` they end by themselves.
    """

    suggestion: Annotated[int, Meta(ge=0)] | None = None
    rules: Annotated[list[RuleText], Meta(max_length=20)] = field(default_factory=list)
    scope: Scope = "folder"
    place: Path | None = None
    """Another folder than the session's; it must be the session's or one above it."""
    for_seconds: Span | None = None
    uses: Uses | None = None
    turn: bool = False
    """Until this turn ends."""


class AllowedPrompt(Struct, forbid_unknown_fields=True, kw_only=True):
    """One thing that a plan wishes to be allowed, ticked by a person; ``rule`` where words must become one."""

    tool: Word
    prompt: Annotated[str, Meta(max_length=4096)] = ""
    rule: RuleText | None = None


class Answer(Command):
    behavior: Literal["allow", "deny"]
    updated_input: dict[str, Any] | None = None
    message: Text | None = None
    interrupt: bool = False
    remember: Remember | None = None
    shown: Annotated[str, Meta(max_length=100)] | None = None
    """``hash`` of the question as it was shown: an answer to anything else is refused."""
    plan: Literal["fresh", "keep_edits", "keep_ask", "revise", "outline", "stop"] | None = None
    answers: dict[str, str] | None = None
    """To a choice: exact question text → answer."""
    notes: dict[str, str] | None = None
    mode: Mode | None = None
    """In which a plan is carried out (fresh, keep_edits); acceptEdits by default. bypassPermissions needs ``for_seconds``."""
    for_seconds: Annotated[float, Meta(gt=0, le=86400)] | None = None
    allowed_prompts: Annotated[list[AllowedPrompt], Meta(max_length=50)] = field(default_factory=list)
    """Of a plan's ``requested``, those that are granted: rules of ours for this session."""
    content: list[dict[str, Any]] | None = None
    """Pictures that go with the words to a plan that is sent back (revise), as content blocks."""
    compact: bool = False
    """After a plan that is carried out in the same talk (keep_edits, keep_ask): ``/compact`` when its turn has ended."""


class NewRule(Command):
    """A rule of ours. With ``for_seconds``, ``uses`` or scope session it ends by itself."""

    text: RuleText
    behavior: Behavior
    scope: Scope = "everywhere"
    place: Path | None = None
    """The folder, or the session's id."""
    note: Line = ""
    for_seconds: Span | None = None
    uses: Uses | None = None


class ChangeRule(Command):
    """What is left out stays. A built-in rule can only be switched off and on."""

    text: RuleText | None = None
    behavior: Behavior | None = None
    scope: Scope | None = None
    place: Path | None = None
    note: Line | None = None
    enabled: bool | None = None


class EndRule(Command):
    pass


class RuleLists(Struct, forbid_unknown_fields=True):
    allow: Annotated[list[RuleText], Meta(max_length=2000)] = field(default_factory=list)
    ask: Annotated[list[RuleText], Meta(max_length=2000)] = field(default_factory=list)
    deny: Annotated[list[RuleText], Meta(max_length=2000)] = field(default_factory=list)


class TriedRule(Struct, forbid_unknown_fields=True, kw_only=True):
    """A rule that is not saved yet; ``instead`` of the one of that id, where it is a change."""

    text: RuleText
    behavior: Behavior
    scope: Scope = "everywhere"
    place: Path | None = None
    instead: Id | None = None


class RuleTest(Struct, forbid_unknown_fields=True, kw_only=True):
    """One request by ``rules`` or by the saved ones; or one rule over the ``last`` requests that were recorded."""

    tool: Word | None = None
    input: dict[str, Any] = field(default_factory=dict)
    cwd: Path | None = None
    session: Id | None = None
    rules: RuleLists | None = None
    rule: TriedRule | None = None
    last: Annotated[int, Meta(ge=1, le=10_000)] = 1000


class Seen(Command):
    seq: Annotated[int, Meta(ge=0)]


class Mute(Command):
    until: float | None = None
    muted: bool = True


class NewToken(Command):
    """A one-time code (``code``) to sign a device in with, or a token for a program."""

    name: Word = "device"
    roles: Annotated[list[Role], Meta(min_length=1, max_length=4)] = field(default_factory=lambda: ["admin"])
    kind: Literal["code", "program"] = "code"
    expires_in: Annotated[float, Meta(gt=0)] | None = None


class SignIn(Struct, forbid_unknown_fields=True):
    code: Annotated[str, Meta(min_length=1, max_length=200)]
    device: Line = ""


class AuditFilter(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Which verdicts. ``who`` and ``door``: of the answer, or of whoever made the rule that answered."""

    session: str | None = None
    tool: str | None = None
    tool_use: str | None = None
    behavior: Literal["allow", "deny"] | None = None
    because: Kind | None = None
    who: str | None = None
    door: str | None = None
    text: str | None = None
    """Stands in what was asked, without regard to case."""
    since: float | None = None
    until: float | None = None
    wildcard: bool = False
    """Only what a rule with a star answered."""
    outside: bool = False
    """Only what names a file outside of the session's folder."""
