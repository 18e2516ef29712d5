"""A time without questions: given by name, with a length, ended by the hub's clock or with its process. Refuses to be inherited.

The clock starts when the CLI has confirmed the mode. Another process of the session begins in the mode that held before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..errors import RopewalkError
from ..events import events as e
from ..store.base import RowChange
from .kept import Bypass, Kept

if TYPE_CHECKING:
    from .session import Session

MODE = "bypassPermissions"


def confirmed(session: Session) -> None:
    """The CLI runs in it now: its time begins."""
    given = session.bypass
    if given is not None and given.until is None:
        until = session.world.clock() + given.seconds
        session.post([], [keep(session, msgspec.structs.replace(given, until=until))])


def keep(session: Session, given: Bypass | None) -> RowChange:
    session.bypass = given
    return session.change(options=msgspec.json.encode(Kept(session.options, session.begun, given)))


def over(session: Session, why: str, events: list[e.Event]) -> list[RowChange]:
    """It ends: the mode before it holds again for whatever comes."""
    given = session.bypass
    if given is None:
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
    events: list[e.Event] = []
    rows = over(session, "its time is over", events)
    if wire is not None and not wire.over:
        try:
            await wire.request("set_permission_mode", {"mode": given.before}, 10.0)
        except RopewalkError:
            events.append(e.Warned(text="Claude did not end the bypass in time and is stopped", code="bypass"))
            session.life.end_now()
    session.post(events, rows)
