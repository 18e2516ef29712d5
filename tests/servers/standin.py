"""A hub of a few lines, for what is true of the doors alone: who gets in, framing, limits. Refuses to stand for the real one."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar, cast

import msgspec

from ropewalk.errors import AlreadyAnswered, CommandReused, NotAllowed, NotFound
from ropewalk.events import commands as c
from ropewalk.events import events as e
from ropewalk.events import views as v
from ropewalk.events.commands import Principal
from ropewalk.hub.calls import Listener

BOUND = 1 << 20
T = TypeVar("T")


class Told:
    """A subscription: closing it is remembered."""

    def __init__(self, ears: list[Listener], ear: Listener) -> None:
        self._ears, self._ear = ears, ear

    def close(self) -> None:
        if self._ear in self._ears:
            self._ears.remove(self._ear)


class StandIn:
    """Sessions, questions and tokens in lists. ``tell`` makes an event happen."""

    def __init__(self) -> None:
        self.views: dict[str, v.SessionView] = {}
        self.logs: dict[str, list[tuple[int, bytes]]] = {}
        self.ears: dict[str, list[Listener]] = {}
        self.all_ears: list[Listener] = []
        self.asked: dict[str, v.QuestionView] = {}
        self.prompts: dict[str, v.PromptView] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.tells: list[Callable[[], None]] = []
        self.calls: list[tuple[str, Principal, Any]] = []
        self.used: dict[tuple[str, str], tuple[bytes, Any]] = {}
        self.fault: Exception | None = None
        self.claude_found = True
        self._ids = itertools.count(1)
        self.add("s-one")

    # -- for tests

    def add(self, session: str, **fields: Any) -> v.SessionView:
        found = v.SessionView(
            id=session,
            title=f"title of {session}",
            status="idle",
            why="",
            status_at=1.0,
            group="quiet",
            cwd="/home/mia",
            **fields,
        )
        self.views[session], self.logs[session], self.ears[session] = found, [], []
        return found

    def tell(self, session: str, *texts: str) -> None:
        events = []
        for text in texts:
            seq = len(self.logs[session]) + 1
            body = msgspec.json.encode(e.Text(session=session, seq=seq, text=text))
            self.logs[session].append((seq, body))
            events.append((seq, body))
        for ears in (self.ears[session], self.all_ears):
            for ear in list(ears):
                ear.told(session, events)
                if ear.backlog > BOUND:
                    ears.remove(ear)
                    ear.cut("behind")

    def tell_live(self, session: str, text: str) -> None:
        events = [msgspec.json.encode(e.TextDelta(session=session, block="b", text=text))]
        for ear in self.ears[session]:
            ear.live(session, events)

    def ask(self, session: str = "s-one", words: str = "Run: rm -rf /") -> v.QuestionView:
        number = f"q-{next(self._ids)}"
        found = v.QuestionView(
            id=number, session=session, asks="permission", tool="Bash", line=words, title_words="Run a command?"
        )
        self.asked[number] = found
        body = msgspec.json.encode(e.QuestionOpened(session=session, seq=1, question=number, asks="permission", asked={}))
        for ear in self.all_ears:
            ear.told(session, [(1, body)])
        return found

    def _do(self, name: str, who: Principal, command: Any) -> Any:
        """The stored answer of the same action, if it is one."""
        if self.fault is not None:
            raise self.fault
        self.calls.append((name, who, command))

    def _session(self, session: str) -> v.SessionView:
        if session not in self.views:
            raise NotFound("There is no such session.")
        return self.views[session]

    def _once(self, who: Principal, command: Any, make: Callable[[], T]) -> T:
        if command.client_id is None:
            return make()
        key, body = (who.token, command.client_id), msgspec.json.encode(command)
        if key not in self.used:
            self.used[key] = (body, make())
        if self.used[key][0] != body:
            raise CommandReused("This client_id named another action before.")
        return cast(T, self.used[key][1])

    # -- hearing

    async def subscribe(self, who: Principal, session: str, after: int, listener: Listener) -> Told:
        self._session(session)
        self.ears[session].append(listener)
        if history := [event for event in self.logs[session] if event[0] > after]:
            listener.told(session, history)
        return Told(self.ears[session], listener)

    async def subscribe_all(self, who: Principal, listener: Listener) -> Told:
        self.all_ears.append(listener)
        return Told(self.all_ears, listener)

    # -- verbs

    async def create(self, who: Principal, command: c.CreateSession) -> v.SessionView:
        self._do("create", who, command)
        return self._once(who, command, lambda: self.add(f"s-{next(self._ids)}", sim=command.options.sim))

    async def prompt(self, who: Principal, session: str, command: c.Prompt) -> v.PromptView:
        self._session(session)
        self._do("prompt", who, command)
        return self._once(who, command, lambda: self._prompt(session, command, who))

    def _prompt(self, session: str, command: c.Prompt, who: Principal) -> v.PromptView:
        made = v.PromptView(id=f"p-{next(self._ids)}", session=session, state="queued", text=command.text or "", by=who.name)
        self.prompts[made.id] = made
        return made

    def _known_prompt(self, prompt: str) -> v.PromptView:
        if prompt not in self.prompts:
            raise NotFound("There is no such prompt.")
        return self.prompts[prompt]

    async def edit_prompt(self, who: Principal, session: str, prompt: str, command: c.EditPrompt) -> v.PromptView:
        self._session(session)
        self._do("edit_prompt", who, command)
        return self._known_prompt(prompt)

    async def withdraw(self, who: Principal, session: str, prompt: str, command: c.Withdraw) -> v.PromptView:
        self._session(session)
        self._do("withdraw", who, command)
        return self._known_prompt(prompt)

    async def _receipt(self, name: str, who: Principal, session: str, command: Any) -> v.Receipt:
        self._session(session)
        self._do(name, who, command)
        return v.Receipt(session=session)

    async def interrupt(self, who: Principal, session: str, command: c.Interrupt) -> v.Receipt:
        return await self._receipt("interrupt", who, session, command)

    async def stop(self, who: Principal, session: str, command: c.Stop) -> v.Receipt:
        return await self._receipt("stop", who, session, command)

    async def wake(self, who: Principal, session: str, command: c.Wake) -> v.SessionView:
        self._do("wake", who, command)
        return self._session(session)

    async def fork(self, who: Principal, session: str, command: c.Fork) -> v.SessionView:
        self._do("fork", who, command)
        return self._session(session)

    async def rewind(self, who: Principal, session: str, command: c.Rewind) -> v.Receipt:
        return await self._receipt("rewind", who, session, command)

    async def set_mode(self, who: Principal, session: str, command: c.SetMode) -> v.Receipt:
        return await self._receipt("set_mode", who, session, command)

    async def set_model(self, who: Principal, session: str, command: c.SetModel) -> v.Receipt:
        return await self._receipt("set_model", who, session, command)

    async def set_thinking(self, who: Principal, session: str, command: c.SetThinking) -> v.Receipt:
        return await self._receipt("set_thinking", who, session, command)

    async def set_environment(self, who: Principal, session: str, command: c.SetEnvironment) -> v.Receipt:
        self._session(session)
        raise NotAllowed("Sessions can't be given variables here: set allow_env in the configuration.")

    async def change(self, who: Principal, session: str, command: c.ChangeSession) -> v.SessionView:
        self._do("change", who, command)
        found = self._session(session)
        found.title = command.title if command.title is not None else found.title
        return found

    async def control(self, who: Principal, session: str, command: c.Control) -> v.Receipt:
        return await self._receipt("control", who, session, command)

    async def answer(self, who: Principal, question: str, command: c.Answer) -> v.QuestionView:
        found = await self.question(who, question)
        self._do("answer", who, command)
        if found.state != "open":
            raise AlreadyAnswered(f"Already answered by {found.by}.", by=found.by)
        found.state, found.by = "answered", who.name
        body = msgspec.json.encode(e.QuestionClosed(session=found.session, seq=2, question=question, fate="answered"))
        for ear in self.all_ears:
            ear.told(found.session, [(2, body)])
        return found

    async def seen(self, who: Principal, session: str, command: c.Seen) -> v.Receipt:
        return await self._receipt("seen", who, session, command)

    async def mute(self, who: Principal, session: str, command: c.Mute) -> v.Receipt:
        return await self._receipt("mute", who, session, command)

    async def attach_file(self, who: Principal, session: str, name: str, data: bytes, kind: str) -> dict[str, Any]:
        self._session(session)
        self._do("attach_file", who, data)
        return {"id": "a-1", "name": name, "kind": kind, "size": len(data)}

    # -- rules

    async def rules(self, who: Principal, *, ended: bool = False) -> list[v.RuleView]:
        return [v.RuleView(id="r-one", text="Bash(git diff:*)", behavior="allow")]

    async def rule(self, who: Principal, rule: str) -> v.RuleView:
        if rule != "r-one":
            raise NotFound("There is no such rule.")
        return (await self.rules(who))[0]

    async def add_rule(self, who: Principal, command: c.NewRule) -> v.RuleView:
        self._do("add_rule", who, command)
        return v.RuleView(id="r-two", text=command.text, behavior=command.behavior, scope=command.scope)

    async def change_rule(self, who: Principal, rule: str, command: c.ChangeRule) -> v.RuleView:
        found = await self.rule(who, rule)
        self._do("change_rule", who, command)
        return found

    async def end_rule(self, who: Principal, rule: str, command: c.EndRule) -> v.RuleView:
        found = await self.rule(who, rule)
        self._do("end_rule", who, command)
        return found

    async def test_rules(self, who: Principal, command: c.RuleTest) -> v.TriedView | v.TrialView:
        return v.TriedView(behavior="ask", because="no rule matches")

    async def suggested_rules(self, who: Principal) -> list[v.Suggestion]:
        return []

    # -- the audit

    async def audit(self, who: Principal, asked: c.AuditFilter, *, limit: int = 100, cursor: str | None = None) -> v.Page:
        return v.Page(items=[_verdict()])

    async def export_audit(self, who: Principal, asked: c.AuditFilter, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        return f"audit.{form}", "text/html", _pieces(b"<script>", b"alert(1)</script>")

    async def verdict(self, who: Principal, verdict: str) -> v.Why:
        return v.Why(verdict=_verdict(), words="allowed by Mia")

    async def why(self, who: Principal, session: str, *, tool_use: str | None = None, seq: int | None = None) -> v.Why:
        self._session(session)
        return v.Why(verdict=_verdict(), words="allowed by Mia")

    # -- views

    async def sessions(self, who: Principal, **asked: Any) -> v.Page:
        return v.Page(items=list(self.views.values()))

    async def session(self, who: Principal, session: str) -> v.SessionView:
        return self._session(session)

    async def snapshot(self, who: Principal, session: str) -> v.Snapshot:
        return v.Snapshot(session=self._session(session), last_seq=len(self.logs[session]))

    async def events(self, who: Principal, session: str, *, after: int = 0, limit: int = 500) -> list[tuple[int, bytes]]:
        self._session(session)
        return [event for event in self.logs[session] if event[0] > after][:limit]

    async def lines(
        self, who: Principal, session: str, *, after: int = 0, direction: str | None = None, limit: int = 500
    ) -> list[tuple[int, str, str, int, float, bytes]]:
        self._session(session)
        told = [
            (1, "p", "out", 1, 1.0, b'{"type":"result"}'),
            (2, "p", "out", 2, 1.0, b"\xff\xfe"),
            (3, "p", "in", 1, 1.0, b"{}"),
        ]
        return [line for line in told if line[0] > after and direction in (None, line[2])][:limit]

    async def questions(self, who: Principal, *, state: str = "open", session: str | None = None) -> list[v.QuestionView]:
        return [found for found in self.asked.values() if found.state == state and session in (None, found.session)]

    async def question(self, who: Principal, question: str) -> v.QuestionView:
        if question not in self.asked:
            raise NotFound("There is no such question.")
        return self.asked[question]

    async def commands(self, who: Principal, session: str) -> list[dict[str, Any]]:
        self._session(session)
        return [{"name": "/compact"}]

    async def files(self, who: Principal, session: str, q: str) -> list[str]:
        self._session(session)
        return ["README.md"]

    async def changes(self, who: Principal, session: str, *, since: str | None = None) -> dict[str, Any]:
        self._session(session)
        return {"files": []}

    async def export(self, who: Principal, session: str, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        self._session(session)
        return f'../../"{session}\r\n.{form}', "text/html", _pieces(b"<script>", b"alert(1)</script>")

    async def search(self, who: Principal, q: str, *, session: str | None = None, limit: int = 50) -> list[v.Hit]:
        return []

    async def usage(self, who: Principal, *, by: str = "day", since: float | None = None) -> list[v.UsageRow]:
        return [v.UsageRow(key="today", turns=1)]

    async def summary(self, who: Principal, after: float) -> v.Summary:
        return v.Summary(since=after)

    async def runners(self, who: Principal) -> list[v.RunnerView]:
        return [v.RunnerView(id="local", name="local", state="live", since=1.0)]

    async def found(self, who: Principal, runner: str, cwd: str) -> list[dict[str, Any]]:
        return []

    async def folders(self, who: Principal, runner: str, q: str) -> list[str]:
        return ["/home/mia"]

    def health(self) -> v.Health:
        return v.Health(state="ok", claude_found=self.claude_found, sessions=len(self.views))

    def figures(self) -> dict[str, float]:
        return {"sessions": len(self.views), "events_total": 3}

    # -- tokens

    async def token_rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.rows.values()]

    async def put_token(self, row: dict[str, Any]) -> None:
        self.rows[row["id"]] = {"seen_at": None, "revoked_at": None, **row}
        self._tokens_changed()

    async def change_token(self, token: str, **values: Any) -> bool:
        row = self.rows.get(token)
        if row is None or ("uses_left" in values and not row["uses_left"]) or ("revoked_at" in values and row["revoked_at"]):
            return False
        row.update(values)
        self._tokens_changed()
        return True

    def on_tokens_changed(self, tell: Callable[[], None]) -> None:
        self.tells.append(tell)

    def _tokens_changed(self) -> None:
        for tell in self.tells:
            tell()


async def _pieces(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _verdict() -> v.VerdictView:
    return v.VerdictView(id="v", at=1.0, session="s-one", behavior="allow", because_kind="person", because="Mia on the page")
