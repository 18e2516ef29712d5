"""How a session goes on from a plan's answer: what is stored with it, as one, and what is done before and after it is said.

Refuses to grant what the plan did not ask for, and a bypass that this process can't take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from ..errors import Conflict, UsageError
from ..events import commands as c
from ..events import events as e
from ..events.commands import Principal
from ..events.views import QuestionView
from ..permissions.rules import parse_rule
from ..protocol.answers import Answer, Deny
from ..protocol.versions import CHECKS_MODES_SINCE
from ..store.base import RowChange
from ..store.rows import RuleRow
from .inforce import row_of
from .kept import Begun, Bypass
from .outline import Outline, after
from .plan_replies import Fresh, mode_of
from .plans import BYPASS, effects

if TYPE_CHECKING:
    from .session import Session

PICTURES = "Pictures that go with my words about the plan:"


def _nothing() -> None:
    return


class Onward(Struct):
    """``granted`` are rows of rules, not stored yet. ``undo``: nothing of it was stored."""

    said: Answer
    events: list[e.Event] = field(default_factory=list)
    rows: list[RowChange] = field(default_factory=list)
    granted: list[RuleRow] = field(default_factory=list)
    first: Callable[[], None] | None = None
    """Done when all is stored and before it is said."""
    then: Callable[[], None] = _nothing
    undo: Callable[[], None] = _nothing


def onward(
    session: Session, who: Principal, view: QuestionView, command: c.Answer, reply: Answer | Fresh, bypass: Bypass | None
) -> Onward:
    """From a plan that a living process asks about. Raises ``UsageError`` or ``Conflict`` before anything has changed."""
    sent_back = isinstance(reply, Deny)
    granted = [] if sent_back else plan_rules(session, who, view, command)
    if bypass is not None and not isinstance(reply, Fresh) and not may_bypass(session):
        raise Conflict("this process was not started so that it may bypass; start afresh in it, or choose another mode")
    way = Onward(reply.deny if isinstance(reply, Fresh) else reply, granted=granted)
    if command.plan == "revise" and command.content:
        _with_pictures(session, who, command, way)
    elif command.compact and not sent_back:
        _then_compact(session, who, way)
    before, begun = (session.outline, session.bypass), session.begun
    session.outline = outline_after(session, command)
    if not sent_back and mode_of(command) is not None:
        session.bypass = bypass
    if isinstance(reply, Fresh):
        begun = Begun(afresh=True)
        _afresh(session, who, reply, way, bypass)
    way.rows.append(session.keeps(begun))

    def undo() -> None:
        session.outline, session.bypass = before

    way.undo = undo
    return way


def outline_after(session: Session, command: c.Answer) -> Outline:
    world = session.world
    return after(session.outline, command.plan, world.clock(), on=world.config.outline_cooldown)


def may_bypass(session: Session) -> bool:
    """By name, where the configuration permits it and the living process takes it."""
    world, wire = session.world, session.wire
    version = wire.connection.version if wire is not None else None
    launched = session.options.allow_bypass or (version is not None and version < CHECKS_MODES_SINCE)
    return world.config.allow_bypass and launched


def plan_rules(session: Session, who: Principal, view: QuestionView, command: c.Answer) -> list[RuleRow]:
    """What a person ticked, as rules of ours for this session. Raises ``UsageError`` for what was not on the card."""
    requested = (view.plan or {}).get("requested") or []
    for wish in command.allowed_prompts:
        shown = any(one.get("tool") == wish.tool and one.get("prompt") == wish.prompt for one in requested)
        if not shown and not (wish.rule and not wish.prompt and any(one.get("tool") == wish.tool for one in requested)):
            raise UsageError(f"the plan does not ask for {wish.tool}: {wish.prompt or wish.rule}")
    wishes = [{"tool": one.tool, "prompt": one.prompt, "rule": one.rule} for one in command.allowed_prompts]
    now = session.world.clock()
    return [
        row_of(
            parse_rule(text, "allow", scope="session", place=session.id),
            RuleRow(
                id=session.world.new_id(), behavior="allow", tool="", by=who.name, door=who.door, question=view.id,
                session=session.id, because=view.line, created_at=now,
            ),
        )
        for text in effects(None, wishes).rules
    ]  # fmt: skip


def _afresh(session: Session, who: Principal, fresh: Fresh, way: Onward, bypass: Bypass | None) -> None:
    """The talk is forgotten, the plan is kept: whatever is killed once this is stored, the process is ended and a new
    conversation begins with the plan, in the mode that was chosen."""
    prompt, queued, changes = session.prompts.made(who, c.Prompt(text=fresh.prompt, when="instead"))
    if bypass is not None:
        bypass.awaited = True
    way.events += [e.ModeChanged(mode=fresh.mode, by=who.name), queued]
    way.rows += [*changes, session.change(mode=fresh.mode)]

    def begin() -> None:
        session.begun = Begun(afresh=True)
        session.known.mode = fresh.mode
        session.queue.add(prompt)
        session.life.wanted_again()
        session.life.begin_afresh()

    way.then = begin


def _with_pictures(session: Session, who: Principal, command: c.Answer, way: Onward) -> None:
    """A denial holds words alone. Pictures are on its input before the denial is, so the model's next call has both (measured
    on all)."""
    content = [{"type": "text", "text": PICTURES}, *(command.content or [])]
    prompt, queued, changes = session.prompts.made(who, c.Prompt(content=content, when="now"))
    way.events.append(queued)
    way.rows += changes
    way.first = lambda: session.prompts.begin(prompt)


def _then_compact(session: Session, who: Principal, way: Onward) -> None:
    """Before all that waits, after the turn: by then the answer and its mode have settled."""
    prompt, queued, changes = session.prompts.made(who, c.Prompt(text="/compact"), first=True)
    way.events.append(queued)
    way.rows += changes
    way.then = lambda: session.queue.add(prompt)


__all__ = ["BYPASS", "Onward", "may_bypass", "onward", "outline_after", "plan_rules"]
