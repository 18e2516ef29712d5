"""What a Client is to be, and the flags that make the CLI so. Refuses options that can't be meant, before anything starts."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import SessionGone, UsageError
from ..protocol.answers import Answer
from ..protocol.versions import MODES, NEWER_MODES, mode_is_legal
from ..transports.flags import OURS, words
from .hooks import Hooks
from .mailbox import LIMIT, Told
from .question import Question

if TYPE_CHECKING:
    from ..transports.base import Transport
    from ..transports.launch import Launch

Verdict = Answer | None
OnQuestion = Callable[[Question], Verdict | Awaitable[Verdict]]
Road = Literal["stdio", "websocket", "hybrid"]

UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
FLAG = r"-{0,2}[A-Za-z][A-Za-z0-9-]*"
TOOL = r"[\w*:.@/-]+"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)  # what is generated costs at every import
class ClientOptions:
    """Everything has a default. Texts that may be long or secret go over stdin, never into argv."""

    cwd: str | os.PathLike[str] = "."
    cli: str | os.PathLike[str] | Sequence[str] | None = None
    """The ``claude`` to run; a sequence is taken as the whole beginning of the command. Else ROPEWALK_CLI, else the PATH."""
    model: str | None = None
    permission_mode: str = "default"
    on_question: OnQuestion | None = None
    """Answers questions (plain or async function). Without it they come out of ``receive``; answer by ``control_response``."""

    resume: str | None = None
    continue_last: bool = False
    fork: bool = False
    resume_at: str | None = None
    session_id: str | None = None
    known_cost: float = 0.0
    """The session's total before a resume, so that its first turn is not charged with it again."""

    system_prompt: str | None = None
    append_system_prompt: str | None = None
    agents: Mapping[str, Any] | None = None
    json_schema: Mapping[str, Any] | None = None
    max_turns: int | None = None
    max_budget_usd: float | None = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    add_dirs: Sequence[str | os.PathLike[str]] = ()
    hooks: Hooks = field(default_factory=dict)
    mcp_servers: Mapping[str, Any] = field(default_factory=dict)
    """By name: a server of the official ``mcp`` SDK or a function (both run here), or a configuration for the CLI to start."""
    initialize: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the initialize request."""

    partial: bool = True
    """Deltas while the model speaks (``stream_event``)."""
    skip_permissions: bool = False
    allow_bypass: bool = False
    """Lets a later ``set_permission_mode`` go to bypassPermissions on newer CLIs."""
    checkpoints: bool = True
    """Keeps file checkpoints, so that ``rewind_files`` works."""
    env: Mapping[str, str] = field(default_factory=dict)
    api_billing: bool = False
    """Hand ANTHROPIC_API_KEY on to the CLI. Off: the person's own login is used."""
    extra_args: Mapping[str, str | None] = field(default_factory=dict)
    """Flags that have no option here, by name without dashes; None for a flag without value."""

    transport: Road | Callable[[Launch], Transport] = "stdio"
    lazy: bool = False
    """Deltas, answers and tool results come as ``LazyMessage``, typed when looked at."""
    request_timeout: float = 60.0
    start_timeout: float = 60.0
    close_patience: float = 10.0
    max_unread: int = LIMIT

    on_message: Callable[[Told], None] | None = None
    on_connected: Callable[[], None] | None = None
    on_disconnected: Callable[[SessionGone], None] | None = None
    on_error: Callable[[Exception], None] | None = None

    def __repr__(self) -> str:
        """What differs from the defaults; of ``env`` only the names, since values may be secret."""
        usual = ClientOptions()
        chosen = {name: getattr(self, name) for name in self.__slots__ if getattr(self, name) != getattr(usual, name)}
        if "env" in chosen:
            chosen["env"] = sorted(self.env)
        return f"ClientOptions({', '.join(f'{name}={value!r}' for name, value in chosen.items())})"

    def check(self) -> None:
        """Raise ``UsageError`` for what can't be meant."""
        if not mode_is_legal(self.permission_mode, None):
            known = ", ".join(sorted({*MODES, *NEWER_MODES}))
            raise UsageError(f"no permission mode {self.permission_mode!r}; there are {known}")
        if self.session_id and (self.resume or self.continue_last) and not self.fork:
            raise UsageError("session_id names a new session: it goes with resume only when fork=True")
        if self.resume and self.continue_last:
            raise UsageError("resume names a session and continue_last takes the newest: choose one")
        if (self.fork or self.resume_at) and not (self.resume or self.continue_last):
            raise UsageError("fork and resume_at need a session to start from: give resume or continue_last")
        if self.session_id and not re.fullmatch(UUID, self.session_id):
            raise UsageError(f"session_id must be a UUID, not {self.session_id!r}; leave it out for a random one")
        if self.max_turns is not None and (not isinstance(self.max_turns, int) or self.max_turns < 1):
            raise UsageError("max_turns is a whole number, at least 1")
        if self.max_budget_usd is not None and not self.max_budget_usd > 0:
            raise UsageError("max_budget_usd is more than 0")
        if not os.fspath(self.cwd):
            raise UsageError("cwd is empty; leave it out for the present folder")
        for several in ("allowed_tools", "disallowed_tools", "add_dirs"):
            if isinstance(getattr(self, several), str):
                raise UsageError(f"{several} is a list: write {several}=[{getattr(self, several)!r}]")
        for name, function in (("on_question", self.on_question), ("on_message", self.on_message), ("on_error", self.on_error)):
            if function is not None and not callable(function):
                raise UsageError(f"{name} is a function, not {function!r}")
        for name in self.extra_args:
            if not re.fullmatch(FLAG, name):
                raise UsageError(f"{name!r} is no flag; write its name without value, such as 'fallback-model'")
        ours = OURS.intersection(name.lstrip("-") for name in self.extra_args)
        if ours:
            raise UsageError(f"--{min(ours)} is set by ropewalk itself; leave it out of extra_args")
        for rule in (*self.allowed_tools, *self.disallowed_tools):
            if not is_one_rule(rule):
                raise UsageError(f"{rule!r} is not one rule; write one a string, such as 'Read' or 'Bash(git log:*)'")
        if isinstance(self.transport, str) and self.transport not in ("stdio", "websocket", "hybrid"):
            raise UsageError(
                f"no transport {self.transport!r}; there are stdio, websocket and hybrid, or a function that makes one"
            )


def is_one_rule(rule: str) -> bool:
    """``Tool`` or ``Tool(…)``. The CLI splits at blanks and commas outside of brackets: others would become several rules."""
    tool, bracket, content = rule.partition("(")
    depth = [0]
    for char in bracket + content:
        depth.append(depth[-1] + (char == "(") - (char == ")"))
    closed_last = not bracket or (depth[-1] == 0 and 0 not in depth[1:-1])
    return closed_last and re.fullmatch(TOOL, tool) is not None


def flags(options: ClientOptions) -> tuple[str, ...]:
    """The CLI's words. Values are glued to their flag, so that none can pass for a flag of its own."""
    switches = {
        "--include-partial-messages": options.partial,
        "--dangerously-skip-permissions": options.skip_permissions,
        "--allow-dangerously-skip-permissions": options.allow_bypass,
        "--continue": options.continue_last,
        "--fork-session": options.fork,
    }
    values: dict[str, object] = {
        "--permission-mode": options.permission_mode,
        "--model": options.model,
        "--resume": options.resume,
        "--resume-session-at": options.resume_at,
        "--session-id": options.session_id,
        "--max-turns": options.max_turns,
        "--max-budget-usd": options.max_budget_usd,
    }
    lists = {
        "--allowedTools": options.allowed_tools,
        "--disallowedTools": options.disallowed_tools,
        "--add-dir": [os.fspath(folder) for folder in options.add_dirs],
    }
    said = [*words(switches, values, lists)]
    for name, value in options.extra_args.items():
        flag = f"--{name.lstrip('-')}"
        said.append(flag if value is None else f"{flag}={value}")
    return tuple(said)


def initialize_fields(options: ClientOptions, hooks: Mapping[str, Any], mcp_names: Sequence[str]) -> dict[str, Any]:
    """What is said in ``initialize``: everything that may be long."""
    said: dict[str, Any] = {
        "hooks": dict(hooks) or None,
        "sdkMcpServers": list(mcp_names) or None,
        "jsonSchema": options.json_schema,
        "systemPrompt": options.system_prompt,
        "appendSystemPrompt": options.append_system_prompt,
        "agents": options.agents,
    }
    return {name: value for name, value in said.items() if value is not None} | dict(options.initialize)
