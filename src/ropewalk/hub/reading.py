"""The views: everything that doors may read. Refuses to change anything."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from typing import Any, Literal

import msgspec

from ..errors import Conflict, NotAllowed, NotFound, UsageError
from ..events import ids
from ..events import views as v
from ..events.commands import Principal
from ..permissions.policy import decide
from ..permissions.rulebook import Rulebook
from ..permissions.rules import parse_rule
from ..sessions.desk import view_of
from ..sessions.launching import check_folder
from ..sessions.roster import Roster
from ..sessions.session import Session
from ..sessions.verdicts import Subject
from ..store.base import More, Search, SessionFilter, Store
from ..store.rows import PromptRow, QuestionRow, SeenRow, SessionRow
from .claude import sessions_on_disk
from .exported import exported
from .past import matched, past_of
from .shown import place_in_list, prompt_view, session_view

GROUPS: dict[str, tuple[str, ...]] = {
    "needs_you": ("waiting",),
    "working": (*sorted(v.WORKING), "unreachable"),
    "quiet": ("idle", "asleep", "stopped", "failed"),
}
PAGE = 1000
MOST_OPEN = 100_000
SLICE = 200
TRIED = 1000
"""Recorded requests that an offer on a card is tried on."""
BY: dict[str, Literal["day", "model", "folder", "session"]] = {
    "day": "day", "model": "model", "folder": "folder", "session": "session",
}  # fmt: skip


def allow(who: Principal, role: str) -> None:
    if not who.may(role):
        raise NotAllowed(
            f"this needs the role {role}; you have {', '.join(sorted(who.roles)) or 'none'}. Ask whoever owns the hub"
        )


class Reading:
    def __init__(self, store: Store, roster: Roster) -> None:
        self.store, self.roster = store, roster

    # -- sessions

    async def sessions(
        self, who: Principal, *, status: str | None = None, text: str | None = None, archived: bool = False,
        tag: str | None = None, limit: int = 100, cursor: str | None = None,
    ) -> v.Page:  # fmt: skip
        allow(who, "watch")
        states = GROUPS.get(status or "", (status,) if status else ())
        asked = SessionFilter(
            status=states, text=text or "", archived=None if archived else False, tag=tag or "",
            limit=max(1, min(limit, PAGE)), cursor=cursor or "",
        )  # fmt: skip
        page = await self.store.sessions(asked)
        rows = page.sessions
        if not states:  # on top of the first page come all that wait for a person, and so none on a later one
            waiting = [] if cursor else await self._attention(asked)
            rows = [*waiting, *(row for row in rows if row.status != "waiting")]
        views = await self._views(who, rows)
        return v.Page(sorted(views, key=place_in_list), page.cursor or None)

    async def _attention(self, asked: SessionFilter) -> list[SessionRow]:
        """Those that wait for a person are on the first page, however long they have waited."""
        waiting = msgspec.structs.replace(asked, status=("waiting",), limit=PAGE)
        return (await self.store.sessions(waiting)).sessions

    async def _views(self, who: Principal, rows: list[SessionRow]) -> list[v.SessionView]:
        names = tuple(row.id for row in rows)
        asleep = tuple(name for name in names if name not in self.roster.awake)
        questions = (
            _counted(await self.store.find(QuestionRow, {"state": "open", "session": asleep}, limit=10_000)) if asleep else {}
        )
        queued = (
            _counted(await self.store.find(PromptRow, {"state": "queued", "session": asleep}, limit=10_000)) if asleep else {}
        )
        seen = {row.session: row for row in await self.store.find(SeenRow, {"person": who.name}, limit=10_000)}
        return [self._view(row, seen.get(row.id), questions.get(row.id, 0), queued.get(row.id, 0)) for row in rows]

    def _view(self, row: SessionRow, seen: SeenRow | None, questions: int = 0, queued: int = 0) -> v.SessionView:
        awake = self.roster.awake.get(row.id)
        muted = bool(seen and seen.muted_until and seen.muted_until > time.time())
        return session_view(
            awake.row if awake else row, awake, questions=questions, queued=queued, seen=seen.seq if seen else 0, muted=muted
        )

    async def session(self, who: Principal, session: str) -> v.SessionView:
        allow(who, "watch")
        row = await self.store.get(SessionRow, await self.whole_id(session))
        assert row is not None
        return (await self._views(who, [row]))[0]

    async def whole_id(self, session: str) -> str:
        """From any unique start. Raises ``NotFound``, or ``Conflict`` when several begin so."""
        if session in self.roster.awake:
            return session
        if len(session) < ids.LENGTH:
            return await self._by_start(session)
        if not ids.is_id(session) or await self.store.get(SessionRow, session) is None:
            raise NotFound(f"no session {session[:40]!r} here; `ropewalk ls` lists them")
        return session

    async def _awake(self, session: str) -> Session:
        return await self.roster.get(await self.whole_id(session))

    async def _by_start(self, start: str) -> str:
        if len(start) < ids.SHORTEST or not set(start) <= set(ids.ALPHABET):
            raise NotFound(f"no session {start[:40]!r} here; give at least {ids.SHORTEST} letters of its id")
        behind = await self.store.find(SessionRow, {"id": More(start)}, order="id", limit=6)
        found = [row.id for row in behind if row.id.startswith(start)]
        if not found:
            raise NotFound(f"no session begins with {start}; `ropewalk ls` lists them")
        if len(found) > 1:
            raise Conflict(f"several sessions begin with {start}: {', '.join(found[:5])}; give more letters", code="ambiguous")
        return found[0]

    async def snapshot(self, who: Principal, session: str) -> v.Snapshot:
        allow(who, "watch")
        awake = await self._awake(session)
        seen = await self.store.get(SeenRow, who.name, awake.id)
        return v.Snapshot(
            session=self._view(awake.row, seen),
            questions=[self._asked(who, row) for row in awake.desk.open.values()],
            queue=[prompt_view(row) for row in awake.queue.all],
            partial=awake.wire.live.partials() if awake.wire else [],
            todos=awake.known.todos,
            tasks=[{"id": task, **told} for task, told in awake.known.tasks.items()],
            last_seq=awake.row.last_seq,
        )

    async def events(self, who: Principal, session: str, *, after: int = 0, limit: int = 500) -> list[tuple[int, bytes]]:
        allow(who, "watch")
        return await self.store.events(await self.whole_id(session), after, max(1, min(limit, PAGE)))

    async def lines(
        self, who: Principal, session: str, *, after: int = 0, direction: str | None = None, limit: int = 500
    ) -> list[tuple[int, str, str, int, float, bytes]]:
        allow(who, "watch")
        if direction not in (None, "in", "out"):
            raise UsageError("dir is in (what we said) or out (what the CLI said)")
        found = await self.store.lines(await self.whole_id(session), after, direction, max(1, min(limit, PAGE)))  # type: ignore[arg-type]
        return [(line.cursor, line.process, line.dir, line.n, line.at, line.raw) for line in found]

    # -- questions

    def _asked(self, who: Principal, row: QuestionRow) -> v.QuestionView:
        view = view_of(row)
        awake = self.roster.awake.get(row.session)
        if awake is not None:
            view.session_title = awake.row.title
        view.may_answer = who.may("answer") and view.state == "open"
        return view

    async def questions(self, who: Principal, *, state: str = "open", session: str | None = None) -> list[v.QuestionView]:
        allow(who, "watch")
        if state not in ("open", "answered", "withdrawn", "expired", "lost"):
            raise UsageError("state is open, answered, withdrawn, expired or lost")
        where: dict[str, Any] = {"state": state}
        if session is not None:
            where["session"] = await self.whole_id(session)
        is_open = state == "open"  # none of those is left out: somebody waits for each
        limit = MOST_OPEN if is_open else PAGE
        rows = await self.store.find(QuestionRow, where, order="opened_at", newest=not is_open, limit=limit)
        views: list[v.QuestionView] = []
        for row in rows:
            views.append(self._asked(who, row))
            if len(views) % SLICE == 0:
                await asyncio.sleep(0)  # ten thousand take a third of a second: others have their turns of the loop
        return views

    async def question(self, who: Principal, question: str) -> v.QuestionView:
        allow(who, "watch")
        row = await self.store.get(QuestionRow, question)
        if row is None:
            raise NotFound(f"no question {question[:40]!r} here; `ropewalk inbox` lists the open ones")
        view = self._asked(who, row)
        if view.state == "open" and view.offers:
            await self._with_matches(view)
        return view

    async def _with_matches(self, view: v.QuestionView) -> None:
        """What each offer would have matched in the past, and which other open questions it would answer."""
        past = await past_of(self.store, TRIED)
        others = self._other_subjects(view.id)
        session = self.roster.awake.get(view.session)
        place = session.row.cwd if session else view.cwd

        def work() -> None:
            for offer in view.offers:
                where = view.session if offer.scope == "session" else place
                for step in offer.steps:
                    rules = [parse_rule(text, "allow", scope=offer.scope, place=where, id=text) for text in step.rules]
                    step.matches = matched(rules, past)
                    book = Rulebook((*self.roster.world.rules.book.rules, *rules))
                    step.also_answers = [
                        name for name, one in others if decide(one.request, book, one.context).behavior == "allow"
                    ]

        await asyncio.to_thread(work)

    def _other_subjects(self, question: str) -> list[tuple[str, Subject]]:
        return [
            (name, subject)
            for session in self.roster.awake.values()
            for name, subject in session.judging.subjects.items()
            if name != question and session.desk.is_open(name)
        ]

    # -- what the composer and the side panel need

    async def commands(self, who: Principal, session: str) -> list[dict[str, Any]]:
        allow(who, "watch")
        awake = await self.roster.get(await self.whole_id(session))
        told = awake.wire.connection.initialize_response if awake.wire else None
        listed = (told or {}).get("commands")
        return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []

    async def files(self, who: Principal, session: str, q: str) -> list[str]:
        """Files of its folder whose path holds the letters of ``q`` in that order; the shortest first."""
        allow(who, "watch")
        awake = await self.roster.get(await self.whole_id(session))
        return await self._search_files(awake.row.cwd, q)

    async def _search_files(self, root: str, q: str) -> list[str]:
        found: list[str] = []
        folders, looked = [root], 0
        while folders and looked < 400 and len(found) < 5000:
            folder = folders.pop(0)
            looked += 1
            try:
                listing = await self.roster.world.link.files.list(folder, 2000)
            except UsageError:
                if folder == root:
                    raise
                continue  # closed to us, or gone meanwhile
            for entry in listing.entries:
                name = os.path.basename(entry.path)
                if entry.kind == "folder" and name not in SKIPPED:
                    folders.append(os.path.join(folder, name))
                elif entry.kind == "file":
                    found.append(os.path.join(folder, name)[len(root.rstrip(os.sep)) + 1 :])
        matching = [path for path in found if _fuzzy(q.lower(), path.lower())]
        return sorted(matching, key=lambda path: (len(path), path))[:50]

    async def changes(self, who: Principal, session: str, *, since: str | None = None) -> dict[str, Any]:
        """Files that its edit tools changed, with the calls that did it, oldest first."""
        allow(who, "watch")
        name = await self.whole_id(session)
        files: dict[str, list[dict[str, Any]]] = {}
        begun, after = since is None, 0
        while page := await self.store.events(name, after, PAGE, kinds=("tool_started", "prompt_queued")):
            after = page[-1][0]
            for seq, body in page:
                event = msgspec.json.decode(body)
                begun = begun or event.get("prompt") == since
                path = (event.get("input") or {}).get("file_path")
                if begun and event["kind"] == "tool_started" and event.get("does") == "edit" and isinstance(path, str):
                    files.setdefault(path, []).append({"seq": seq, "tool": event["tool"], "input": event["input"]})
        return {"files": [{"path": path, "edits": edits} for path, edits in files.items()]}

    async def export(self, who: Principal, session: str, form: str) -> tuple[str, str, AsyncIterator[bytes]]:
        allow(who, "watch")
        view = await self.session(who, session)
        return await exported(self.store, view, form)

    async def search(self, who: Principal, q: str, *, session: str | None = None, limit: int = 50) -> list[v.Hit]:
        allow(who, "watch")
        name = await self.whole_id(session) if session else ""
        page = await self.store.search(Search(text=q[:1000], session=name, limit=max(1, min(limit, 200))))
        titles = {row.id: row.title for row in await self._rows_of({hit.session for hit in page.hits})}
        return [
            v.Hit(
                session=hit.session,
                seq=hit.seq,
                at=hit.at,
                kind=hit.kind,
                snippet=hit.found.text[:400],
                title=titles.get(hit.session, ""),
            )
            for hit in page.hits
        ]

    async def _rows_of(self, names: set[str]) -> list[SessionRow]:
        return await self.store.find(SessionRow, {"id": tuple(names)}) if names else []

    async def usage(self, who: Principal, *, by: str = "day", since: float | None = None) -> list[v.UsageRow]:
        allow(who, "watch")
        if by not in BY:
            raise UsageError("by is day, model, folder or session")
        return [
            v.UsageRow(
                key=row.name, turns=row.turns, cost_usd=row.cost_usd, unknown=row.unknown, input=row.input_tokens,
                output=row.output_tokens, cache_read=row.cache_read_tokens, cache_write=row.cache_write_tokens,
            )
            for row in await self.store.usage(BY[by], since)
        ]  # fmt: skip

    async def summary(self, who: Principal, after: float) -> v.Summary:
        allow(who, "watch")
        summary = v.Summary(since=after, questions=await self.questions(who))
        for away in await self.store.away(after):
            told = {"session": away.session.id, "title": away.session.title, "first_seq": away.first_seq, "kinds": away.kinds}
            if away.kinds.get("failed"):
                summary.failed.append(told)
            elif away.kinds.get("turn_ended"):
                summary.finished.append(told)
        summary.cost_usd = sum(row.cost_usd for row in await self.store.usage("session", after))
        return summary

    # -- runners

    async def found(self, who: Principal, runner: str, cwd: str) -> list[dict[str, Any]]:
        allow(who, "prompt")
        self._runner_is_here(runner)
        cwd = check_folder(cwd, self.roster.world.config)
        ours = {
            row.cli_session
            for row in await self.store.find(SessionRow, {"cwd": await self.roster.world.link.files.realpath(cwd)}, limit=10_000)
        }
        return [found for found in await asyncio.to_thread(sessions_on_disk, cwd) if found["id"] not in ours]

    async def folders(self, who: Principal, runner: str, q: str) -> list[str]:
        """Folders whose path begins so: what a person types is completed."""
        allow(who, "prompt")
        self._runner_is_here(runner)
        folder, start = completed(q)
        try:
            listing = await self.roster.world.link.files.list(folder, 2000)
        except UsageError:
            return []
        names = [os.path.basename(entry.path) for entry in listing.entries if entry.kind == "folder"]
        hidden = start.startswith(".")
        return [os.path.join(folder, name) for name in sorted(names) if name.startswith(start) and (hidden or name[:1] != ".")][
            :50
        ]

    def _runner_is_here(self, runner: str) -> None:
        if runner != LOCAL:
            raise NotFound(f"no runner {runner[:40]!r}; `ropewalk runner ls` lists them")


LOCAL = "local"
SKIPPED = frozenset(
    {".git", "node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".ruff_cache", "dist", "build", "target"}
)


def completed(typed: str) -> tuple[str, str]:
    """The folder that was typed so far, and the beginning of the next name."""
    path = os.path.expanduser(typed or "~/")
    if not os.path.isabs(path):
        raise UsageError("give an absolute path, or one that begins with ~")
    return os.path.split(path)


def _counted(rows: list[QuestionRow] | list[PromptRow]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.session] = counts.get(row.session, 0) + 1
    return counts


def _fuzzy(letters: str, path: str) -> bool:
    rest = iter(path)
    return all(letter in rest for letter in letters)
