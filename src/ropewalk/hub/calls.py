"""What doors may call. Refuses to say how: ``hub.hub`` does. Every verb raises a ``HubError`` with a sentence for people.

Verbs take the asker first and check its role themselves: a door can't forget to. A verb returns when its effect is stored.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

from ..events import commands as c
from ..events import views as v
from ..events.commands import Principal


class Listener(Protocol):
    """Who listens. Called from the loop; must neither block nor raise.

    A listener that falls behind (``backlog`` past the feed's bound) is cut off: ``cut`` is called once, and it may come back
    with its last seq and miss nothing.
    """

    @property
    def backlog(self) -> int:
        """Bytes that were told and not yet taken off."""

    def told(self, session: str, events: list[tuple[int, bytes]]) -> None:
        """Durable events, in order: (seq, the event as JSON)."""

    def live(self, session: str, events: list[bytes]) -> None:
        """Live events as JSON; never told to a listener with a backlog."""

    def cut(self, why: str) -> None:
        """Nothing more will come."""


class Subscription(Protocol):
    def close(self) -> None:
        """Hear nothing more. Harmless when repeated."""


class HubCalls(Protocol):
    # -- hearing

    async def subscribe(self, who: Principal, session: str, after: int, listener: Listener) -> Subscription:
        """History after ``after`` first, then what happens, each event once and in order. Raises ``NotFound``."""

    async def subscribe_all(self, who: Principal, listener: Listener) -> Subscription:
        """Changes of the list and the inbox: session_created, session_changed, status_changed, question_opened, question_closed,
        turn_ended, failed, of every session, from now on."""

    # -- sessions

    async def create(self, who: Principal, command: c.CreateSession) -> v.SessionView: ...
    async def prompt(self, who: Principal, session: str, command: c.Prompt) -> v.PromptView: ...
    async def edit_prompt(self, who: Principal, session: str, prompt: str, command: c.EditPrompt) -> v.PromptView: ...
    async def withdraw(self, who: Principal, session: str, prompt: str, command: c.Withdraw) -> v.PromptView: ...
    async def interrupt(self, who: Principal, session: str, command: c.Interrupt) -> v.Receipt: ...
    async def stop(self, who: Principal, session: str, command: c.Stop) -> v.Receipt: ...
    async def wake(self, who: Principal, session: str, command: c.Wake) -> v.SessionView: ...
    async def fork(self, who: Principal, session: str, command: c.Fork) -> v.SessionView: ...
    async def rewind(self, who: Principal, session: str, command: c.Rewind) -> v.Receipt: ...
    async def set_mode(self, who: Principal, session: str, command: c.SetMode) -> v.Receipt: ...
    async def set_model(self, who: Principal, session: str, command: c.SetModel) -> v.Receipt: ...
    async def set_thinking(self, who: Principal, session: str, command: c.SetThinking) -> v.Receipt: ...
    async def set_environment(self, who: Principal, session: str, command: c.SetEnvironment) -> v.Receipt: ...
    async def change(self, who: Principal, session: str, command: c.ChangeSession) -> v.SessionView: ...
    async def control(self, who: Principal, session: str, command: c.Control) -> v.Receipt: ...
    async def answer(self, who: Principal, question: str, command: c.Answer) -> v.QuestionView: ...
    async def seen(self, who: Principal, session: str, command: c.Seen) -> v.Receipt: ...
    async def mute(self, who: Principal, session: str, command: c.Mute) -> v.Receipt: ...
    async def attach_file(self, who: Principal, session: str, name: str, data: bytes, kind: str) -> dict[str, Any]:
        """Keep a file for a prompt; the reference goes into ``content``: {"type": "attachment", "id": …}."""

    async def add_rule(self, who: Principal, command: c.NewRule) -> v.RuleView: ...
    async def change_rule(self, who: Principal, rule: str, command: c.ChangeRule) -> v.RuleView: ...
    async def end_rule(self, who: Principal, rule: str, command: c.EndRule) -> v.RuleView: ...

    # -- views

    async def sessions(
        self, who: Principal, *, status: str | None = None, text: str | None = None, archived: bool = False,
        tag: str | None = None, limit: int = 100, cursor: str | None = None,
    ) -> v.Page:  # fmt: skip
        """Those that need a person first (longest waiting first), then those at work, then the quiet ones, newest first.

        ``status``: one status, or a group: needs_you, working, quiet.
        """

    async def session(self, who: Principal, session: str) -> v.SessionView:
        """By id, or any unique start of at least four letters. Raises ``NotFound``; ``Conflict`` when several begin so."""

    async def snapshot(self, who: Principal, session: str) -> v.Snapshot: ...
    async def events(self, who: Principal, session: str, *, after: int = 0, limit: int = 500) -> list[tuple[int, bytes]]: ...
    async def lines(
        self, who: Principal, session: str, *, after: int = 0, direction: str | None = None, limit: int = 500
    ) -> list[tuple[int, str, str, int, float, bytes]]:
        """The wire, verbatim: (cursor, process, "in" or "out", n, at, bytes)."""

    async def questions(self, who: Principal, *, state: str = "open", session: str | None = None) -> list[v.QuestionView]:
        """Open ones longest waiting first."""

    async def question(self, who: Principal, question: str) -> v.QuestionView:
        """With what its offers would have matched, and which other open questions they would answer."""

    async def rules(self, who: Principal, *, ended: bool = False) -> list[v.RuleView]:
        """In the order in which they decide; ``ended``: also grants that ended in the last days."""

    async def rule(self, who: Principal, rule: str) -> v.RuleView: ...
    async def test_rules(self, who: Principal, command: c.RuleTest) -> v.TriedView | v.TrialView:
        """One request by the saved rules or by others; or one rule over what was asked before."""

    async def suggested_rules(self, who: Principal) -> list[v.Suggestion]: ...
    async def audit(self, who: Principal, asked: c.AuditFilter, *, limit: int = 100, cursor: str | None = None) -> v.Page:
        """Verdicts newest first, those that Claude Code gave itself among them. A page may hold fewer than ``limit``, even none,
        and have a ``next``: what a filter passes over is bounded for each call."""

    async def export_audit(self, who: Principal, asked: c.AuditFilter, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        """(file name, content type, its pieces); every row. ``form``: csv or jsonl."""

    async def verdict(self, who: Principal, verdict: str) -> v.Why: ...
    async def why(self, who: Principal, session: str, *, tool_use: str | None = None, seq: int | None = None) -> v.Why:
        """Why a tool call ran or did not; without either, the last one. ``NotFound`` also where nobody has decided yet."""

    async def commands(self, who: Principal, session: str) -> list[dict[str, Any]]:
        """Slash commands of this session, as its CLI listed them."""

    async def files(self, who: Principal, session: str, q: str) -> list[str]: ...
    async def changes(self, who: Principal, session: str, *, since: str | None = None) -> dict[str, Any]: ...
    async def export(self, who: Principal, session: str, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        """(file name, content type, its pieces); ``form``: jsonl, json or md."""

    async def search(self, who: Principal, q: str, *, session: str | None = None, limit: int = 50) -> list[v.Hit]: ...
    async def usage(self, who: Principal, *, by: str = "day", since: float | None = None) -> list[v.UsageRow]: ...
    async def summary(self, who: Principal, after: float) -> v.Summary: ...
    async def runners(self, who: Principal) -> list[v.RunnerView]: ...
    async def found(self, who: Principal, runner: str, cwd: str) -> list[dict[str, Any]]:
        """Claude sessions of this folder that we did not start."""

    async def folders(self, who: Principal, runner: str, q: str) -> list[str]: ...
    def health(self) -> v.Health: ...
    def figures(self) -> dict[str, float]:
        """Numbers for /metrics: name → value."""

    # -- who may come in: rows of tokens, for ``servers.access`` alone

    async def token_rows(self) -> list[dict[str, Any]]: ...
    async def put_token(self, row: dict[str, Any]) -> None: ...
    async def change_token(self, token: str, **values: Any) -> bool:
        """False: no such token, or a condition did not hold (a code that was used already)."""

    def on_tokens_changed(self, tell: Callable[[], None]) -> None: ...
