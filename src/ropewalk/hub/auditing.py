"""The audit: every tool call joined to what decided about it. Read only; refuses to leave out what Claude Code let run by itself.

Verdicts of rules, people, modes and policies are rows. What the CLI decided alone is not written twice: it is found in the log,
among the calls that finished and have no such row. Both are read newest first and laid into one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing

import msgspec
from msgspec import Struct

from ..errors import NotFound, UsageError
from ..events import commands as c
from ..events import views as v
from ..events.commands import Principal
from ..permissions.secrets import built_in
from ..store.base import Given, Latest, Place, StoredEvent
from ..store.rows import QuestionRow, RuleRow, VerdictRow
from .audit_file import FORMS, written
from .audited import (
    RULED,
    Finished,
    cli_matches,
    cli_view,
    finished,
    given_to,
    how_to_end,
    is_outside,
    is_wildcard,
    row_view,
    sentence,
)
from .reading import Reading, allow
from .rulings_shown import built_in_views, file_views, rule_view

AT_ONCE = 200
"""Rows of one kind that are read together."""
LOOKED_AT = 20_000
"""Rows that one page looks at: past that it is given as it is, with a place to go on from."""
BUILT_IN = {rule.id: rule.text for rule in built_in()}
PAGES_BACK = 40
"""Pages of a log that are looked through for one call."""
UNANSWERED = {
    "withdrawn": "Claude no longer asked",
    "lost": "the process that asked had ended",
    "open": "it is still asked",
}


class Mark(Struct, frozen=True):
    """How far both kinds have been read."""

    row: Place | None = None
    event: Place | None = None

    @property
    def text(self) -> str:
        return "_".join(f"{place.at!r}:{place.key}" if place else "" for place in (self.row, self.event))


def mark_of(cursor: str | None) -> Mark:
    try:
        row, event = (cursor or "_").split("_")
        return Mark(_place(row), _place(event))
    except ValueError:
        raise UsageError("this cursor is none of ours; begin again without one") from None


def _place(text: str) -> Place | None:
    at, _, key = text.partition(":")
    return Place(float(at), int(key)) if text else None


class Auditing(Reading):
    async def audit(self, who: Principal, asked: c.AuditFilter, *, limit: int = 100, cursor: str | None = None) -> v.Page:
        allow(who, "watch")
        asked = await self._meant(asked)
        items: list[v.VerdictView] = []
        looked, limit = 0, max(1, min(limit, 1000))
        async with aclosing(self._merged(asked, mark_of(cursor))) as merged:
            async for mark, view in merged:
                looked += 1
                if view is not None:
                    items.append(view)
                if len(items) >= limit or looked >= LOOKED_AT:
                    return v.Page(items, mark.text)
        return v.Page(items)

    async def export_audit(self, who: Principal, asked: c.AuditFilter, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        allow(who, "watch")
        if form not in FORMS:
            raise UsageError(f"format is one of {', '.join(FORMS)}")
        meant = await self._meant(asked)

        async def views() -> AsyncIterator[v.VerdictView]:
            async for _, view in self._merged(meant, Mark()):
                if view is not None:
                    yield view

        return f"ropewalk-audit.{form}", FORMS[form], written(views(), form)

    async def verdict(self, who: Principal, verdict: str) -> v.Why:
        allow(who, "watch")
        row = await self.store.get(VerdictRow, verdict)
        if row is not None:
            return await self._why(who, (await self._row_views([row]))[0])
        session, _, seq = verdict.partition(".")
        event = await self.store.event(session, int(seq)) if seq.isascii() and seq.isdigit() else None
        if event is None or event.kind != "tool_finished":
            raise NotFound(f"no verdict {verdict[:60]!r} here; `ropewalk audit` lists them")
        return await self._why_event(who, event)

    async def why(self, who: Principal, session: str, *, tool_use: str | None = None, seq: int | None = None) -> v.Why:
        allow(who, "watch")
        name = await self.whole_id(session)
        call = tool_use or await self._call_at(name, seq)
        rows = await self.store.find(VerdictRow, {"session": name, "tool_use": call}, order="at", newest=True, limit=1)
        if rows:
            return await self._why(who, (await self._row_views(rows))[0])
        event = await self._find(name, call, "tool_finished")
        if event is not None:
            return await self._why_event(who, event)
        if await self._find(name, call, "tool_started") is None:
            raise NotFound(f"no tool call {call[:60]!r} in this session; `ropewalk logs` shows them")
        raise NotFound("nobody has decided about this call yet: it waits for an answer, or it runs and Claude Code will say")

    # -- what is asked

    async def _meant(self, asked: c.AuditFilter) -> c.AuditFilter:
        return msgspec.structs.replace(asked, session=await self.whole_id(asked.session)) if asked.session else asked

    async def _call_at(self, session: str, seq: int | None) -> str:
        """The call that an event is about; the last one that was begun."""
        if seq is None:
            last = await self.store.last_events(session, 1, kinds=("tool_started",))
            if not last:
                raise NotFound("no tool was called in this session")
            return str(msgspec.json.decode(last[0][1])["tool_use"])
        event = await self.store.event(session, seq)
        body = msgspec.json.decode(event.body) if event else {}
        call = body.get("tool_use") or (body.get("asked") or {}).get("tool_use")
        if not isinstance(call, str):
            raise NotFound(f"number {seq} of this session is no tool call; `ropewalk logs` shows them with their numbers")
        return call

    # -- both kinds, newest first

    async def _merged(self, asked: c.AuditFilter, mark: Mark) -> AsyncGenerator[tuple[Mark, v.VerdictView | None], None]:
        """Each with how far that is; None for one that is passed over."""
        rows, events = self._rows(asked, mark.row), self._calls(asked, mark.event)
        row, event = await anext(rows, None), await anext(events, None)
        while row is not None or event is not None:
            if event is None or (row is not None and row[0].at >= event[0].at):
                assert row is not None
                mark = Mark(row[0], mark.event)
                yield mark, row[1]
                row = await anext(rows, None)
            else:
                mark = Mark(mark.row, event[0])
                yield mark, event[1]
                event = await anext(events, None)

    async def _rows(self, asked: c.AuditFilter, before: Place | None) -> AsyncIterator[tuple[Place, v.VerdictView | None]]:
        if asked.because == "cli":
            return
        given = Given(
            session=asked.session or "", tool=asked.tool or "", tool_use=asked.tool_use or "", behavior=asked.behavior or "",
            kinds=(asked.because,) if asked.because else (), who=asked.who or "", door=asked.door or "", text=asked.text or "",
            since=asked.since, until=asked.until, before=before, limit=AT_ONCE,
        )  # fmt: skip
        while page := await self.store.verdicts(given):
            kept = [row for _, row in page if self._wanted(row, asked)]
            views = {view.id: view for view in await self._row_views(kept)}
            for place, row in page:
                yield place, views.get(row.id)
            given = msgspec.structs.replace(given, before=page[-1][0])

    def _wanted(self, row: VerdictRow, asked: c.AuditFilter) -> bool:
        if asked.wildcard and not (row.because_kind in RULED and is_wildcard(self._text_of(row.because_id))):
            return False
        return not asked.outside or is_outside(row)

    def _text_of(self, rule: str) -> str:
        """Of a rule of people, one that is built in, or one of the file, which is called by its text."""
        row = self.roster.world.rules.get(rule)
        return row.text if row is not None else BUILT_IN.get(rule, rule)

    async def _calls(self, asked: c.AuditFilter, before: Place | None) -> AsyncIterator[tuple[Place, v.VerdictView | None]]:
        """Those that finished and that no verdict of ours is about."""
        if asked.because not in (None, "cli") or asked.who or asked.door or asked.wildcard or asked.outside:
            return
        latest = Latest(
            kind="tool_finished", session=asked.session or "", since=asked.since, until=asked.until, before=before, limit=AT_ONCE
        )
        while page := await self.store.latest(latest):
            views = {(one.session, one.seq): one for one in await self._event_views([event for _, event in page])}
            for place, event in page:
                view = views.get((event.session, event.seq))
                yield place, view if view is not None and cli_matches(view, asked) else None
            latest = msgspec.structs.replace(latest, before=page[-1][0])

    # -- views

    async def _row_views(self, rows: Sequence[VerdictRow]) -> list[v.VerdictView]:
        titles = await self._titles({row.session for row in rows})
        asked = tuple({row.question for row in rows if row.question})
        questions = await self.store.find(QuestionRow, {"id": asked}, limit=len(asked)) if asked else []
        heard = {one.id: one.delivered_at is not None for one in questions}
        rules = self.roster.world.rules
        return [
            row_view(row, rules.get(row.because_id), titles.get(row.session, ""), heard.get(row.question or "")) for row in rows
        ]

    async def _event_views(self, events: Sequence[StoredEvent]) -> list[v.VerdictView]:
        calls = [(event, finished(event)) for event in events]
        ruled = await self.store.judged({(event.session, call.tool_use) for event, call in calls})
        free = [(event, call) for event, call in calls if (event.session, call.tool_use) not in ruled]
        titles = await self._titles({event.session for event, _ in free})
        ended = await self._unanswered(free)
        return [cli_view(event, call, titles.get(event.session, ""), ended.get(call.tool_use, "")) for event, call in free]

    async def _unanswered(self, calls: Sequence[tuple[StoredEvent, Finished]]) -> dict[str, str]:
        """Failed calls that people were asked about and nobody answered: by call, how the question ended."""
        failed = {call.tool_use for _, call in calls if call.failed}
        sessions = tuple({event.session for event, call in calls if call.failed})
        if not failed:
            return {}
        where = {"session": sessions, "state": tuple(UNANSWERED)}
        questions = await self.store.find(QuestionRow, where, order="opened_at", newest=True, limit=1000)
        found = {str(msgspec.json.decode(row.asked).get("tool_use")): UNANSWERED[row.state] for row in questions}
        return {call: words for call, words in found.items() if call in failed}

    async def _titles(self, sessions: set[str]) -> dict[str, str]:
        return {row.id: row.title for row in await self._rows_of(sessions)}

    # -- one of them

    async def _why_event(self, who: Principal, event: StoredEvent) -> v.Why:
        views = await self._event_views([event])
        if not views:
            return await self.why(who, event.session, tool_use=finished(event).tool_use)
        view = views[0]
        started = await self._find(event.session, view.tool_use or "", "tool_started", event.seq)
        view.input = given_to(msgspec.json.decode(started.body)) if started else {}
        return await self._why(who, view)

    async def _why(self, who: Principal, view: v.VerdictView) -> v.Why:
        if view.seq is None and view.tool_use:
            started = await self._find(view.session, view.tool_use, "tool_started")
            view.seq = started.seq if started else None
        rule, row = None, self.roster.world.rules.get(view.because_id)
        if view.because_kind in RULED:
            rule = await self._rule_of(who, view.because_id)
        return v.Why(
            verdict=view, words=sentence(view, rule), rule=rule, others=max(0, row.hits - 1) if row else 0,
            mode=await self._mode_at(view.session, view.seq), ends_it=how_to_end(rule),
        )  # fmt: skip

    async def _rule_of(self, who: Principal, rule: str) -> v.RuleView | None:
        """Also one that has ended, however long ago; a rule of a file is known by its text."""
        row = self.roster.world.rules.get(rule) or await self.store.get(RuleRow, rule)
        if row is not None:
            titles = await self._titles({row.place} if row.scope == "session" else set())
            return rule_view(row, titles)
        rules = self.roster.world.rules
        listed = [*built_in_views(rules), *file_views(rules.file, self.roster.world.config.rules, rules.configured)]
        return next((one for one in listed if rule in (one.id, one.text)), None)

    async def _mode_at(self, session: str, seq: int | None) -> str:
        if seq is None:
            return ""
        last = await self.store.last_events(session, 1, before=seq, kinds=("turn_started", "mode_changed"))
        return str(msgspec.json.decode(last[0][1]).get("mode") or "") if last else ""

    async def _find(self, session: str, call: str, kind: str, before: int | None = None) -> StoredEvent | None:
        """What is told of this call, looked for from the end."""
        wanted = b'"%b"' % call.encode()
        for _ in range(PAGES_BACK):
            page = await self.store.last_events(session, AT_ONCE, before=before, kinds=(kind,))
            for seq, body in reversed(page):
                if wanted in body and msgspec.json.decode(body).get("tool_use") == call:
                    return await self.store.event(session, seq)
            if not page:
                return None
            before = page[0][0]
        return None
