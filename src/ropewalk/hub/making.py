"""How a session comes to be: made, or branched off another. Refuses folders and options that the configuration does not allow."""

from __future__ import annotations

import msgspec

from ..config import Config
from ..errors import Conflict, FolderMissing, NotFound, UsageError
from ..events import commands as c
from ..events import events as e
from ..events import views as v
from ..events.commands import Principal
from ..sessions.bypass import MODE
from ..sessions.kept import Begun, Bypass, Kept
from ..sessions.launching import check_folder, check_options
from ..sessions.prompts import content_of, words_of
from ..sessions.session import Session
from ..store.base import Entry, RowChange, cleaned, put
from ..store.rows import PromptRow, SessionRow
from .once import Once, Row
from .reading import LOCAL, Reading, allow

ACCEPTING = ("acceptEdits", "auto")
"""Modes that say yes where a person would be asked: for who may say it."""


class Making(Reading):
    once: Once

    async def create(self, who: Principal, command: c.CreateSession) -> v.SessionView:
        allow(who, "prompt")

        async def do(row: Row) -> v.SessionView:
            return await self._create(who, command, row)

        return await self.once.made(who, "create", None, command, do, lambda ref: self.session(who, ref["session"]))

    async def _create(self, who: Principal, command: c.CreateSession, kept: Row) -> v.SessionView:
        world = self.roster.world
        if command.runner not in (None, LOCAL):
            raise NotFound(f"no runner {command.runner!r}; `ropewalk runner ls` lists them")
        prompted = command.prompt is not None or command.content is not None
        if prompted:
            content_of(command.prompt, command.content)  # nothing is made for a prompt that can't be sent
        base = await self._base_of(command)
        cwd = check_folder(command.cwd or (base.cwd if base else ""), world.config) if command.cwd or base else ""
        if not cwd:
            raise UsageError("name the folder: cwd")
        if await world.link.files.stat(cwd) is None:
            raise FolderMissing(command.cwd or cwd)
        options = command.options
        if base is not None and options == c.SessionOptions():
            options = msgspec.json.decode(base.options, type=Kept).options
        mode = command.permission_mode or (base.mode if base and base.mode != MODE else "") or "default"
        check_options(options, mode, world.config)
        given: Bypass | None = None
        if mode == MODE:
            allow(who, "admin")
            given = bypass_for(command.for_seconds, base.mode if base else "default", who, world.config)
        if command.permission_mode in ACCEPTING or command.options.allowed_tools:
            allow(who, "answer")
        row = self._new_row(who, command, base, cwd, mode, options, given)
        created = e.SessionCreated(
            session=row.id, at=row.created_at, cwd=cwd, title=row.title, by=who.name, door=who.door, sim=row.sim,
            fork_of=row.parent, fork_at=command.fork_at, resume=command.resume,
        )  # fmt: skip
        session = Session(world, row, [], [])
        session.board.heed(created)
        row.status, row.why, _ = session.board.standing
        events: list[e.Event] = [created]
        rows: list[RowChange] = [put(row)]
        prompt: PromptRow | None = None
        if prompted:  # stored with it: a repeated command finds both, or neither
            prompt, queued, changes = session.prompts.made(who, c.Prompt(text=command.prompt, content=command.content))
            queued.session, queued.at = row.id, row.created_at
            events.append(queued)
            rows += changes
        stored = await self.store.append(
            Entry(session=row.id, epoch=row.epoch, events=events, rows=[*rows, *kept({"session": row.id})])
        )
        row.last_seq = len(events)
        self.roster.add(session)
        world.told.stored(row.id, stored)
        if prompt is not None:
            row.last_prompt = prompt.text[:200]
            session.prompts.begin(prompt)
        return await self.session(who, row.id)

    async def _base_of(self, command: c.CreateSession) -> SessionRow | None:
        if command.fork_of is None:
            if command.fork_at is not None:
                raise UsageError("fork_at needs fork_of: the session whose message it names")
            return None
        if command.resume is not None:
            raise UsageError("resume goes on with a CLI session, fork_of branches off one of ours: choose one")
        session = await self.roster.get(await self.whole_id(command.fork_of))
        base, begun = session.row, session.begun
        if base.cli_session is None or not (begun.turns or begun.resumed):
            raise Conflict("this session has said nothing yet, so there is nothing to branch off")
        return base

    def _new_row(
        self, who: Principal, command: c.CreateSession, base: SessionRow | None, cwd: str, mode: str, options: c.SessionOptions,
        given: Bypass | None,
    ) -> SessionRow:  # fmt: skip
        world = self.roster.world
        now = world.clock()
        begun = Begun()
        if base is not None:
            spent = msgspec.json.decode(base.options, type=Kept).begun.spent  # a fork goes on from there (2.1.326)
            begun = Begun(fork_of=base.cli_session, fork_at=command.fork_at, spent=spent)
        elif command.resume is not None:
            begun = Begun(resumed=True)
        first = command.prompt if command.prompt is not None else words_of(command.content or [])
        title = command.title or (f"{base.title} (fork)" if base and base.title else "") or title_from(first)
        return SessionRow(
            id=world.new_id(), title=cleaned(title), tags=[cleaned(tag) for tag in command.tags], cwd=cwd, runner=LOCAL,
            owner=who.name, status="asleep", why="no prompt yet", status_at=now, mode=mode,
            model=command.model or (base.model if base else "") or "", options=msgspec.json.encode(Kept(options, begun, given)),
            sim=options.sim or world.config.sim or bool(base and base.sim), parent=base.id if base else None,
            cli_session=command.resume, cost_usd=0.0, created_at=now, changed_at=now,
        )  # fmt: skip

    async def fork(self, who: Principal, session: str, command: c.Fork) -> v.SessionView:
        made = c.CreateSession(
            client_id=command.client_id, fork_of=await self.whole_id(session), fork_at=command.at, prompt=command.prompt,
            title=command.title,
        )  # fmt: skip
        return await self.create(who, made)


def bypass_for(seconds: float | None, before: str, who: Principal, config: Config) -> Bypass:
    """By name, with a length, where the configuration permits it."""
    if seconds is None:
        raise UsageError("say for how long nothing is to be asked: for_seconds, e.g. 900")
    if seconds > config.bypass_longest:
        raise UsageError(f"bypassPermissions lasts at most {config.bypass_longest:g} seconds here (bypass_longest)")
    return Bypass(seconds=seconds, before=before if before and before != MODE else "default", by=who.name)


def title_from(prompt: str) -> str:
    """The first line of a prompt, short enough for a list."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"
