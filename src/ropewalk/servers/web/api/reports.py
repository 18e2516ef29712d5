"""Reports: health, figures, cost, search, runners, the OpenAPI document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from litestar import Request, Response
from litestar.di import NamedDependency
from litestar.params import FromQuery, QueryParameter, SkipValidation

from ....events import views as v
from ..metrics import MEDIA_TYPE, exposition
from .route import PREFIX, Hub, Name, Named, Who, Words, get

Time = Annotated[float, QueryParameter(ge=0, le=1e11, description="Seconds since 1970.")]
Hits = Annotated[int, QueryParameter(ge=1, le=200)]
Folder = Annotated[str, QueryParameter(min_length=1, max_length=4096, pattern=r"^[^\x00-\x1f\x7f]*$")]


@get(f"{PREFIX}/health", role="watch")
async def health(hub: Hub) -> v.Health:
    """``ok``, or what is wrong and what it means."""
    return hub.health()


@get(f"{PREFIX}/metrics", role="watch", answers=(str, MEDIA_TYPE))
async def metrics(hub: Hub, figures: NamedDependency[SkipValidation[Callable[[], dict[str, float]]]]) -> Response[str]:
    """Numbers for Prometheus."""
    return Response(exposition({**hub.figures(), **figures()}), media_type=MEDIA_TYPE)


@get(f"{PREFIX}/usage", role="watch")
async def usage(
    hub: Hub, who: Who, by: FromQuery[Literal["day", "session", "folder", "model"]] = "day", since: Time = 0.0
) -> v.Page:
    """What turns cost, as the CLI estimates it."""
    return v.Page(items=list(await hub.usage(who, by=by, since=since or None)))


@get(f"{PREFIX}/search", role="watch")
async def search(
    hub: Hub,
    who: Who,
    q: Annotated[str, QueryParameter(min_length=1, max_length=1000)],
    session: Named = None,
    limit: Hits = 50,
) -> v.Page:
    """Prompts, answers, commands, outputs, by their words."""
    return v.Page(items=list(await hub.search(who, q, session=session, limit=limit)))


@get(f"{PREFIX}/events/summary", role="watch")
async def summary(hub: Hub, who: Who, after: Time = 0.0) -> v.Summary:
    """What happened since a time, for whoever comes back."""
    return await hub.summary(who, after)


@get(f"{PREFIX}/runners", role="watch")
async def list_runners(hub: Hub, who: Who) -> v.Page:
    return v.Page(items=list(await hub.runners(who)))


@get(f"{PREFIX}/runners/{{runner:str}}/found", role="prompt")
async def find_sessions(hub: Hub, who: Who, runner: Name, cwd: Folder) -> v.Page:
    """Claude sessions of this folder that the hub did not start; they can be resumed."""
    return v.Page(items=await hub.found(who, runner, cwd))


@get(f"{PREFIX}/runners/{{runner:str}}/folders", role="prompt")
async def find_folders(hub: Hub, who: Who, runner: Name, q: Words = "") -> v.Page:
    """Folders to choose from, by the letters typed so far."""
    return v.Page(items=list(await hub.folders(who, runner, q)))


@get(f"{PREFIX}/openapi.json", role="watch", include_in_schema=False)
async def openapi(document: NamedDependency[bytes], request: Request[Any, Any, Any]) -> Response[bytes]:
    """This API, for programs."""
    return Response(document, media_type="application/json")


REPORTS = [health, metrics, usage, search, summary, list_runners, find_sessions, find_folders, openapi]
