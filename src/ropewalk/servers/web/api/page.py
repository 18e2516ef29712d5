"""The page as it was built: one document for every address of it, and files whose names change with what is in them.

They are served before anybody has signed in: they hold no secret and ask the API for all. Refuses names that it did not find in
its own folder when it looked.
"""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from litestar import MediaType, Request, Response

from ..problems import Refusal
from .route import ANYONE, Name, get

FOLDER = Path(__file__).resolve().parent.parent / "built"
ADDRESSES = ["/", "/signin", "/inbox", "/sessions", "/new", "/more"]
KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
FOR_EVER = "public, max-age=31536000, immutable"
NOT_BUILT = (
    b"<!doctype html><meta charset=utf-8><title>ropewalk</title>"
    b"<p>The page was not built in this clone. Run: <code>make page</code>"
    b"<p>The terminal works without it: <code>ropewalk ls</code>, <code>ropewalk inbox</code>."
)


class File(NamedTuple):
    kind: str
    body: bytes
    packed: bytes


def document() -> Response[bytes]:
    index = FOLDER / "index.html"
    if not index.exists():
        return Response(NOT_BUILT, status_code=503, media_type=MediaType.HTML, headers={"Cache-Control": "no-store"})
    return Response(_read(index, index.stat().st_mtime_ns), media_type=MediaType.HTML, headers={"Cache-Control": "no-cache"})


@cache
def _read(index: Path, _: int) -> bytes:
    """Anew when it was built anew."""
    return index.read_bytes()


@cache
def _files(folder: Path, _: int) -> dict[str, File]:
    found = {path.name: path for path in folder.iterdir() if path.suffix in KINDS and path.is_file()}
    read = {name: (KINDS[path.suffix], path.read_bytes()) for name, path in found.items()}
    return {name: File(kind, body, gzip.compress(body, 9)) for name, (kind, body) in read.items()}


@get(ADDRESSES, role=ANYONE, include_in_schema=False)  # type: ignore[arg-type]
async def page() -> Response[bytes]:
    return document()


@get("/s/{session:str}", role=ANYONE, include_in_schema=False)
async def session_page(session: Name) -> Response[bytes]:
    return document()


@get("/page/{name:str}", role=ANYONE, include_in_schema=False)
async def page_file(name: Name, request: Request[Any, Any, Any]) -> Response[bytes]:
    folder = FOLDER / "page"
    found = _files(folder, folder.stat().st_mtime_ns).get(name) if folder.is_dir() else None
    if found is None:
        raise Refusal(404, "no_file", "The page has no such file. Load the page anew.")
    packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": "no-cache" if name == "icon.svg" else FOR_EVER, "Vary": "Accept-Encoding"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(found.packed if packed else found.body, media_type=found.kind, headers=headers)


PAGE = [page, session_page, page_file]
