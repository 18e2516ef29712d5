"""The plain page: four files, served as they are, before anybody has signed in. They hold no secret and ask the API for all."""

from __future__ import annotations

from importlib.resources import files

from litestar import MediaType, Response

from .route import ANYONE, get

FOLDER = files(__package__.rpartition(".")[0]).joinpath("page")


def _file(name: str) -> bytes:
    return FOLDER.joinpath(name).read_bytes()


def _served(name: str, media_type: str) -> Response[bytes]:
    return Response(_file(name), media_type=media_type, headers={"Cache-Control": "no-cache"})


@get(["/", "/signin"], role=ANYONE, include_in_schema=False)  # type: ignore[arg-type]
async def page() -> Response[bytes]:
    return _served("page.html", MediaType.HTML)


@get("/page/page.js", role=ANYONE, include_in_schema=False)
async def script() -> Response[bytes]:
    return _served("page.js", "text/javascript")


@get("/page/page.css", role=ANYONE, include_in_schema=False)
async def style() -> Response[bytes]:
    return _served("page.css", MediaType.CSS)


@get("/page/icon.svg", role=ANYONE, include_in_schema=False)
async def icon() -> Response[bytes]:
    return _served("icon.svg", "image/svg+xml")


PAGE = [page, script, style, icon]
