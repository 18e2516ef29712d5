"""The gate: who is it, by which name do they call us, where do they come from. Refuses before anything else is looked at.

The wire asks it with each head, before anything is made for a request: strangers cost a parsed head and one write. What it
let in passes it once more on its way to the routes, so that none can be reached past it. Nothing here reads a body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from ...events.views import Problem
from ..access import Access, Key, Names
from .problems import MEDIA_TYPE, Refusal, encoded, problem, problem_from

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LIVE = "/api/v1/live"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
ONCE = (b"host", b"origin", b"authorization", b"content-type", b"content-length", b"sec-fetch-site")
JSON = "application/json"
FILE = "application/octet-stream"

EVERYWHERE = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]
API_HEADERS = [
    *EVERYWHERE,
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"),
    (b"cache-control", b"no-store"),
]
PAGE_HEADERS = [
    *EVERYWHERE,
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        b"trusted-types svelte-trusted-html dompurify",
    ),
]
SECURE = (b"strict-transport-security", b"max-age=31536000")


class No(NamedTuple):
    """A refusal: the whole answer, and the seconds that whoever asked has earned to wait for it."""

    words: bytes
    wait: float


class Gate:
    """An ASGI application around the others, for what ``look`` has let in."""

    def __init__(
        self, access: Access, names: Names, *, public: Collection[tuple[str, str]], cookie: str, proxy: bool, app: App, live: App
    ) -> None:
        self._access, self._names, self._public = access, names, frozenset(public)
        self._cookie, self._proxy = cookie, proxy
        self._app, self._live = app, live
        self._lines = {
            path: b"".join(b"%s: %s\r\n" % line for line in self._headers_for(path)) + b"\r\n" for path in ("/api/", "/")
        }
        self.asked = 0

    def look(self, scope: Scope) -> No | None:
        """None: it may come in, and by which key (None for what strangers may) stands in ``scope["state"]``."""
        self.asked += 1
        try:
            scope["state"]["key"] = self._admit(scope)
        except Refusal as refusal:
            return No(self._words(scope, refusal.problem, refusal.headers), refusal.wait)
        except Exception as error:  # noqa: BLE001 - a door's request is a named boundary
            return No(self._words(scope, problem_from(error), {}), 0.0)
        return None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key: Key | None = scope["state"]["key"]
        if scope["type"] == "http":
            send = self._with_headers(scope["path"], send)
        if key is not None:
            if not self._access.holds(key.id):  # ended since the look at its head
                await refuse(scope, send, problem(401, "wrong_token", WRONG_TOKEN), {**ASK, "connection": "close"})
                return
            scope["user"], scope["auth"] = key.principal, key
            if scope["type"] == "http" and scope["method"] == "OPTIONS":
                scope["method"] = "UNKNOWN"  # Litestar's own answer to it lists wrong methods; that to an unknown one is right
        if scope["type"] == "websocket":
            await self._live(scope, receive, send)
            return
        try:
            await self._app(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - a door's request is a named boundary; Litestar answers its own before this
            await refuse(scope, send, problem_from(error), {"connection": "close"})
        finally:
            if leave := scope["state"].get("leave"):
                leave()

    # -- one question after the other

    def _admit(self, scope: Scope) -> Key | None:
        said = _headers(scope)
        peer = scope["state"]["peer"] = self._peer(scope, said)
        self._check_host(said)
        self._check_origin(scope, said)
        if scope["type"] == "websocket" and scope["path"] != LIVE:
            raise Refusal(404, "not_found", "There is no socket here. The live one is at /api/v1/live.")
        if scope["type"] == "http":
            self._check_body(scope, said)
            if self._is_public(scope):
                return None
        return self._key(scope, said, peer)

    def _is_public(self, scope: Scope) -> bool:
        method, path = scope["method"], scope["path"]
        return (method, path) in self._public or (method, f"{path.rpartition('/')[0]}/*") in self._public

    def _check_host(self, said: dict[bytes, str]) -> None:
        host = said.get(b"host")
        if not host:
            raise Refusal(400, "no_host", "Say in the header Host by which name you call the hub.")
        if not self._names.knows(host):
            raise Refusal(
                421, "wrong_host", "The hub is not called by this name. Add it to names in the configuration if it should be."
            )

    def _check_origin(self, scope: Scope, said: dict[bytes, str]) -> None:
        """Whatever a browser sends for another site's page is refused, with any token."""
        origin, site = said.get(b"origin"), said.get(b"sec-fetch-site", "none")
        if origin is not None and not self._names.same_origin(origin, said[b"host"]):
            raise Refusal(403, "wrong_origin", "Pages of other sites can't use the hub. Open its own page.")
        entering = scope["type"] == "http" and scope["method"] == "GET" and self._is_public(scope)
        if site not in ("same-origin", "none") and not entering:
            raise Refusal(403, "wrong_origin", "Pages of other sites can't use the hub. Open its own page.")

    def _check_body(self, scope: Scope, said: dict[bytes, str]) -> None:
        """Forms of other sites can send only simple content types: none of those is taken."""
        if scope["method"] in SAFE or (said.get(b"content-length", "0") == "0" and b"transfer-encoding" not in said):
            return
        kind = said.get(b"content-type", "").partition(";")[0].strip().lower()
        wanted = FILE if scope["path"].endswith("/attachments") else JSON
        if kind != wanted:
            raise Refusal(415, "wrong_content_type", f"Send the body with the content type {wanted}.")

    def _key(self, scope: Scope, said: dict[bytes, str], peer: str) -> Key:
        """The token of this request: a program's in the header, else a browser's cookie."""
        scheme, _, secret = said.get(b"authorization", "").partition(" ")
        cookie = "" if scheme else self._cookie_in(said.get(b"cookie", ""))
        if scheme and scheme.lower() != "bearer":
            secret = ""
        secret = secret.strip() or cookie
        if not secret:
            raise Refusal(401, "no_token", NO_TOKEN, headers=ASK)
        key = self._access.known(secret)
        if key is None:
            wait = self._access.slowdown.wrong_token(peer)
            if wait is None:
                raise Refusal(
                    429,
                    "too_many_wrong_tokens",
                    "Too many wrong tokens. Wait, and use a right one.",
                    headers={"retry-after": "2"},
                )
            raise Refusal(401, "wrong_token", WRONG_TOKEN, headers=ASK, wait=wait)
        if cookie:
            self._check_cookie_use(scope, said)
        return key

    def _check_cookie_use(self, scope: Scope, said: dict[bytes, str]) -> None:
        """A browser sends cookies by itself, so it must also say that the page that asks is ours."""
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE
        if changes and b"origin" not in said and said.get(b"sec-fetch-site") != "same-origin":
            raise Refusal(
                403, "no_origin", "With a cookie the header Origin is needed. Programs use a token: ropewalk token new."
            )

    def _cookie_in(self, header: str) -> str:
        try:
            found = SimpleCookie(header).get(self._cookie)
        except CookieError:
            return ""
        return found.value if found else ""

    def _peer(self, scope: Scope, said: dict[bytes, str]) -> str:
        if self._proxy and (forwarded := said.get(b"x-forwarded-for")):
            return forwarded.rpartition(",")[2].strip()[:64]
        client = scope.get("client")
        return str(client[0]) if client else ""

    def _words(self, scope: Scope, found: Problem, headers: dict[str, str]) -> bytes:
        """The answer as it goes over the wire; to an upgrade, too."""
        socket = scope["type"] == "websocket"
        body = encoded(found)
        lines = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **headers, "connection": "close"}
        said = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode("latin-1")
        more = self._lines["/api/" if socket or scope["path"].startswith("/api/") else "/"]
        return b"".join((STATUS_LINE[found.status], said, more, b"" if scope["method"] == "HEAD" else body))

    def _headers_for(self, path: str) -> list[tuple[bytes, bytes]]:
        extra = API_HEADERS if path.startswith("/api/") else PAGE_HEADERS
        return [*extra, SECURE] if self._names.secure else extra

    def _with_headers(self, path: str, send: Send) -> Send:
        extra = self._headers_for(path)

        async def sending(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        return sending


NO_TOKEN = (
    "A token is needed. Sign in with a code, or send the header Authorization: Bearer …; get either from: ropewalk token new."
)
WRONG_TOKEN = "This token is not known, or was revoked. Get another: ropewalk token new."
ASK = {"www-authenticate": 'Bearer realm="ropewalk"'}


def _headers(scope: Scope) -> dict[bytes, str]:
    """By name; those that decide something may stand there once."""
    said: dict[bytes, str] = {}
    for name, value in scope["headers"]:
        text = value.decode("latin-1").strip()
        if name in said and name in ONCE:
            raise Refusal(400, "doubled_header", f"The header {name.decode()} stands there twice.")
        said[name] = f"{said[name]}; {text}" if name in said else text
    return said


async def refuse(scope: Scope, send: Send, found: Problem, headers: dict[str, str]) -> None:
    """Answer with a problem; before the upgrade where it is about a socket."""
    kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    body = encoded(found)
    lines = {"content-type": MEDIA_TYPE, "content-length": str(len(body)), **headers}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
    if scope["type"] == "websocket":
        raw += API_HEADERS
    await send({"type": f"{kind}.start", "status": found.status, "headers": raw})
    await send({"type": f"{kind}.body", "body": body})
