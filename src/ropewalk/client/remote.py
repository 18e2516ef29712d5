"""A hub's verbs from a program: sessions, prompts, questions, events. Refuses to do anything twice: each call has its own name.

What is asked is stored by the hub before the call returns. While the hub is away calls are repeated for ``patience`` seconds, and
``attach`` goes on where it was.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Generic, Literal, TypeVar

import msgspec

from ..errors import Conflict, HubUnreachable, NotAllowed, RequestFailed, TurnFailed
from ..events import commands as c
from ..events import views as v
from ..events.events import Event, PromptFailed, PromptLost, PromptWithdrawn, TurnEnded
from .remote_calls import Calls, Where
from .remote_live import OnLink, attached, read

T = TypeVar("T")
Content = str | Sequence[Mapping[str, Any]]
Views = list[v.SessionView]


class WireLine(msgspec.Struct, kw_only=True):
    """A line between the hub and a CLI, verbatim: ``line``, or ``base64`` where it is no UTF-8."""

    cursor: int
    process: str = ""
    dir: Literal["in", "out"]
    n: int = 0
    at: float = 0.0
    line: str | None = None
    base64: str | None = None


class Page(msgspec.Struct, Generic[T]):
    items: list[T]
    next: str | int | None = None


class Remote:
    """``async with Remote("http://127.0.0.1:7077", token=…) as hub``. Sessions are named by id, or by a unique start of one."""

    def __init__(
        self, url: str | None = None, token: str | None = None, *, patience: float = 30.0, tls: ssl.SSLContext | None = None,
        find: Callable[[], tuple[str, str]] | None = None, on_link: OnLink = lambda up: None,
    ) -> None:  # fmt: skip
        """``url`` and ``token`` default to ``ROPEWALK_URL`` and ``ROPEWALK_TOKEN``. ``find`` gives both anew after a break."""
        if find is not None and url is None:
            url, token = find()
        url, token = url or os.environ.get("ROPEWALK_URL"), token or os.environ.get("ROPEWALK_TOKEN")
        if not url:
            raise HubUnreachable("no hub is named; give its address, or set ROPEWALK_URL and ROPEWALK_TOKEN")
        if not token and find is None:
            raise NotAllowed("no token is given; name it, or set ROPEWALK_TOKEN (`ropewalk token new` makes one)")
        self.where = Where(url, token or "", find)
        self.on_link = on_link
        self._patience, self._tls = patience, tls
        self._calls = Calls(self.where, patience, tls)

    async def __aenter__(self) -> Remote:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the connections go. Sessions are the hub's and go on."""
        await self._calls.close()

    # -- sessions

    async def start(
        self, cwd: str | os.PathLike[str] | None = None, prompt: Content | None = None, *, title: str | None = None,
        model: str | None = None, permission_mode: c.Mode | None = None, resume: str | None = None, fork_of: str | None = None,
        fork_at: str | None = None, runner: str | None = None, tags: Sequence[str] = (),
        options: c.SessionOptions | None = None, client_id: str | None = None,
    ) -> v.SessionView:  # fmt: skip
        """A new session; with a prompt it begins at once. Next: ``attach``, or ``query``."""
        command = c.CreateSession(
            client_id=client_id, cwd=None if cwd is None else os.fspath(cwd), title=title, model=model, resume=resume,
            permission_mode=permission_mode, fork_of=fork_of, fork_at=fork_at, runner=runner, tags=list(tags),
            options=options or c.SessionOptions(), **_words(prompt, "prompt"),
        )  # fmt: skip
        return await self._calls.do("POST", "/sessions", command, v.SessionView)

    async def list(
        self, *, status: str | None = None, text: str | None = None, archived: bool = False, tag: str | None = None,
        limit: int = 100,
    ) -> Views:  # fmt: skip
        """Those that need a person first, then those at work, then the quiet ones. ``status``: one, or a group of them."""
        found: Views = []
        cursor: str | int | None = None
        while len(found) < limit:
            page = await self._calls.get(
                "/sessions", Page[v.SessionView], status=status, text=text, archived=archived or None, tag=tag,
                limit=min(limit - len(found), 500), cursor=cursor,
            )  # fmt: skip
            found += page.items
            cursor = page.next
            if cursor is None:
                break
        return found[:limit]

    async def get(self, session: str) -> v.SessionView:
        return (await self.snapshot(session)).session

    async def snapshot(self, session: str) -> v.Snapshot:
        """Everything that a face needs to draw it; then ``attach`` after its ``last_seq``."""
        return await self._calls.get(f"/sessions/{session}", v.Snapshot)

    async def rename(self, session: str, title: str) -> v.SessionView:
        return await self._verb(session, "rename", c.Rename(title=title), v.SessionView)

    async def archive(self, session: str, archived: bool = True) -> v.SessionView:
        return await self._verb(session, "archive", c.Archive(archived=archived), v.SessionView)

    async def tag(self, session: str, tags: Sequence[str]) -> v.SessionView:
        """These are its tags from now on."""
        return await self._calls.do("PATCH", f"/sessions/{session}", c.ChangeSession(tags=[*tags]), v.SessionView)

    # -- hearing

    def attach(self, session: str, after: int = 0, *, live: bool = False) -> AsyncGenerator[Event, None]:
        """Its events after that seq, as they happen, each once and in order; over breaks and restarts of the hub, for ever.

        ``live``: also what is being said right now (``TextDelta`` …), which is never repeated. Give the whole id. Raises
        ``NotFound``, ``NotAllowed``; ``HubUnreachable`` only when it can't even begin.
        """
        return attached(self.where, session, after, live=live, patience=self._patience, on_link=self._link, tls=self._tls)

    async def query(
        self, session: str, prompt: Content, *, when: c.When = "next", live: bool = False
    ) -> AsyncGenerator[Event, None]:
        """Send a prompt; what happens until the turn that took it has ended. The last event is that ``TurnEnded``, or says why
        no turn came of it: ``PromptFailed``, ``PromptLost``, ``PromptWithdrawn``."""
        begun = await self.get(session)
        sent = await self.prompt(begun.id, prompt, when=when)
        async with aclosing(self.attach(begun.id, begun.last_seq, live=live)) as events:
            async for event in events:
                yield event
                if ends(event, sent.id):
                    return

    async def ask(self, session: str, prompt: Content) -> TurnEnded:
        """Send a prompt, wait for the end of its turn. Raises ``TurnFailed``."""
        event: Event | None = None
        async with aclosing(self.query(session, prompt)) as events:
            async for heard in events:
                event = heard
        if isinstance(event, TurnEnded) and not event.failed:
            return event
        if isinstance(event, TurnEnded):
            raise TurnFailed(event.subtype, tuple(event.reasons), session)
        raise TurnFailed("no turn", (getattr(event, "reason", "") or "the prompt was withdrawn",), session)

    async def events(self, session: str, after: int = 0, limit: int = 500) -> Sequence[Event]:
        """A page of what has happened."""
        page = await self._calls.get(f"/sessions/{session}/events", Page[msgspec.Raw], after=after, limit=limit)
        return [read(bytes(raw)) for raw in page.items]

    async def lines(self, session: str, after: int = 0, *, dir: str | None = None, limit: int = 500) -> Sequence[WireLine]:
        """A page of the wire, verbatim; go on after the last ``cursor``."""
        return (await self._calls.get(f"/sessions/{session}/lines", Page[WireLine], after=after, dir=dir, limit=limit)).items

    # -- prompts

    async def prompt(self, session: str, prompt: Content, *, when: c.When = "next", client_id: str | None = None) -> v.PromptView:
        """``next``: after the turns before it; ``now``: into the turn that runs; ``instead``: in place of it."""
        command = c.Prompt(client_id=client_id, when=when, **_words(prompt, "text"))
        return await self._verb(session, "prompts", command, v.PromptView)

    async def edit(self, session: str, prompt: str, words: Content | None = None, *, before: str | None = None) -> v.PromptView:
        """Other words, or another place, for a prompt that was not taken. Raises ``Conflict`` when it was."""
        command = c.EditPrompt(before=before, **_words(words, "text"))
        return await self._calls.do("PATCH", f"/sessions/{session}/prompts/{prompt}", command, v.PromptView)

    async def withdraw(self, session: str, prompt: str) -> v.PromptView:
        return await self._calls.do("DELETE", f"/sessions/{session}/prompts/{prompt}", c.Withdraw(), v.PromptView)

    # -- questions

    async def questions(self, state: str = "open", *, session: str | None = None) -> Sequence[v.QuestionView]:
        """Open ones longest waiting first."""
        return (await self._calls.get("/questions", Page[v.QuestionView], state=state, session=session)).items

    async def question(self, question: str) -> v.QuestionView:
        """One, whole: with what each offer would have matched in the past, and which other open ones it would answer."""
        return await self._calls.get(f"/questions/{question}", v.QuestionView)

    async def answer(self, question: str, answer: c.Answer | None = None, **fields: Any) -> v.QuestionView:
        """``answer(id, behavior="allow")``. Give ``shown=question.hash`` of what a person saw, and ``remember=Remember(rules=…)``
        to grant rules with it. Raises ``AlreadyAnswered``, which says by whom; ``Conflict`` for what was not shown."""
        command = answer if answer is not None else c.Answer(**fields)
        return await self._calls.do("POST", f"/questions/{question}/answer", command, v.QuestionView)

    # -- rules

    async def rules(self, *, ended: bool = False) -> Sequence[v.RuleView]:
        """As they decide: deny, then ask, then allow. ``ended``: also those that hold no more."""
        return (await self._calls.get("/rules", Page[v.RuleView], ended=ended or None)).items

    async def add_rule(
        self, text: str, behavior: c.Behavior = "allow", *, scope: c.Scope = "everywhere", place: str | None = None,
        note: str = "", for_seconds: float | None = None, uses: int | None = None, client_id: str | None = None,
    ) -> v.RuleView:  # fmt: skip
        """In Claude Code's own words: ``Bash(git diff:*)``. ``place``: the folder, or the session's id. ``try_rule`` first."""
        command = c.NewRule(
            text=text, behavior=behavior, scope=scope, place=place, note=note, for_seconds=for_seconds, uses=uses,
            client_id=client_id,
        )  # fmt: skip
        return await self._calls.do("POST", "/rules", command, v.RuleView)

    async def change_rule(self, rule: str, **fields: Any) -> v.RuleView:
        """What is left out stays. A built-in one is switched: ``enabled=False``."""
        return await self._calls.do("PATCH", f"/rules/{rule}", c.ChangeRule(**fields), v.RuleView)

    async def end_rule(self, rule: str) -> v.RuleView:
        """It answers nothing from now on. What it let run stays in the audit."""
        return await self._calls.do("DELETE", f"/rules/{rule}", c.EndRule(), v.RuleView)

    async def test_rules(self, tool: str, input: Mapping[str, Any], cwd: str) -> dict[str, Any]:
        """What the saved rules say about this request: behavior, because, parts. Nothing is asked, nothing runs."""
        return await self._calls.look("/rules/test", {"tool": tool, "input": input, "cwd": cwd}, dict[str, Any])

    async def try_rule(
        self, text: str, behavior: c.Behavior = "allow", *, scope: c.Scope = "everywhere", place: str | None = None,
        last: int = 1000,
    ) -> v.TrialView:  # fmt: skip
        """What one rule more would have changed among the requests that were recorded last. Nothing is saved."""
        asked = {"rule": {"text": text, "behavior": behavior, "scope": scope, "place": place}, "last": last}
        return await self._calls.look("/rules/test", asked, v.TrialView)

    async def suggested_rules(self) -> Sequence[v.Suggestion]:
        """Rules that would have answered what people keep approving; none wider than what was approved."""
        return (await self._calls.get("/rules/suggested", Page[v.Suggestion])).items

    # -- the audit

    async def audit(
        self, asked: c.AuditFilter | None = None, *, limit: int = 100, cursor: str | None = None
    ) -> Page[v.VerdictView]:
        """Verdicts newest first; go on with ``next`` as ``cursor`` until it is None. A page may be short, even empty."""
        return await self._calls.get("/audit", Page[v.VerdictView], limit=limit, cursor=cursor, **_query(asked))

    def export_audit(self, asked: c.AuditFilter | None = None, form: Literal["csv", "jsonl"] = "csv") -> AsyncIterator[bytes]:
        """Every row, in pieces as they come."""
        return self._calls.pieces("/audit/export", format=form, **_query(asked))

    async def verdict(self, verdict: str) -> v.Why:
        return await self._calls.get(f"/audit/{verdict}", v.Why)

    async def why(self, session: str, *, tool_use: str | None = None, seq: int | None = None) -> v.Why:
        """Why a tool call ran or did not; the last one of the session without either."""
        return await self._calls.get(f"/sessions/{session}/why", v.Why, tool_use=tool_use, seq=seq)

    # -- the process

    async def interrupt(self, session: str) -> v.Receipt:
        return await self._verb(session, "interrupt", c.Interrupt(), v.Receipt)

    async def stop(self, session: str, patience: float = 10.0) -> v.Receipt:
        """End its process, rung by rung: see ``StopRung``. The session stays and can be woken."""
        return await self._verb(session, "stop", c.Stop(patience=patience), v.Receipt, within=patience + 30)

    async def wake(self, session: str) -> v.SessionView:
        return await self._verb(session, "wake", c.Wake(), v.SessionView, within=30)

    async def fork(
        self, session: str, *, at: str | None = None, prompt: str | None = None, title: str | None = None
    ) -> v.SessionView:
        return await self._verb(session, "fork", c.Fork(at=at, prompt=prompt, title=title), v.SessionView)

    async def rewind(
        self, session: str, prompt: str, *, dry_run: bool = False, files: bool = True, conversation: bool = False
    ) -> v.Receipt:
        """Back to the moment before that prompt."""
        command = c.Rewind(prompt=prompt, dry_run=dry_run, files=files, conversation=conversation)
        return await self._verb(session, "rewind", command, v.Receipt, within=60)

    async def mode(self, session: str, mode: c.Mode) -> v.Receipt:
        return await self._verb(session, "mode", c.SetMode(mode=mode), v.Receipt)

    async def model(self, session: str, model: str | None) -> v.Receipt:
        return await self._verb(session, "model", c.SetModel(model=model), v.Receipt)

    async def thinking(self, session: str, max_thinking_tokens: int | None) -> v.Receipt:
        return await self._verb(session, "thinking", c.SetThinking(max_thinking_tokens=max_thinking_tokens), v.Receipt)

    async def control(self, session: str, subtype: str, *, within: float = 30.0, **fields: Any) -> dict[str, Any]:
        """Any control request of the protocol; the CLI's response. Raises ``RequestFailed`` when it says no."""
        command = c.Control(subtype=subtype, fields=fields, within=within)
        try:
            return (await self._verb(session, "control", command, v.Receipt, within=within)).reply or {}
        except Conflict as error:
            if error.code == Conflict.code:  # the session's state is against it; every other code is the CLI's own no
                raise
            raise RequestFailed("", subtype, str(error), error.code) from None

    # -- around them

    async def search(self, q: str, *, session: str | None = None, limit: int = 50) -> Sequence[v.Hit]:
        return (await self._calls.get("/search", Page[v.Hit], q=q, session=session, limit=limit)).items

    async def usage(self, by: str = "day", since: float | None = None) -> Sequence[v.UsageRow]:
        return (await self._calls.get("/usage", Page[v.UsageRow], by=by, since=since)).items

    async def runners(self) -> Sequence[v.RunnerView]:
        return (await self._calls.get("/runners", Page[v.RunnerView])).items

    async def tokens(self) -> Sequence[v.TokenView]:
        """Everything that opens the hub's door: devices and programs."""
        return (await self._calls.get("/devices", Page[v.TokenView])).items

    async def new_token(
        self, name: str, roles: Sequence[c.Role] = ("admin",), *, kind: Literal["code", "program"] = "program",
        expires_in: float | None = None,
    ) -> v.TokenView:  # fmt: skip
        """Its secret is in this answer and nowhere else."""
        command = c.NewToken(name=name, roles=[*roles], kind=kind, expires_in=expires_in)
        return await self._calls.do("POST", "/tokens", command, v.TokenView)

    async def revoke(self, token: str) -> None:
        await self._calls.do("DELETE", f"/devices/{token}", c.Withdraw(), msgspec.Raw)

    async def health(self) -> v.Health:
        return await self._calls.get("/health", v.Health)

    async def me(self) -> v.Me:
        return await self._calls.get("/me", v.Me)

    async def _verb(self, session: str, verb: str, command: Any, into: type[T], within: float = 0.0) -> T:
        return await self._calls.do("POST", f"/sessions/{session}/{verb}", command, into, within)

    def _link(self, up: bool) -> None:
        self.on_link(up)


def ends(event: Event, prompt: str) -> bool:
    """Whether this is the last word about a prompt."""
    if isinstance(event, TurnEnded):
        return prompt in event.prompts
    return isinstance(event, PromptFailed | PromptLost | PromptWithdrawn) and event.prompt == prompt


def _words(content: Content | None, name: str) -> dict[str, Any]:
    if content is None or isinstance(content, str):
        return {name: content}
    return {"content": [dict(block) for block in content]}


def _query(asked: c.AuditFilter | None) -> dict[str, Any]:
    """As the query has it: who answered is ``by`` there."""
    given = msgspec.to_builtins(asked) if asked is not None else {}
    return {{"who": "by"}.get(name, name): value for name, value in given.items()}
