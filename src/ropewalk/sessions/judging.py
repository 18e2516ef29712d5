"""Each request of the CLI, judged before anybody hears of it: a rule answers at once, or it becomes a question for people.

Refuses to allow what is not stored: the answer is written after its verdict is on the disk, whatever dies in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import LocalProtocolError
from ..events import events as e
from ..permissions.policy import decide
from ..permissions.request import Context, Request, Verdict
from ..permissions.tools import family_of, files_named
from ..protocol.answers import Allow, Answer, Deny, Refusal, Reply
from ..protocol.control import CanUseTool, ControlRequest, HookCallback
from ..store.base import RowChange, put
from ..store.rows import QuestionRow, VerdictRow
from .asked import file_before
from .looking import Looking
from .outline import STILL
from .planned import find_plan
from .plans import Found
from .policies import run_instead
from .verdicts import Subject, told, verdict_row
from .wire import Wire, key_of

if TYPE_CHECKING:
    from .session import Session

DENIED_BY_RULE = (
    "Denied by a rule of the person who runs this: {}. Do not try to get around it; go on without, or say what you need."
)

MOST_FOLDERS = 256
"""Calls that a hook was asked about and that may still be asked of people."""


class Judging:
    """For one session. ``subjects``: of its open questions, by their id."""

    def __init__(self, session: Session) -> None:
        self._session = session
        world, row = session.world, session.row
        self._looking = Looking(world, session.id, row.cwd, tuple(session.options.add_dirs))
        self._under_way: set[tuple[Wire, str]] = set()
        self._folders: dict[str, str] = {}  # where a call runs, as the hook before its question said
        self.subjects: dict[str, Subject] = {}

    # -- what the CLI asks

    def heard(self, request: ControlRequest) -> None:
        """Judged beside the loop, since names must be looked up; nothing else waits for it."""
        wire = self._session.wire
        if wire is not None and (wire, request.request_id) not in self._under_way:
            self._under_way.add((wire, request.request_id))
            self._session.world.tasks.start(self._judged(wire, request))

    def heard_before(self) -> None:
        """What an earlier life of the hub heard: what it had neither answered nor asked anybody is judged, and what it had
        asked is looked up anew, since other rules may hold by now."""
        wire = self._session.wire
        assert wire is not None
        known = {row.request_id for row in self._session.desk.open.values()}
        for request in list(wire.connection.questions):
            if request.request_id not in known:
                self.heard(request)
        self._session.world.tasks.start(self.again())

    async def _judged(self, wire: Wire, request: ControlRequest) -> None:
        """Whatever breaks here, the CLI is not left waiting: what nobody could judge is asked, or at last refused."""
        try:
            await self._judge(wire, request)
        except Exception as error:  # noqa: BLE001 - the boundary of one request: it fails alone, and allows nothing
            self._session.world.tasks.failed(error)
            self._asked_unjudged(wire, request)
        finally:
            self._under_way.discard((wire, request.request_id))

    def _asked_unjudged(self, wire: Wire, request: ControlRequest) -> None:
        if not self._waits(wire, request):
            return
        try:
            self._session.desk.ask(request, None, None)
        except Exception as error:  # noqa: BLE001 - as above: not even a card can be made of it
            self._session.world.tasks.failed(error)
            self.say(wire, request, Refusal("this request could be neither judged nor shown to anybody"), [], [])

    async def _judge(self, wire: Wire, request: ControlRequest) -> None:
        rules, subject = self._session.world.rules, await self.subject(request)
        before: dict[str, Any] | None = None
        plan: Found | None = None
        shown = False
        while self._waits(wire, request):  # else it was withdrawn, or its process is gone
            if subject is None and isinstance(request.request, HookCallback):
                self.say(wire, request, Reply({}), [], [])  # of no tool call: it goes its way
                return None
            if subject is None:
                return self._session.desk.ask(request, None, None)
            verdict, version = self._verdict(wire, request, subject), rules.version
            if isinstance(request.request, HookCallback):
                return await self._hooked(wire, request, subject, verdict)
            if verdict.behavior != "ask":
                return self._answer_by_rule(wire, request, subject, verdict)
            if self._still_outlining(request):
                return self._send_back(wire, request, subject)
            if not shown:
                before, plan = await self._to_show(subject)
                shown = True
                if version != rules.version or not self._waits(wire, request):
                    continue  # a rule that came meanwhile may answer it
            return self._session.desk.ask(request, subject, verdict, before, plan)
        return None

    async def _to_show(self, subject: Subject) -> tuple[dict[str, Any] | None, Found | None]:
        """The file before an edit, or the plan."""
        path, tool = file_before(subject.request), subject.request.tool
        before = await self._looking.before(path) if path is not None else None
        return before, await find_plan(self._session, subject.request.input) if tool == "ExitPlanMode" else None

    def _waits(self, wire: Wire, request: ControlRequest) -> bool:
        return self._session.wire is wire and not wire.over and request.request_id in wire.connection.questions

    async def subject(self, request: ControlRequest) -> Subject | None:
        """None: no tool call, or one whose input nobody could read."""
        asked = request.request
        if isinstance(asked, CanUseTool) and "input" not in request.misfits:
            return await self._looked_up(asked.tool_name, asked.input, bool(asked.requires_user_interaction))
        if isinstance(asked, HookCallback) and isinstance(given := asked.input.get("tool_input"), Mapping):
            return await self._looked_up(str(asked.input.get("tool_name", "")), given, False)
        return None

    async def _looked_up(self, tool: str, given: Mapping[str, Any], interaction: bool) -> Subject:
        request = Request(tool, given, self._session.row.cwd, interaction)
        return Subject(request, await self._looking.context(request))

    def _verdict(self, wire: Wire, request: ControlRequest, subject: Subject) -> Verdict:
        """By the rules in force. What was judged by names that mean another folder now is not allowed by them."""
        verdict = decide(subject.request, self._session.world.rules.book, subject.context)
        if verdict.behavior != "allow" or not leans_on_folder(subject.request):
            return verdict
        elsewhere = self.elsewhere(wire, request)
        return Verdict("ask", f"{elsewhere}, and rules speak of the session's folder", verdict.parts) if elsewhere else verdict

    def elsewhere(self, wire: Wire, request: ControlRequest) -> str:
        """Where it would run that is not the session's folder, in words; empty: it is."""
        asked = request.request
        if isinstance(asked, CanUseTool):
            folder = self._folders.get(asked.tool_use_id or "")
            if folder is not None:
                return "" if folder == self._session.row.cwd else f"it would run in {folder}"
            return wire.translator.elsewhere(asked.agent_id)
        return ""

    def bare(self, asked: CanUseTool) -> Subject:
        """Where nothing of it was looked up."""
        request = Request(asked.tool_name, asked.input, self._session.row.cwd, bool(asked.requires_user_interaction))
        return Subject(request, Context(resolved={}, session=self._session.id))

    # -- a rule answers

    def _answer_by_rule(self, wire: Wire, request: ControlRequest, subject: Subject, verdict: Verdict) -> None:
        session, now = self._session, self._session.world.clock()
        said, ran = self.answer_to(subject, verdict)
        row = verdict_row(session, subject, verdict, now, tool_use=tool_use_of(request), ran=ran)
        try:
            line = self._line(wire, request, said)
        except LocalProtocolError:  # what can't be answered so is for people to look at
            session.desk.ask(request, subject, verdict)
        else:
            rows = [put(row), *session.world.rules.used(verdict, now)]
            self._say(wire, line, [told(row)], rows, harmless=verdict.behavior == "deny")

    def answer_to(self, subject: Subject, verdict: Verdict) -> tuple[Answer, Mapping[str, Any] | None]:
        """What the CLI is told, and the input that runs where a policy changes it."""
        if verdict.behavior != "allow":
            return Deny(DENIED_BY_RULE.format(verdict.because)), None
        ran = run_instead(subject.request, self._session.world)
        return Allow(ran), ran

    def say(self, wire: Wire, request: ControlRequest, said: Answer, events: list[e.Event], rows: list[RowChange]) -> str:
        """Stored, then said; the key under which it is written. ``LocalProtocolError``: it can't be answered so, nothing was."""
        return self._say(wire, self._line(wire, request, said), events, rows)

    def _line(self, wire: Wire, request: ControlRequest, said: Answer) -> bytes:
        wire.flush()
        wire.connection.answer(request.request_id, said)
        return wire.take()

    def _say(
        self, wire: Wire, data: bytes, events: list[e.Event], rows: list[RowChange], *, harmless: bool = False
    ) -> str:  # fmt: skip
        """On a sick disk what allows something waits until it is stored; what is ``harmless``, a denial, is said at once."""
        line = wire.line_said(data)
        key = key_of(data, line.n)
        if not harmless or self._session.world.store.health.well:
            self._session.post(events, rows, lines=[line], then=lambda _: wire.write(key, data))
        else:
            self._session.post(events, rows, lines=[line])
            wire.write(key, data)
        return key

    async def _hooked(self, wire: Wire, request: ControlRequest, subject: Subject, verdict: Verdict) -> None:
        """A hook says where its call will run: a denial there holds, too."""
        asked, cwd = request.request, self._session.row.cwd
        assert isinstance(asked, HookCallback)
        folder = asked.input.get("cwd")
        if isinstance(folder, str) and folder.startswith("/"):
            self._remember(asked.tool_use_id, folder)
            if folder != cwd and verdict.behavior != "deny":
                there = msgspec.structs.replace(subject.request, cwd=folder)
                moved = Subject(there, await self._looking.context(there))
                if not self._waits(wire, request):
                    return
                verdict = self._verdict(wire, request, subject)  # a rule may have come meanwhile
                found = decide(there, self._session.world.rules.book, moved.context)
                if found.behavior == "deny" and verdict.behavior != "deny":
                    subject, verdict = moved, found
        self._tell_hook(wire, request, subject, verdict)

    def recalled(self, request: ControlRequest) -> None:
        """A hook that an earlier life of the hub was asked by: where its call runs."""
        if isinstance(request.request, HookCallback) and isinstance(folder := request.request.input.get("cwd"), str):
            self._remember(request.request.tool_use_id, folder)

    def _remember(self, tool_use: str | None, folder: str) -> None:
        if tool_use:
            if len(self._folders) >= MOST_FOLDERS:
                del self._folders[next(iter(self._folders))]
            self._folders[tool_use] = folder

    def _tell_hook(self, wire: Wire, request: ControlRequest, subject: Subject, verdict: Verdict) -> None:
        """A denial holds also for what the CLI would not have asked; all else goes its way."""
        session, now = self._session, self._session.world.clock()
        if verdict.behavior != "deny":
            self.say(wire, request, Reply({}), [], [])
            return
        row: VerdictRow = verdict_row(session, subject, verdict, now, tool_use=tool_use_of(request))
        rows = [put(row), *session.world.rules.used(verdict, now)]
        line = self._line(wire, request, Reply(hook_denial(verdict.because)))
        self._say(wire, line, [told(row)], rows, harmless=True)

    # -- a plan that comes back too soon

    def _still_outlining(self, request: ControlRequest) -> bool:
        session = self._session
        is_plan = isinstance(request.request, CanUseTool) and request.request.tool_name == "ExitPlanMode"
        return is_plan and session.world.config.outline_cooldown and session.outline.holds(session.world.clock())

    def _send_back(self, wire: Wire, request: ControlRequest, subject: Subject) -> None:
        session, now = self._session, self._session.world.clock()
        seconds = max(1, round(session.outline.until - now))
        verdict = Verdict("deny", f"an outline was asked for; a plan is sent back for another {seconds} s")
        row = verdict_row(session, subject, verdict, now, tool_use=tool_use_of(request), kind="policy")
        self.say(wire, request, Deny(STILL), [told(row)], [put(row)])

    # -- people are asked

    async def known(self, row: QuestionRow) -> Subject | None:
        """What an open question is about; looked up again where an earlier life of the hub asked it."""
        wire = self._session.wire
        if row.id in self.subjects or wire is None or row.request_id not in wire.connection.questions:
            return self.subjects.get(row.id)
        subject = await self.subject(wire.connection.questions.get(row.request_id))
        if subject is not None and self._session.desk.is_open(row.id):
            self.subjects[row.id] = subject
        return subject

    async def again(self) -> None:
        """Other rules hold than before: what is open and now decided is answered."""
        for row in list(self._session.desk.open.values()):
            if row.kind == "permission":
                await self._look_again(row)

    async def afresh(self) -> None:
        """The runner is heard again: names that it could not tell meanwhile are looked up."""
        self.subjects.clear()
        await self.again()

    async def _look_again(self, row: QuestionRow) -> None:
        """By its names as they were when it was asked; what these would answer is answered by the names as they are now."""
        subject, wire = await self.known(row), self._session.wire
        if subject is None or wire is None or row.request_id not in wire.connection.questions:
            return
        request = wire.connection.questions.get(row.request_id)
        if self._verdict(wire, request, subject).behavior == "ask":
            return
        subject = await self.subject(request)
        if subject is None or not self._waits(wire, request) or not self._session.desk.is_open(row.id):
            return
        self.subjects[row.id] = subject
        verdict = self._verdict(wire, request, subject)
        if verdict.behavior != "ask":
            self.close(wire, row, request, subject, verdict)

    def close(
        self, wire: Wire, row: QuestionRow, request: ControlRequest, subject: Subject, verdict: Verdict, kind: str = "",
        said: Answer | None = None, fate: e.Fate = "answered",
    ) -> None:  # fmt: skip
        """A question that people were asked, answered without them: by a rule, a mode or a policy."""
        session, now = self._session, self._session.world.clock()
        given, ran = (said, None) if said is not None else self.answer_to(subject, verdict)
        kept = verdict_row(
            session, subject, verdict, now, tool_use=tool_use_of(request), ran=ran, kind=kind, question=row.id
        )  # fmt: skip
        try:
            line = self._line(wire, request, given)
        except LocalProtocolError:
            return  # it stays asked
        events, rows = session.desk.closed_by(row, kept, fate)
        session.desk.expects(key_of(line, wire.said + 1), row)
        rows = [*rows, put(kept), *session.world.rules.used(verdict, now)]
        self._say(wire, line, events, rows, harmless=verdict.behavior == "deny")
        session.life.answered()
        session.settle()


def leans_on_folder(request: Request) -> bool:
    """What it means depends on the folder that it runs in."""
    named = files_named(request.tool, request.input) if family_of(request.tool) else ()
    return request.tool == "Bash" or any(not path.startswith(("/", "~")) for path in named or ())


def tool_use_of(request: ControlRequest) -> str | None:
    asked = request.request
    return asked.tool_use_id if isinstance(asked, CanUseTool | HookCallback) else None


def hook_denial(because: str) -> dict[str, Any]:
    """As 2.1.37 and later take it from a PreToolUse hook."""
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": DENIED_BY_RULE.format(because),
    }
    return {"hookSpecificOutput": said}
