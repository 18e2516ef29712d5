"""A prompt's way: queued, sent, taken, done; or withdrawn, failed, lost. Each step is an event and a row, together.

Refuses to send one twice by itself: what may have been delivered is lost when its process is, and a person decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import LocalProtocolError, UsageError
from ..events import commands as c
from ..events import events as e
from ..events.commands import Principal
from ..protocol.outgoing import checked_content
from ..protocol.turns import PromptState
from ..protocol.versions import RECEIPTS
from ..store.base import Change, RowChange, SeqOf, Value, cleaned, put
from ..store.rows import PromptRow

if TYPE_CHECKING:
    from .session import Session

LONGEST = 16 * 1024 * 1024
"""Bytes of one prompt; a CLI took lines of 3 MB (measured), more is for files."""


class Prompts:
    def __init__(self, session: Session) -> None:
        self._session = session

    # -- people

    async def queue(
        self, who: Principal, command: c.Prompt, beside: Callable[[str], Iterable[RowChange]] = lambda prompt: ()
    ) -> PromptRow:
        """Stored when this returns; handed over when its time comes. ``beside``: rows that go in with it, by its id."""
        session = self._session
        row, event, changes = self.made(who, command)
        events: list[e.Event] = [event]
        if session.row.archived:  # it would run out of everybody's sight
            events.insert(0, e.SessionChanged(archived=False, by=who.name))
            changes.append(session.change(archived=False))
        await session.wish(events, [*changes, *beside(row.id)])
        self.begin(row)
        return row

    def made(
        self, who: Principal, command: c.Prompt, *, first: bool = False
    ) -> tuple[PromptRow, e.PromptQueued, list[RowChange]]:
        """A new prompt, not stored yet: what is told of it, and its rows. ``first``: before all that wait."""
        session, world = self._session, self._session.world
        content = content_of(command.text, command.content)
        row = PromptRow(
            id=world.new_uuid(), session=session.id, position=session.queue.place(first=first or command.when == "instead"),
            content=msgspec.json.encode(content), text=cleaned(words_of(content)), when_=command.when, by=who.name,
            door=who.door, client_id=command.client_id, queued_at=world.clock(),
        )  # fmt: skip
        event = e.PromptQueued(
            prompt=row.id, text=row.text[: e.TEXT_LIMIT], cut=len(row.text) > e.TEXT_LIMIT, images=pictures_in(content),
            when=command.when, by=row.by, door=row.door,
        )  # fmt: skip
        return row, event, [put(row), session.change(last_prompt=row.text[:200], changed_at=row.queued_at)]

    def begin(self, row: PromptRow) -> None:
        """It is stored. Only into a turn that runs may it go at once: all others keep to the queue and its limits."""
        session = self._session
        session.queue.add(row)
        session.life.wanted_again()
        wire = session.wire
        open_to_it = wire is not None and wire.ready and session.under_way and session.life.stopping is None
        if row.when_ == "now" and open_to_it:
            self.hand_over(row)
        elif row.when_ == "instead" and open_to_it:
            assert wire is not None
            if RECEIPTS in wire.connection.capabilities:
                self.hand_over(row, priority="now")
            else:
                session.world.slots.hold(session.id)
                session.life.interrupt_soon()
        else:
            session.pump()

    async def edit(self, who: Principal, prompt: str, command: c.EditPrompt) -> PromptRow:
        session = self._session
        row = session.queue.find(prompt)
        values: dict[str, Value] = {}
        event = e.PromptChanged(prompt=prompt, by=who.name, before=command.before)
        if command.text is not None or command.content is not None:
            content = content_of(command.text, command.content)
            text = cleaned(words_of(content))
            values |= {"content": msgspec.json.encode(content), "text": text}
            event.text, event.cut = text[: e.TEXT_LIMIT], len(text) > e.TEXT_LIMIT
        if command.before is not None:
            values["position"] = session.queue.position_before(row, command.before)
        if not values:
            raise UsageError("nothing to change: give text, content or before")
        await self._changed_by_a_person(row, event, values)
        for name, value in values.items():
            setattr(row, name, value)
        session.queue.move(row, row.position)
        session.pump()
        return row

    async def withdraw(self, who: Principal, prompt: str) -> PromptRow:
        session = self._session
        row = session.queue.find(prompt)
        await self._changed_by_a_person(row, e.PromptWithdrawn(prompt=prompt, by=who.name), {"state": "withdrawn"})
        row.state = "withdrawn"
        session.queue.withdraw(row)
        session.life.waits_no_more()
        session.pump()
        return row

    async def _changed_by_a_person(self, row: PromptRow, event: e.Event, values: dict[str, Value]) -> None:
        """Nobody hands it over meanwhile: what the CLI hears is what was stored last."""
        session = self._session
        try:
            with session.queue.held_back(row):
                await session.wish([event], [Change("prompt", {"id": row.id}, values, {"state": "queued"})])
        except Exception:
            session.pump()
            raise

    # -- the CLI

    def hand_over(self, row: PromptRow, priority: str | None = None) -> None:
        """Kept as sent, then written: after a kill in between it is written by its key, once."""
        session, wire = self._session, self._session.wire
        assert wire is not None
        wire.flush()
        content = msgspec.json.decode(row.content)
        try:
            wire.connection.send_prompt(plain(content), uuid=row.id, priority=priority)
        except LocalProtocolError as error:
            session.queue.withdraw(row)
            self._fail(row, str(error))
            session.world.slots.give_back(session.id)
            session.pump()
            return
        data = wire.take()
        session.queue.hand_over(row)
        row.state, row.process, row.sent_at = "sent", wire.process, session.world.clock()
        changed = Change("prompt", {"id": row.id}, {"state": "sent", "process": row.process, "sent_at": row.sent_at}, must=False)
        lines = [wire.line_said(data)]
        session.post([e.PromptSent(prompt=row.id)], [changed], lines=lines, then=lambda _: wire.write(row.id, data))

    def receipts(self, events: list[e.Event], now: float) -> list[RowChange]:
        """Which of those handed over the CLI has taken, or dropped."""
        session, wire = self._session, self._session.wire
        rows: list[RowChange] = []
        assert wire is not None
        states = wire.connection.turns.prompts
        for row in list(session.queue.sent.values()):
            state = states.get(row.id)
            if row.state == "sent" and state in (PromptState.TAKEN, PromptState.DONE):
                row.state, row.taken_at = "taken", now
                events.append(e.PromptTaken(prompt=row.id))
                rows.append(Change("prompt", {"id": row.id}, {"state": "taken", "taken_at": now}, must=False))
            elif state is PromptState.WITHDRAWN:
                session.queue.sent.pop(row.id)
                events.append(e.PromptWithdrawn(prompt=row.id, by="claude"))
                rows.append(Change("prompt", {"id": row.id}, {"state": "withdrawn", "done_at": now}, must=False))
        return rows

    def done(self, prompts: Iterable[str], now: float, turn: SeqOf | None) -> list[RowChange]:
        """The turn that ended answered these."""
        rows: list[RowChange] = []
        for prompt in prompts:
            row = self._session.queue.sent.pop(prompt, None)
            if row is not None:
                values: dict[str, Any] = {"state": "done", "done_at": now, "taken_at": row.taken_at or now, "turn": turn}
                rows.append(Change("prompt", {"id": prompt}, values, must=False))
        return rows

    def not_delivered(self, key: str, why: str) -> None:
        session = self._session
        row = session.queue.sent.pop(key, None)
        if row is None:
            return
        if session.wire is not None:
            session.wire.connection.turns.taken_back(key)
        self._fail(row, f"it could not be handed to Claude: {why}")
        session.pump()

    def _fail(self, row: PromptRow, reason: str) -> None:
        values: dict[str, Value] = {"state": "failed", "reason": reason, "done_at": self._session.world.clock()}
        self._session.post([e.PromptFailed(prompt=row.id, reason=reason)], [Change("prompt", {"id": row.id}, values, must=False)])

    def process_gone(self, written: set[str], sure: bool, why: str, events: list[e.Event]) -> list[RowChange]:
        """Those handed over can't be answered any more. ``sure``: a key that is not in ``written`` was never written."""
        now = self._session.world.clock()
        rows: list[RowChange] = []
        for row in list(self._session.queue.sent.values()):
            del self._session.queue.sent[row.id]
            if sure and row.id not in written and row.state == "sent":
                reason, state = f"never handed to Claude: {why}", "failed"
                events.append(e.PromptFailed(prompt=row.id, reason=reason))
            else:
                reason, state = f"{'taken, not finished' if row.state == 'taken' else 'delivery not known'}: {why}", "lost"
                events.append(e.PromptLost(prompt=row.id, reason=reason))
            rows.append(Change("prompt", {"id": row.id}, {"state": state, "reason": reason, "done_at": now}, must=False))
        return rows


def content_of(text: str | None, content: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """What a person sends, as blocks. Raises ``UsageError`` on nothing, too much, or what is no block."""
    if (text is None) == (content is None):
        raise UsageError("a prompt has either text or content")
    blocks = [{"type": "text", "text": text}] if content is None else content
    try:
        checked_content(blocks)
        size = len(msgspec.json.encode(blocks))
    except LocalProtocolError as error:
        raise UsageError(str(error)) from None
    except UnicodeEncodeError:
        raise UsageError("the prompt holds half a character (a lone surrogate); send it again without") from None
    if size > LONGEST:
        raise UsageError(f"the prompt has {size:,} bytes, at most {LONGEST:,} are taken; attach a file instead")
    if not words_of(blocks).strip() and not pictures_in(blocks):
        raise UsageError("the prompt is empty")
    return blocks


def words_of(content: list[dict[str, Any]]) -> str:
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def pictures_in(content: list[dict[str, Any]]) -> int:
    return sum(block.get("type") in ("image", "document") for block in content)


def plain(content: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A single text goes as words: a slash command is one only so."""
    if len(content) == 1 and content[0].get("type") == "text":
        return str(content[0]["text"])
    return content
