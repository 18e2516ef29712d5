"""What people and programs ask for: each verb checks who asks, happens once, and returns when its effect is stored."""

from __future__ import annotations

from typing import Any

from ..errors import NotFound, UsageError
from ..events import commands as c
from ..events import events as e
from ..events import views as v
from ..events.commands import Principal
from ..sessions.bypass import MODE
from ..sessions.desk import refusal
from ..sessions.kept import Bypass
from ..sessions.launching import check_options
from ..sessions.session import Session
from ..sessions.waking import wake_with
from ..store.base import Entry, cleaned, put
from ..store.rows import QuestionRow, SeenRow
from .driving import Driving
from .making import bypass_for
from .once import Row
from .prompting import Prompting
from .reading import allow
from .ruling import Ruling

FOR_EVER = 4e9


class Verbs(Prompting, Driving, Ruling):
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
        bypass = self._bypass_with_plan(who, command, awake)

        async def do(kept: Row) -> v.QuestionView:
            if asked.kind == "plan" and asked.state == "lost":
                await wake_with(awake, who, question, command, kept({"question": question}), bypass)
                return await self.question(who, question)
            if asked.state != "open" and question not in awake.desk.open:
                raise refusal(asked)
            try:
                await awake.desk.answer(who, question, command, kept({"question": question}), bypass)
            except NotFound:
                closed = await self.store.get(QuestionRow, question)
                raise refusal(closed or asked) from None
            return await self.question(who, question)

        return await self.once.made(who, "answer", question, command, do, lambda ref: self.question(who, ref["question"]))

    def _bypass_with_plan(self, who: Principal, command: c.Answer, awake: Session) -> Bypass | None:
        """Chosen by name with a plan; when it ends, edits are accepted, as that choice means without it."""
        if command.mode != MODE or command.plan is None:
            return None
        allow(who, "admin")
        check_options(awake.options, command.mode, self.roster.world.config)
        return bypass_for(command.for_seconds, "acceptEdits", who, self.roster.world.config)

    # -- what a person has seen

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
