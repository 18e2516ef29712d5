"""What people and programs ask for: each verb checks who asks, happens once, and returns when its effect is stored."""

from __future__ import annotations

import base64
import os
from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec

from ..errors import Conflict, FolderMissing, NotFound, RequestFailed, UsageError
from ..events import commands as c
from ..events import events as e
from ..events import views as v
from ..events.commands import Principal
from ..sessions.desk import refusal
from ..sessions.kept import Begun, Kept
from ..sessions.launching import check_folder, check_options
from ..sessions.prompts import content_of, words_of
from ..sessions.session import Session
from ..store.base import Entry, RowChange, cleaned, put
from ..store.rows import AttachmentRow, PromptRow, QuestionRow, SeenRow, SessionRow
from .once import Once, Ref, Row
from .reading import LOCAL, Reading, allow
from .shown import prompt_view

T = TypeVar("T")
LARGEST_ATTACHMENT = 20 * 1024 * 1024
ACCEPTING = ("acceptEdits", "auto")
"""Modes that say yes where a person would be asked: for who may say it."""
PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class Verbs(Reading):
    once: Once

    # -- beginning

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
        mode = command.permission_mode or (base.mode if base else "") or "default"
        check_options(options, mode, world.config)
        if mode == "bypassPermissions":
            allow(who, "admin")
        if command.permission_mode in ACCEPTING or command.options.allowed_tools:
            allow(who, "answer")
        row = self._new_row(who, command, base, cwd, mode, options)
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
        self, who: Principal, command: c.CreateSession, base: SessionRow | None, cwd: str, mode: str, options: c.SessionOptions
    ) -> SessionRow:
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
            model=command.model or (base.model if base else "") or "", options=msgspec.json.encode(Kept(options, begun)),
            sim=options.sim or world.config.sim or bool(base and base.sim), parent=base.id if base else None,
            cli_session=command.resume, cost_usd=0.0, created_at=now, changed_at=now,
        )  # fmt: skip

    async def fork(self, who: Principal, session: str, command: c.Fork) -> v.SessionView:
        made = c.CreateSession(
            client_id=command.client_id, fork_of=await self.whole_id(session), fork_at=command.at, prompt=command.prompt,
            title=command.title,
        )  # fmt: skip
        return await self.create(who, made)

    # -- prompts

    async def prompt(self, who: Principal, session: str, command: c.Prompt) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do(kept: Row) -> v.PromptView:
            told = c.Prompt(text=command.text, content=await self._with_files(awake, command.content), when=command.when)
            row = await awake.prompts.queue(who, told, lambda prompt: kept({"prompt": prompt}))
            return prompt_view(row)

        return await self.once.made(who, "prompt", awake.id, command, do, self._prompt_again)

    async def _prompt_again(self, ref: Ref) -> v.PromptView:
        row = await self.store.get(PromptRow, ref["prompt"])
        assert row is not None
        return prompt_view(row)

    async def edit_prompt(self, who: Principal, session: str, prompt: str, command: c.EditPrompt) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.PromptView:
            told = msgspec.structs.replace(command, content=await self._with_files(awake, command.content))
            return prompt_view(await awake.prompts.edit(who, prompt, told))

        await self._known_prompt(awake, prompt)
        return await self.once.carried_out(who, f"edit {prompt}", awake.id, command, do, v.PromptView)

    async def withdraw(self, who: Principal, session: str, prompt: str, command: c.Withdraw) -> v.PromptView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.PromptView:
            return prompt_view(await awake.prompts.withdraw(who, prompt))

        await self._known_prompt(awake, prompt)
        return await self.once.carried_out(who, f"withdraw {prompt}", awake.id, command, do, v.PromptView)

    async def _known_prompt(self, awake: Session, prompt: str) -> None:
        """Raises ``NotFound`` for one that never was; ``Conflict`` comes from the queue."""
        if not any(row.id == prompt for row in awake.queue.all):
            row = await self.store.get(PromptRow, prompt)
            if row is None or row.session != awake.id:
                raise NotFound(f"no prompt {prompt[:40]!r} in this session")
            if row.state != "withdrawn":
                raise Conflict(f"this prompt is {row.state} already", code="already_taken")

    # -- the process

    async def interrupt(self, who: Principal, session: str, command: c.Interrupt) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await self._answered(awake.interrupt(who))
            return v.Receipt(session=awake.id, message="interrupted" if awake.wire else "nothing was running")

        return await self.once.carried_out(who, "interrupt", awake.id, command, do, v.Receipt)

    async def stop(self, who: Principal, session: str, command: c.Stop) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await awake.life.stop(who, command.patience)
            return v.Receipt(session=awake.id, message="stopped")

        return await self.once.carried_out(who, "stop", awake.id, command, do, v.Receipt)

    async def wake(self, who: Principal, session: str, command: c.Wake) -> v.SessionView:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.SessionView:
            await awake.life.wake()
            awake.pump()
            return await self.session(who, awake.id)

        return await self.once.carried_out(who, "wake", awake.id, command, do, v.SessionView)

    async def rewind(self, who: Principal, session: str, command: c.Rewind) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            return await self._rewind(who, awake, command)

        return await self.once.carried_out(who, "rewind", awake.id, command, do, v.Receipt)

    async def _rewind(self, who: Principal, awake: Session, command: c.Rewind) -> v.Receipt:
        """Files by the CLI's own checkpoints; the conversation as a fork before the prompt, so that nothing is lost."""
        row = await self.store.get(PromptRow, command.prompt)
        if row is None or row.session != awake.id:
            raise NotFound(f"no prompt {command.prompt[:40]!r} in this session")
        reply: dict[str, Any] = {}
        if command.files:
            fields = {"user_message_id": command.prompt, "dry_run": True}
            reply = await self._answered(awake.request("rewind_files", fields))
            if not reply.get("canRewind"):
                raise Conflict(
                    f"files can't be brought back: {reply.get('error') or 'the CLI kept no checkpoint of that prompt'}"
                )
            if not command.dry_run:
                await self._answered(awake.request("rewind_files", {"user_message_id": command.prompt}))
                files = [str(path) for path in reply.get("filesChanged") or []]
                awake.post([e.FilesRewound(prompt=command.prompt, files=files, by=who.name)])
        receipt = v.Receipt(session=awake.id, prompt=command.prompt, reply=reply, state="dry run" if command.dry_run else "done")
        if command.conversation and not command.dry_run:
            at = await self._answer_before(awake.id, row)
            if at is None:
                raise Conflict("there is nothing before that prompt: begin a new session instead")
            forked = await self.create(who, c.CreateSession(fork_of=awake.id, fork_at=at))
            receipt.session = forked.id
        return receipt

    async def _answer_before(self, session: str, prompt: PromptRow) -> str | None:
        """The uuid of the last answer of the main thread before this prompt was sent: where a fork begins."""
        last: str | None = None
        after = 0
        while page := await self.store.lines(session, after, None, 1000):
            after = page[-1].cursor
            for line in page:
                if line.dir == "in" and prompt.id.encode() in line.raw:
                    return last
                if line.dir == "out" and line.raw.startswith(b'{"type":"assistant"') and b'"parent_tool_use_id":null' in line.raw:
                    last = msgspec.json.decode(line.raw).get("uuid") or last
        return last

    async def set_mode(self, who: Principal, session: str, command: c.SetMode) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)
        if command.mode == "bypassPermissions":
            allow(who, "admin")
            check_options(awake.options, command.mode, self.roster.world.config)
        elif command.mode in ACCEPTING:
            allow(who, "answer")

        async def do() -> v.Receipt:
            await awake.life.come_up()
            if awake.wire is not None and awake.wire.ready:
                await self._answered(awake.request("set_permission_mode", {"mode": command.mode}))
            awake.known.mode = command.mode
            await awake.wish([e.ModeChanged(mode=command.mode, by=who.name)], [awake.change(mode=command.mode)])
            return v.Receipt(session=awake.id, reply={"mode": command.mode})

        return await self.once.carried_out(who, "mode", awake.id, command, do, v.Receipt)

    async def set_model(self, who: Principal, session: str, command: c.SetModel) -> v.Receipt:
        allow(who, "prompt")
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            await awake.life.come_up()
            if awake.wire is not None and awake.wire.ready:
                await self._answered(awake.request("set_model", {"model": command.model} if command.model else {}))
            awake.known.model = command.model
            model = command.model or ""
            await awake.wish([e.ModelChanged(model=model, by=who.name)], [awake.change(model=model)])
            return v.Receipt(session=awake.id, reply={"model": command.model})

        return await self.once.carried_out(who, "model", awake.id, command, do, v.Receipt)

    async def set_thinking(self, who: Principal, session: str, command: c.SetThinking) -> v.Receipt:
        fields = {"max_thinking_tokens": command.max_thinking_tokens}
        return await self._requested(who, "prompt", session, command, "set_max_thinking_tokens", fields)

    async def set_environment(self, who: Principal, session: str, command: c.SetEnvironment) -> v.Receipt:
        """For later tools of the living process, on CLIs that act on it."""
        allow(who, "admin")
        awake = await self._awake(session)
        check_options(c.SessionOptions(env=command.variables), None, self.roster.world.config)

        async def do() -> v.Receipt:
            awake.set_environment(command.variables)
            return v.Receipt(session=awake.id)

        return await self.once.carried_out(who, "environment", awake.id, command, do, v.Receipt)

    async def control(self, who: Principal, session: str, command: c.Control) -> v.Receipt:
        if command.subtype == "set_permission_mode" and command.fields.get("mode") == "bypassPermissions":
            check_options(c.SessionOptions(), "bypassPermissions", self.roster.world.config)
        return await self._requested(who, "admin", session, command, command.subtype, command.fields, command.within)

    async def _requested(
        self, who: Principal, role: str, session: str, command: msgspec.Struct, subtype: str, fields: dict[str, Any],
        within: float = 30.0,
    ) -> v.Receipt:  # fmt: skip
        allow(who, role)
        awake = await self._awake(session)

        async def do() -> v.Receipt:
            return v.Receipt(session=awake.id, reply=await self._answered(awake.request(subtype, fields, within)))

        return await self.once.carried_out(who, f"control {subtype}", awake.id, command, do, v.Receipt)

    async def _answered(self, request: Awaitable[T]) -> T:
        try:
            return await request
        except RequestFailed as error:
            raise Conflict(f"Claude said no: {error.reason}", code=error.code or "refused_by_cli") from None

    # -- around it

    async def change(self, who: Principal, session: str, command: c.ChangeSession) -> v.SessionView:
        allow(who, "prompt")
        awake = await self._awake(session)
        if command.title is None and command.tags is None and command.archived is None:
            raise UsageError("nothing to change: give title, tags or archived")

        async def do() -> v.SessionView:
            if command.archived and not awake.life.asleep:
                await awake.life.stop(who, 10.0)
            values: dict[str, Any] = {"changed_at": self.roster.world.clock()}
            if command.title is not None:
                values["title"] = cleaned(command.title)
            if command.tags is not None:
                values["tags"] = [cleaned(tag) for tag in command.tags]
            if command.archived is not None:
                values["archived"] = command.archived
            told = e.SessionChanged(title=values.get("title"), tags=values.get("tags"), archived=command.archived, by=who.name)
            await awake.wish([told], [awake.change(**values)])
            return await self.session(who, awake.id)

        return await self.once.carried_out(who, "change", awake.id, command, do, v.SessionView)

    async def answer(self, who: Principal, question: str, command: c.Answer) -> v.QuestionView:
        allow(who, "answer")
        asked = await self.store.get(QuestionRow, question)
        if asked is None:
            raise NotFound(f"no question {question[:40]!r} here; `ropewalk inbox` lists the open ones")
        awake = await self.roster.get(asked.session)

        async def do(kept: Row) -> v.QuestionView:
            if asked.state != "open" and question not in awake.desk.open:
                raise refusal(asked)
            try:
                await awake.desk.answer(who, question, command, kept({"question": question}))
            except NotFound:
                closed = await self.store.get(QuestionRow, question)
                raise refusal(closed or asked) from None
            return await self.question(who, question)

        return await self.once.made(who, "answer", question, command, do, lambda ref: self.question(who, ref["question"]))

    async def seen(self, who: Principal, session: str, command: c.Seen) -> v.Receipt:
        allow(who, "watch")
        name = await self.whole_id(session)
        before = await self.store.get(SeenRow, who.name, name)
        seq = max(command.seq, before.seq if before else 0)
        row = SeenRow(person=who.name, session=name, seq=seq, at=self.roster.world.clock())
        row.muted_until = before.muted_until if before else None
        await self.store.append(Entry(rows=[put(row, over=True)]))
        return v.Receipt(session=name)

    async def mute(self, who: Principal, session: str, command: c.Mute) -> v.Receipt:
        allow(who, "watch")
        name = await self.whole_id(session)
        before = await self.store.get(SeenRow, who.name, name)
        row = before or SeenRow(person=who.name, session=name)
        row.muted_until = (command.until or FOR_EVER) if command.muted else None
        await self.store.append(Entry(rows=[put(row, over=True)]))
        return v.Receipt(session=name)

    # -- files of people

    async def attach_file(self, who: Principal, session: str, name: str, data: bytes, kind: str) -> dict[str, Any]:
        """Kept in our own folder, never in the project's."""
        allow(who, "prompt")
        awake = await self._awake(session)
        if len(data) > LARGEST_ATTACHMENT:
            raise UsageError(f"an attachment has at most {LARGEST_ATTACHMENT // 2**20} MiB")
        world = self.roster.world
        row = AttachmentRow(
            id=world.new_id(), session=awake.id, name=os.path.basename(cleaned(name))[:200] or "file", media_type=kind[:100],
            size=len(data), by=who.name, at=world.clock(),
        )  # fmt: skip
        folder = os.path.join(world.config.home, "attachments", awake.id)
        row.path = os.path.join(folder, f"{row.id}{os.path.splitext(row.name)[1][:12]}")
        await world.link.files.put(row.path, data, folders=True)
        await self.store.append(Entry(rows=[put(row)]))
        return {"type": "attachment", "id": row.id, "name": row.name, "size": row.size, "media_type": row.media_type}

    async def _with_files(self, awake: Session, content: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """References to attachments become what the CLI takes: pictures as they are, other files by their path."""
        if content is None:
            return None
        told = []
        for block in content:
            told.append(await self._file_block(awake, str(block.get("id"))) if block.get("type") == "attachment" else block)
        return told

    async def _file_block(self, awake: Session, name: str) -> dict[str, Any]:
        row = await self.store.get(AttachmentRow, name)
        if row is None or row.session != awake.id:
            raise NotFound(f"no attachment {name[:40]!r} in this session; send the file first")
        if row.media_type not in PICTURES:
            return {"type": "text", "text": f"[attached file: {row.path}]"}
        found = await self.roster.world.link.files.read(row.path, LARGEST_ATTACHMENT)
        source = {"type": "base64", "media_type": row.media_type, "data": base64.b64encode(found.data).decode()}
        return {"type": "image", "source": source}

    async def _awake(self, session: str) -> Session:
        return await self.roster.get(await self.whole_id(session))


FOR_EVER = 4e9


def title_from(prompt: str) -> str:
    """The first line of a prompt, short enough for a list."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= 80 else f"{line[:79].rstrip()}…"
