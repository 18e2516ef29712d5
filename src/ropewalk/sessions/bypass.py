"""A time without questions: given by name, with a length, ended by the hub's clock or with its process. Refuses to be inherited.

It is stored before the CLI is asked, so that no death and no sick disk leaves one without an end. The clock starts when the CLI
has confirmed the mode. Another process of the session begins in the mode that held before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import Conflict, RequestTimedOut, RopewalkError
from ..events import events as e
from ..store.base import RowChange
from .kept import Bypass, Kept

if TYPE_CHECKING:
    from .session import Session

MODE = "bypassPermissions"
ENDED_WITHIN = 10.0
"""Seconds that the CLI has to take back the mode."""


def confirmed(session: Session) -> None:
    """The CLI runs in it now: its time begins."""
    given = session.bypass
    if given is not None and given.until is None and not session.begun.afresh:
        until = session.world.clock() + given.seconds
        session.post([], [keep(session, msgspec.structs.replace(given, until=until, awaited=False))])


async def begin(session: Session, given: Bypass) -> None:
    """Ask the CLI into it. Raises ``Conflict`` where there is none, ``StoreUnavailable`` before anything is asked."""
    if session.wire is None or not session.wire.ready:
        raise Conflict("bypassPermissions is for a living process: wake the session first", code="asleep")
    wire, before = session.wire, session.bypass
    await session.wish([], [kept(session, given)])
    if session.wire is not wire:
        session.post([], [keep(session, None)])
        raise Conflict("its process has ended meanwhile: wake the session, then ask again", code="asleep")
    session.bypass = given
    try:
        await session.request("set_permission_mode", {"mode": MODE})
    except RequestTimedOut:
        confirmed(session)  # it may run in it all the same: then it ends, too
        raise
    except RopewalkError:
        if session.bypass is given and session.wire is wire:
            session.post([], [keep(session, before)])
        raise


def kept(session: Session, given: Bypass | None) -> RowChange:
    """What the row holds with it, once that is stored."""
    return session.change(options=msgspec.json.encode(Kept(session.options, session.begun, given, session.outline)))


def keep(session: Session, given: Bypass | None) -> RowChange:
    session.bypass = given
    return session.keeps()


def over(session: Session, why: str, events: list[e.Event]) -> list[RowChange]:
    """It ends: the mode before it holds again for whatever comes."""
    given = session.bypass
    if given is None or given.awaited:
        return []
    session.known.mode = given.before
    events.append(e.ModeChanged(mode=given.before, by=why))
    return [keep(session, None), session.change(mode=given.before)]


async def end_in_time(session: Session) -> None:
    """Its time is over. A CLI that does not take the mode back is stopped: it would go on unasked."""
    given = session.bypass
    if given is None or given.until is None or session.world.clock() < given.until:
        return
    wire = session.wire
    ending = session.bypass = msgspec.structs.replace(given, until=session.world.clock() + 2 * ENDED_WITHIN)  # by this call alone
    events: list[e.Event] = []
    if wire is not None and not wire.over:
        try:
            await wire.request("set_permission_mode", {"mode": given.before}, ENDED_WITHIN)
        except RopewalkError:
            events.append(e.Warned(text="Claude did not end the bypass in time and is stopped", code="bypass"))
            session.life.end_now()
    if session.bypass is ending:  # else it was given anew, or its process has ended meanwhile
        session.post(events, over(session, "its time is over", events))
