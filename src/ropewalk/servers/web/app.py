"""The routes put together: what each handler is given, what becomes of errors. Refuses to start with a route without a role."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from litestar import Litestar, Request, Response
from litestar.connection import ASGIConnection
from litestar.di import Provide
from litestar.exceptions import (
    HTTPException,
    ImproperlyConfiguredException,
    MethodNotAllowedException,
    NotFoundException,
    ValidationException,
)
from litestar.handlers import BaseRouteHandler, HTTPRouteHandler

from ...events.commands import Principal
from ...events.views import Problem
from .api import HANDLERS
from .api.route import ANYONE, ROLES
from .body import BodyRequest
from .document import document_from
from .problems import MEDIA_TYPE, Refusal, encoded, problem, problem_from
from .wire import EXTENSION

BODY_LIMIT = 16 * 1024 * 1024 + 64 * 1024
"""A prompt of 16 MiB and what stands around it."""


GIVEN = ("hub", "access", "cookie", "secure", "figures")
"""What handlers may ask for by name. It lies in the state of each request, so that the routes themselves belong to no hub."""


@cache
def build() -> Litestar:
    """The application behind the gate. It holds no state: making it takes a tenth of a second, so it is made once."""
    app = Litestar(
        route_handlers=HANDLERS,
        dependencies=_dependencies(),
        guards=[_guard],
        exception_handlers={Exception: _answer},
        request_class=BodyRequest,
        request_max_body_size=BODY_LIMIT,
        openapi_config=None,
        logging_config=None,
        debug=False,
    )
    check_roles(app)
    return app


def _dependencies() -> dict[str, Provide]:
    found: dict[str, Callable[..., Any]] = {name: _from_state(name) for name in GIVEN}
    found |= {"who": _who, "document": lambda: _document()}
    return {name: Provide(get, sync_to_thread=False) for name, get in found.items()}


def _from_state(name: str) -> Callable[[Request[Any, Any, Any]], Any]:
    def found(request: Request[Any, Any, Any]) -> Any:
        return request.scope["state"]["given"][name]

    return found


@cache
def _document() -> bytes:
    return document_from(HANDLERS, _dependencies())


def check_roles(app: Litestar) -> None:
    for path, method, handler in routes(app):
        if handler.opt.get("role") not in ROLES:
            raise ImproperlyConfiguredException(f"the route {method} {path} names no role")


def routes(app: Litestar) -> list[tuple[str, str, HTTPRouteHandler]]:
    """Every route there is: (path, method, handler). Litestar's own answers to OPTIONS are left out: they tell methods only."""
    found = []
    for route in app.routes:
        for handler in getattr(route, "route_handlers", ()):
            found += [(route.path_format, str(method), handler) for method in handler.http_methods if method != "OPTIONS"]
    return sorted(found, key=lambda route: route[:2])


def public(app: Litestar) -> set[tuple[str, str]]:
    """What the gate lets through without a token; a last part that is a name stands there as ``*``."""
    return {(method, NAMED.sub("/*", path)) for path, method, handler in routes(app) if handler.opt["role"] == ANYONE}


NAMED = re.compile(r"/\{\w+\}$")


def _who(request: Request[Any, Any, Any]) -> Principal:
    who: Principal = request.scope["user"]
    return who


async def _guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Waits for nothing; but one that is no coroutine is run in a thread, and an interrupt would wait for the thread's turn."""
    role = handler.opt.get("role", "watch")
    if role == ANYONE:
        return
    who: Principal | None = connection.scope.get("user")
    if who is None or not who.may(role):
        raise Refusal(403, "not_allowed", f"This needs the role {role}. Ask whoever owns the hub for another token.")


def _answer(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    wire: Any = (request.scope["extensions"] or {})[EXTENSION]
    if wire.gone:
        found = problem(400, "gone", "The connection was closed before the request had come to its end.")
    else:
        found = _from_litestar(error) if isinstance(error, HTTPException) else problem_from(error)
    headers = dict(error.headers or {}) if isinstance(error, Refusal | HTTPException) else {}
    if "allow" in {name.lower() for name in headers}:
        headers = {"Allow": ", ".join(method for method in headers.popitem()[1].split(", ") if method != "OPTIONS")}
    return Response(encoded(found), status_code=found.status, media_type=MEDIA_TYPE, headers=headers)


def _from_litestar(error: HTTPException) -> Problem:
    """In our words: Litestar's may tell how we are made."""
    match error:
        case NotFoundException():
            return problem(
                404, "no_route", "There is nothing here. The OpenAPI document lists what there is: /api/v1/openapi.json."
            )
        case MethodNotAllowedException():
            return problem(405, "wrong_method", "This method is not known here. The header Allow lists those that are.")
        case ValidationException():
            said = [extra for extra in (error.extra or []) if isinstance(extra, dict)]
            fields = [str(extra.get("key", "")) for extra in said]
            words = "; ".join(f"{extra.get('key', '')}: {extra.get('message', '')}" for extra in said) or "a value does not fit"
            return problem(422, "wrong_field", f"{words}. Mend it and ask again.", fields=fields)
    if error.status_code == 413:
        return problem(413, "too_large", "The body is too large: 16 MiB at most.")
    if error.status_code < 500:
        return problem(
            error.status_code, "wrong_request", "The request can't be read. The OpenAPI document says what is expected."
        )
    return problem_from(RuntimeError(error.detail))
