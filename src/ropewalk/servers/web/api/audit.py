"""The audit: what was allowed and denied, by whom, because of what; one call's why; all of it as a file."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery, PathParameter, QueryParameter, SkipValidation
from litestar.response import Stream

from ....events import commands as c
from ....events import views as v
from .route import PREFIX, Hub, Limit, Maybe, Name, Named, Who, get
from .sessions import SESSION

VerdictName = Annotated[str, PathParameter(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]
Time = Annotated[float, QueryParameter(ge=0, le=1e11, description="Seconds since 1970; 0: no bound.")]
Call = Annotated[str | None, QueryParameter(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$")]
Short = Annotated[str | None, QueryParameter(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]*$")]
Seq = Annotated[int, QueryParameter(ge=0, le=2**53 - 1, description="The number of an event; not looked at beside tool_use.")]


def asked_for(
    session: Named = None,
    tool: Short = None,
    tool_use: Call = None,
    behavior: FromQuery[Literal["allow", "deny"] | None] = None,
    because: FromQuery[c.Kind | None] = None,
    by: Short = None,
    door: Short = None,
    text: Maybe = None,
    since: Time = 0.0,
    until: Time = 0.0,
    wildcard: FromQuery[bool] = False,
    outside: FromQuery[bool] = False,
) -> c.AuditFilter:
    return c.AuditFilter(
        session=session, tool=tool, tool_use=tool_use, behavior=behavior, because=because, who=by, door=door, text=text,
        since=since or None, until=until or None, wildcard=wildcard, outside=outside,
    )  # fmt: skip


FILTERS = {"asked": Provide(asked_for, sync_to_thread=False)}
Asked = NamedDependency[SkipValidation[c.AuditFilter]]


@get(f"{PREFIX}/audit", role="watch", dependencies=FILTERS)
async def list_verdicts(hub: Hub, who: Who, asked: Asked, limit: Limit = 100, cursor: Maybe = None) -> v.Page:
    """Newest first, what Claude Code decided by itself among them. A page may be short and still have a ``next``."""
    return await hub.audit(who, asked, limit=limit, cursor=cursor)


@get(f"{PREFIX}/audit/export", role="watch", dependencies=FILTERS, answers=(str, "application/octet-stream"))
async def export_verdicts(
    hub: Hub, who: Who, asked: Asked, form: Annotated[Literal["csv", "jsonl"], QueryParameter(name="format")] = "csv"
) -> Stream:
    """Every row as one file, newest first."""
    name, _, pieces = await hub.export_audit(who, asked, form)
    attachment = f"attachment; filename*=UTF-8''{quote(name, safe='')}"
    return Stream(pieces, media_type="application/octet-stream", headers={"Content-Disposition": attachment})


@get(f"{PREFIX}/audit/{{verdict:str}}", role="watch")
async def show_verdict(hub: Hub, who: Who, verdict: VerdictName) -> v.Why:
    """One of them with the rule, the mode and the input that led to it."""
    return await hub.verdict(who, verdict)


@get(f"{SESSION}/why", role="watch")
async def show_why(hub: Hub, who: Who, session: Name, tool_use: Call = None, seq: Seq = 0) -> v.Why:
    """Why a tool call ran or did not: by its id, or by the number of an event about it; the last one without either."""
    return await hub.why(who, session, tool_use=tool_use, seq=seq or None)


AUDIT = [list_verdicts, export_verdicts, show_verdict, show_why]
