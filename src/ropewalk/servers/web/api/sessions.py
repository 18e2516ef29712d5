"""Sessions: made, listed, looked at, renamed, put away."""

from __future__ import annotations

from typing import Annotated

from litestar.params import FromQuery, JSONBody, QueryParameter

from ....events import commands as c
from ....events import views as v
from ..verbs import VERBS
from .route import PREFIX, Hub, Limit, Maybe, Name, Who, get, patch, post

SESSION = f"{PREFIX}/sessions/{{session:str}}"
Status = Annotated[
    str | None, QueryParameter(max_length=40, pattern="^[a-z_]+$", description="One status, or needs_you, working, quiet.")
]


@post(f"{PREFIX}/sessions", role=VERBS["create"].role, status=201)
async def create_session(hub: Hub, who: Who, data: JSONBody[c.CreateSession]) -> v.SessionView:
    """Start a session in a folder, with or without a first prompt; or fork one."""
    return await hub.create(who, data)


@get(f"{PREFIX}/sessions", role="watch")
async def list_sessions(
    hub: Hub, who: Who, status: Status = None, text: Maybe = None, archived: FromQuery[bool] = False,
    tag: Maybe = None, limit: Limit = 100, cursor: Maybe = None,
) -> v.Page:  # fmt: skip
    """Those that need a person first, then those at work, then the quiet ones."""
    return await hub.sessions(who, status=status, text=text, archived=archived, tag=tag, limit=limit, cursor=cursor)


@get(SESSION, role="watch")
async def show_session(hub: Hub, who: Who, session: Name) -> v.Snapshot:
    """All that a face needs to draw it: session, open questions, queue, what is being said, the last seq."""
    return await hub.snapshot(who, session)


@patch(SESSION, role=VERBS["change"].role)
async def change_session(hub: Hub, who: Who, session: Name, data: JSONBody[c.ChangeSession]) -> v.SessionView:
    """Title, tags, archived; what is left out stays."""
    return await hub.change(who, session, data)


@post(f"{SESSION}/rename", role=VERBS["change"].role)
async def rename_session(hub: Hub, who: Who, session: Name, data: JSONBody[c.Rename]) -> v.SessionView:
    return await hub.change(who, session, c.ChangeSession(title=data.title, client_id=data.client_id))


@post(f"{SESSION}/archive", role=VERBS["change"].role)
async def archive_session(hub: Hub, who: Who, session: Name, data: JSONBody[c.Archive]) -> v.SessionView:
    """Put away, or with ``archived: false`` taken out again."""
    return await hub.change(who, session, c.ChangeSession(archived=data.archived, client_id=data.client_id))


SESSIONS = [create_session, list_sessions, show_session, change_session, rename_session, archive_session]
