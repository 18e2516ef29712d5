"""The open questions of one session: asked by the CLI, answered once by a person, withdrawn, or lost with the process.

Each change is an event and a row together. Refuses a second answer, and an answer that the question can't be given.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import AlreadyAnswered, Conflict, LocalProtocolError, NotFound, UsageError
from ..events import commands as c
from ..events import events as e
from ..events.commands import Principal
from ..events.views import QuestionView
from ..permissions.request import Request, Verdict
from ..permissions.tools import ONLY_PEOPLE
from ..protocol.answers import Allow, Answer, Deny, Refusal, Reply
from ..protocol.control import CanUseTool, ControlRequest
from ..store.base import Change, RowChange, Value, put
from ..store.rows import QuestionRow, RuleRow, VerdictRow
from .asked import Fresh, answer_from, question_view, show_plan
from .clean import harmless
from .granting import granted, judged
from .kept import Bypass
from .onward import Onward, may_bypass, onward
from .plans import Found
from .policies import deadline, run_instead
from .verdicts import Subject, hash_of, kept_context
from .wire import Wire, key_of

if TYPE_CHECKING:
    from .session import Session


GIVEN = ("answered", "expired")
"""States of questions whose answer goes to the CLI."""


class Desk:
    """``open``: by our own id, oldest first. What the CLI calls it is in ``request_id``."""

    def __init__(self, session: Session, rows: list[QuestionRow]) -> None:
        self._session = session
        self.open: dict[str, QuestionRow] = {row.id: row for row in rows if row.state == "open"}
        # those of processes that are gone were told to be undelivered when these went
        self._undelivered: dict[str, QuestionRow] = {
            f"answer:{row.request_id}": row
            for row in rows
            if row.state in GIVEN and row.delivered_at is None and row.process == session.row.process
        }
        self._unheard: dict[str, float] = {}  # answers on its input, by when they came there; until the CLI says anything
        self._answering: dict[str, Principal] = {}
        self._changed = False

    def tell_board(self) -> None:
        oldest = next(iter(self.open.values()), None)
        self._session.board.questions(len(self.open), view_of(oldest).line if oldest else "")
        self._changed = True

    def changed(self) -> bool:
        """Whether questions were opened or closed since the last call: how the session stands may be another now."""
        changed, self._changed = self._changed, False
        return changed

    # -- the CLI

    def is_open(self, question: str) -> bool:
        """Open, and nobody's answer to it is being stored."""
        return question in self.open and question not in self._answering

    def ask(
        self, request: ControlRequest, subject: Subject | None, verdict: Verdict | None, before: dict[str, Any] | None = None,
        plan: Found | None = None,
    ) -> None:  # fmt: skip
        """People are asked. ``subject`` None: no tool call, or one that nobody could judge."""
        session, world = self._session, self._session.world
        assert session.wire is not None
        now = world.clock()
        agent = request.request.agent_id if isinstance(request.request, CanUseTool) else None
        view = question_view(
            request, session=session.id, question_id=world.new_id(), cwd=session.row.cwd, at=now,
            origin=session.wire.translator.agent_words(agent), session_title=session.row.title,
            exists=before.get("exists") if before else None,
        )  # fmt: skip
        show_plan(view, plan, bypass=may_bypass(session))
        view.before, view.hash, view.policy_deadline = before, hash_of(view.tool, view.input), deadline(world, now)
        if subject is not None and verdict is not None:
            judged(view, subject, verdict, world.rules.book)
        elif view.asks == "permission":
            view.once_only_because = "what would run can't be read"
        asked = msgspec.json.encode(view)
        row = QuestionRow(
            id=view.id, session=session.id, process=session.wire.process, request_id=request.request_id, kind=view.asks,
            tool=view.tool, input=bytes(view.input) if isinstance(view.input, msgspec.Raw) else msgspec.json.encode(view.input),
            asked=asked, opened_at=now,
        )  # fmt: skip
        self.open[row.id] = row
        if subject is not None:
            session.judging.subjects[row.id] = subject
        self.tell_board()
        told = e.QuestionOpened(question=row.id, asks=view.asks, tool=view.tool, words=view.line, asked=msgspec.Raw(asked))
        session.post([told], [put(row)])

    def closed_by(self, row: QuestionRow, kept: VerdictRow, fate: e.Fate) -> tuple[list[e.Event], list[RowChange]]:
        """Answered without people: what is told, and the row that changes."""
        del self.open[row.id]
        self._session.judging.subjects.pop(row.id, None)
        self.tell_board()
        row.state, row.closed_at = fate, kept.at
        row.verdict = msgspec.json.encode({"behavior": kept.behavior, "because": kept.because, "because_kind": kept.because_kind})
        told = e.QuestionClosed(
            question=row.id, fate=fate, behavior=kept.behavior, because=kept.because, because_kind=kept.because_kind,  # type: ignore[arg-type]
            tool_use=kept.tool_use, verdict=kept.id,
        )  # fmt: skip
        changed: dict[str, Value] = {"state": fate, "closed_at": kept.at, "verdict": row.verdict}
        return [told], [Change("question", {"id": row.id}, changed, {"state": "open"}, must=False)]

    def expects(self, key: str, row: QuestionRow) -> None:
        """The answer is under way, under this key."""
        self._undelivered[key] = row

    def withdrawn(self, request_id: str, events: list[e.Event]) -> list[RowChange]:
        """The CLI no longer asks. An answer that is being stored at this moment comes too late, and says so by itself."""
        return [
            change
            for row in list(self.open.values())
            if row.request_id == request_id
            for change in self._close(row, "withdrawn", events)
        ]

    def denied_unkept(self, request_id: str) -> None:
        """An earlier life of the hub denied it while its disk was sick, and could not store who did."""
        now, because = self._session.world.clock(), "denied while the disk was sick; who did was not stored"
        for row in [one for one in self.open.values() if one.request_id == request_id]:
            del self.open[row.id]
            self.tell_board()
            verdict = msgspec.json.encode({"behavior": "deny", "because": because})
            changed: dict[str, Value] = {"state": "answered", "closed_at": now, "delivered_at": now, "verdict": verdict}
            told = e.QuestionClosed(question=row.id, fate="answered", behavior="deny", because=because)
            change = Change("question", {"id": row.id}, changed, {"state": "open"}, must=False)
            self._session.post([told, e.QuestionDelivered(question=row.id)], [change])

    def lost(self, events: list[e.Event], last_sign: float | None) -> list[RowChange]:
        """The process is gone: nothing that was open will be asked again by itself. ``last_sign``: when it was heard last, if
        it ended by accident: what came to its input after that it may not have read."""
        rows = [change for row in list(self.open.values()) for change in self._close(row, "lost", events)]
        never = {row.id: "the process ended before it heard the answer" for row in self._undelivered.values()}
        words = "the process ended without a sign that it had heard the answer"
        unheard = [name for name, at in self._unheard.items() if last_sign is not None and at >= last_sign]
        never |= dict.fromkeys(unheard, words)
        self._undelivered.clear()
        self._unheard.clear()
        events += [e.QuestionDelivered(question=name, delivered=False, why=why) for name, why in never.items()]
        return rows + [Change("question", {"id": name}, {"delivered_at": None}, must=False) for name in unheard]

    def _close(self, row: QuestionRow, fate: e.Fate, events: list[e.Event]) -> list[RowChange]:
        now = self._session.world.clock()
        del self.open[row.id]
        self._session.judging.subjects.pop(row.id, None)
        self.tell_board()
        events.append(e.QuestionClosed(question=row.id, fate=fate))
        return [Change("question", {"id": row.id}, {"state": fate, "closed_at": now}, {"state": "open"}, must=False)]

    def delivered(self, key: str) -> None:
        """The answer is on the CLI's input."""
        row = self._undelivered.pop(key, None)
        if row is not None:
            now = self._session.world.clock()
            wire = self._session.wire
            self._unheard = {name: at for name, at in self._unheard.items() if wire is not None and at >= wire.last_sign}
            self._unheard[row.id] = asyncio.get_running_loop().time()
            changed = Change("question", {"id": row.id}, {"delivered_at": now}, must=False)
            self._session.post([e.QuestionDelivered(question=row.id)], [changed])

    def not_delivered(self, key: str, why: str) -> None:
        row = self._undelivered.pop(key, None)
        if row is not None:
            self._session.post([e.QuestionDelivered(question=row.id, delivered=False, why=why)])

    # -- people

    async def answer(
        self, who: Principal, question: str, command: c.Answer, rows: Iterable[RowChange] = (), bypass: Bypass | None = None
    ) -> QuestionRow:
        """One verdict: stored, then said to the CLI. Raises ``AlreadyAnswered`` for the second."""
        self._still_open(question)
        await self._session.life.found()
        row = self._still_open(question)
        wire = self._session.wire
        self._same_as_before(question, wire)
        assert wire is not None
        request = wire.connection.questions.get(row.request_id)
        given = request.request.input if isinstance(request.request, CanUseTool) else None
        view = view_of(row)
        if command.shown is not None and command.shown != view.hash:
            raise Conflict("this is not what was shown: look at the question again, then answer", code="not_as_shown")
        reply = answer_from(view, command, wire.connection.version, given)
        if command.remember is not None:
            await self._session.judging.known(row)
            self._same_as_before(question, wire)
        if isinstance(reply, Fresh) or view.asks == "plan":
            way = onward(self._session, who, view, command, reply, bypass)
        else:
            way = Onward(reply, granted=self._granted(who, row, view, command))
        try:
            with self.held(who, question):
                await self._give(row, request, who, command, way, rows)
        except BaseException:
            way.undo()
            raise
        way.then()
        for one in way.granted:
            self._session.world.rules.put(one)
        return row

    @contextlib.contextmanager
    def held(self, who: Principal, question: str) -> Iterator[None]:
        """Nobody else answers it inside the block. Raises ``AlreadyAnswered``."""
        if first := self._answering.get(question):
            raise AlreadyAnswered(f"already being answered by {first.name} on {first.door}", by=first.name, door=first.door)
        self._answering[question] = who
        try:
            yield
        finally:
            self._answering.pop(question, None)

    def _granted(self, who: Principal, row: QuestionRow, view: QuestionView, command: c.Answer) -> list[RuleRow]:
        """The rules that are made with this answer. Raises ``UsageError`` or ``Conflict`` for what was not shown."""
        subject = self._session.judging.subjects.get(row.id)
        if command.remember is None or not command.remember.rules:
            return []
        if subject is None:
            raise Conflict("what this is about can't be told any more: allow it once", code="once_only")
        return granted(self._session, who, view, subject, command.remember)

    async def _give(
        self,
        row: QuestionRow,
        request: ControlRequest,
        who: Principal,
        command: c.Answer,
        way: Onward,
        rows: Iterable[RowChange],
    ) -> None:
        session, wire = self._session, self._session.wire
        assert wire is not None
        said, ran = self._as_run(request, way.said)
        wire.flush()
        try:
            wire.connection.answer(row.request_id, said)
        except LocalProtocolError as error:
            raise UsageError(str(error)) from None
        data = wire.take()
        now = session.world.clock()
        verdict = verdict_of(command, said)
        if session.outline.holds(now):
            verdict["held_until"] = session.outline.until
        audit = self.audit(row, who, command, verdict, ran, now)
        changed: dict[str, Value] = {
            "state": "answered",
            "closed_at": now,
            "by": who.name,
            "door": who.door,
            "verdict": msgspec.json.encode(verdict),
        }
        event = e.QuestionClosed(
            question=row.id, fate="answered", behavior=command.behavior, by=who.name, door=who.door,
            message=(command.message or "")[: e.TEXT_LIMIT], edited=command.updated_input is not None,
            interrupt=command.interrupt, because=f"{who.name} on {who.door}", because_kind="person",
            rules=[one.text for one in way.granted], tool_use=audit.tool_use, verdict=audit.id,
        )  # fmt: skip
        changes = [
            Change("question", {"id": row.id}, changed, {"state": "open"}),
            put(audit),
            *way.rows,
            *(put(one) for one in way.granted),
            *rows,
        ]
        line = wire.line_said(data)
        key = key_of(data, line.n)
        del self.open[row.id]
        self.tell_board()
        self._undelivered[key] = row
        safe = command.behavior == "deny"
        try:
            if safe and not session.world.store.health.well:
                session.post(
                    [event, *way.events], changes, lines=[line]
                )  # a denial is harmless: said even while the disk is sick
            else:
                await session.wish([event, *way.events], changes, lines=[line])
        except Exception:  # nothing of it was kept, so nothing of it was said
            self._open_again(row, request, wire, key, line.n)
            raise
        for name, value in changed.items():
            setattr(row, name, value)
        session.judging.subjects.pop(row.id, None)
        self._say(wire, key, data, way)
        session.life.answered()
        session.settle()

    def _say(self, wire: Wire, key: str, data: bytes, way: Onward) -> None:
        if way.first is None:
            wire.write(key, data)
        else:  # what it does is written when it is stored; an entry behind that keeps the order
            way.first()
            self._session.post([], then=lambda _: wire.write(key, data))

    def _open_again(self, row: QuestionRow, request: ControlRequest, wire: Wire, key: str, said: int) -> None:
        self._undelivered.pop(key, None)
        self.open[row.id] = row
        self.tell_board()
        gone = self._session.wire is not wire
        if gone or not wire.connection.questions.reopen(request):  # nobody asks any more
            events: list[e.Event] = []
            self._session.post(events, self._close(row, "lost" if gone else "withdrawn", events))
            return
        if wire.said == said:
            wire.said -= 1
        self._session.settle()
        self._session.world.tasks.start(self._session.judging.again())  # rules that came while it was being answered

    def _as_run(self, request: ControlRequest, said: Answer) -> tuple[Answer, Mapping[str, Any] | None]:
        """The answer as policies leave it, and the input that runs where it is not the one that was asked."""
        asked = request.request
        if not isinstance(said, Allow) or not isinstance(asked, CanUseTool):
            return said, None
        if asked.tool_name in ONLY_PEOPLE or (said.updated_input is None and "input" in request.misfits):
            return said, said.updated_input
        given = said.updated_input if said.updated_input is not None else asked.input
        instead = run_instead(Request(asked.tool_name, given, self._session.row.cwd), self._session.world)
        return (said, said.updated_input) if instead is None else (Allow(instead, said.updated_permissions), instead)

    def audit(
        self, row: QuestionRow, who: Principal, command: c.Answer, verdict: dict[str, Any],
        ran: Mapping[str, Any] | None, now: float,
    ) -> VerdictRow:  # fmt: skip
        subject = self._session.judging.subjects.get(row.id)
        view = view_of(row)
        return VerdictRow(
            id=self._session.world.new_id(), session=self._session.id, question=row.id, tool=row.tool,
            what=view.line, behavior=verdict["behavior"], because_kind="person", because=f"{who.name} on {who.door}",
            by=who.name, door=who.door, input=row.input, ran=msgspec.json.encode(harmless(ran)) if ran is not None else None,
            at=now, tool_use=view.tool_use, cwd=view.cwd, parts=msgspec.json.encode(view.parts), context=kept_context(subject),
            hash=view.hash, message=(command.message or "")[: e.TEXT_LIMIT], turn=self._session.known.turn,
        )  # fmt: skip

    def _same_as_before(self, question: str, wire: Wire | None) -> None:
        row = self._still_open(question)
        if wire is None or self._session.wire is not wire or wire.over or row.request_id not in wire.connection.questions:
            raise Conflict("the process that asked is not heard now; the question stays open", code="unreachable")

    def _still_open(self, question: str) -> QuestionRow:
        if first := self._answering.get(question):
            raise AlreadyAnswered(f"already being answered by {first.name} on {first.door}", by=first.name, door=first.door)
        row = self.open.get(question)
        if row is None:
            raise NotFound(f"no question {question} is open here")
        return row


def verdict_of(command: c.Answer, said: Answer) -> dict[str, Any]:
    """What is kept of an answer: as it was given, and what went out where that differs."""
    kept: dict[str, Any] = {"behavior": command.behavior}
    match said:
        case Allow(updated_input=changed):
            if command.updated_input is not None or command.answers is not None:
                kept["updated_input"] = changed
        case Deny(message=message, interrupt=interrupt):
            kept |= {"message": message, "interrupt": interrupt}
        case Reply(payload=payload):
            kept["reply"] = payload
        case Refusal(error=error):
            kept["message"] = error
    for name in ("plan", "answers"):
        if (value := getattr(command, name)) is not None:
            kept[name] = value
    return kept


_views = msgspec.json.Decoder(QuestionView)
"""Made once: an inbox of a thousand cards is decoded in a fourth of the time."""


def view_of(row: QuestionRow) -> QuestionView:
    """A question as it was opened, with what became of it."""
    view = _views.decode(row.asked)
    view.state = row.state  # type: ignore[assignment]
    view.closed_at, view.by, view.door, view.delivered_at = row.closed_at, row.by, row.door, row.delivered_at
    view.verdict = msgspec.json.decode(row.verdict) if row.verdict else None
    return view


def refusal(row: QuestionRow) -> AlreadyAnswered:
    """Why a question that is not open can't be answered: who was first, or how it ended."""
    words = {
        "open": "Claude no longer asks this",
        "withdrawn": "Claude no longer asks this",
        "lost": "the process that asked has ended; it won't ask again by itself",
        "expired": "its time ran out and a policy answered it",
    }
    verdict = msgspec.json.decode(row.verdict) if row.verdict else {}
    gave = "allowed" if verdict.get("behavior") == "allow" else "denied"
    first = f"by {row.by} on {row.door}: {gave}" if row.by else f"without anybody: {verdict.get('because') or gave}"
    return AlreadyAnswered(words.get(row.state, f"already answered {first}"), by=row.by, door=row.door, fate=row.state)
