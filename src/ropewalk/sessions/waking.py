"""A plan that is answered when the process that asked is gone: its session is woken with what the answer means.

One entry: answer, mode and prompt; a fresh start forgets the talk in it, too. Refuses while another process of it lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from ..errors import Conflict
from ..events import commands as c
from ..events import events as e
from ..events.commands import Principal
from ..store.base import Change, RowChange, Value, put
from ..store.rows import QuestionRow, RuleRow
from .desk import refusal, view_of
from .kept import Begun, Bypass
from .onward import outline_after, plan_rules
from .plan_replies import Woken, plan_woken
from .replies import check, input_of

if TYPE_CHECKING:
    from .session import Session


async def wake_with(
    session: Session, who: Principal, question: str, command: c.Answer, rows: Iterable[RowChange], bypass: Bypass | None
) -> None:
    """Raises ``AlreadyAnswered`` where another was first, ``Conflict`` where the session has gone on without it."""
    await session.life.found()
    with session.desk.held(who, question):
        row = await _last_plan(session, question)
        view = view_of(row)
        if command.shown is not None and command.shown != view.hash:
            raise Conflict("this is not what was shown: look at the question again, then answer", code="not_as_shown")
        check(view, command)
        woken = plan_woken(command, input_of(view), view)
        granted = plan_rules(session, who, view, command)
        await _stored(session, who, row, command, woken, granted, rows, bypass)
    for one in granted:
        session.world.rules.put(one)


async def _last_plan(session: Session, question: str) -> QuestionRow:
    store = session.world.store
    row = await store.get(QuestionRow, question)
    assert row is not None
    if row.state != "lost" or not session.life.asleep:
        raise refusal(row)
    [last] = await store.find(QuestionRow, {"session": session.id, "kind": "plan"}, order="opened_at", newest=True, limit=1)
    if last.id != row.id:
        raise Conflict("a later plan has taken its place: answer that one")
    return row


async def _stored(
    session: Session, who: Principal, row: QuestionRow, command: c.Answer, woken: Woken, granted: list[RuleRow],
    rows: Iterable[RowChange], bypass: Bypass | None,
) -> None:  # fmt: skip
    now = session.world.clock()
    prompt, queued, changes = session.prompts.made(who, _prompt(command, woken), first=True)
    verdict: dict[str, Any] = {"behavior": command.behavior, "plan": command.plan, "woken": True}
    audit = session.desk.audit(row, who, command, verdict, None, now)
    answered: dict[str, Value] = {
        "state": "answered", "closed_at": now, "by": who.name, "door": who.door, "verdict": msgspec.json.encode(verdict),
        "delivered_at": now,
    }  # fmt: skip
    events: list[e.Event] = [
        e.QuestionClosed(
            question=row.id, fate="answered", behavior=command.behavior, by=who.name, door=who.door,
            message=(command.message or "")[: e.TEXT_LIMIT], edited=command.updated_input is not None,
            because=f"{who.name} on {who.door}", because_kind="person", rules=[one.text for one in granted],
            tool_use=audit.tool_use, verdict=audit.id,
        )
    ]  # fmt: skip
    kept = session.outline, session.bypass
    session.outline = outline_after(session, command)
    begun = Begun() if woken.fresh else session.begun
    if woken.mode is not None:
        events.append(e.ModeChanged(mode=woken.mode, by=who.name))
        changes.append(session.change(mode=woken.mode))
        if bypass is not None:
            bypass.awaited = True
        session.bypass = bypass
    if woken.fresh:
        events.append(e.ContextCleared(why="fresh start with the plan"))
        changes.append(session.change(cli_session=None))
    if woken.warning:
        events.append(e.Warned(text=woken.warning, code="no_plan_text"))
    changed = Change("question", {"id": row.id}, answered, {"state": "lost"})
    try:
        grants = [put(one) for one in granted]
        await session.wish([*events, queued], [changed, put(audit), *grants, *changes, session.keeps(begun), *rows])
    except Exception:
        session.outline, session.bypass = kept
        raise
    session.begun = begun
    session.known.mode = woken.mode or session.known.mode
    if woken.fresh:
        session.known.cli_session = session.known.plan_file = None
    session.prompts.begin(prompt)


def _prompt(command: c.Answer, woken: Woken) -> c.Prompt:
    if not command.content:
        return c.Prompt(text=woken.prompt)
    return c.Prompt(content=[{"type": "text", "text": woken.prompt}, *command.content])
