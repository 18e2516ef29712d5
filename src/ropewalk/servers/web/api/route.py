"""How a route is declared: method, path, role, what it answers. Refuses a route that names no role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from litestar import delete as litestar_delete
from litestar import get as litestar_get
from litestar import patch as litestar_patch
from litestar import post as litestar_post
from litestar import put as litestar_put
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import PathParameter, QueryParameter, SkipValidation

from ....events.commands import Principal
from ....events.views import Problem
from ....hub.calls import HubCalls
from ..body import Strict
from ..problems import MEDIA_TYPE

PREFIX = "/api/v1"
ANYONE = "anyone"
"""Only what must work before a person has signed in."""
ROLES = frozenset({ANYONE, "watch", "prompt", "answer", "admin"})

Hub = NamedDependency[SkipValidation[HubCalls]]
Who = NamedDependency[SkipValidation[Principal]]
Name = Annotated[str, PathParameter(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]
"""An id in a path."""
Named = Annotated[str | None, QueryParameter(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:-]+$")]
"""An id in a query, or none."""
After = Annotated[int, QueryParameter(ge=0, le=2**53 - 1)]
Limit = Annotated[int, QueryParameter(ge=1, le=1000)]
Words = Annotated[str, QueryParameter(max_length=1000)]
Maybe = Annotated[str | None, QueryParameter(max_length=1000)]
"""Words, or none."""

WHY = {
    400: "The request can't be read.",
    401: "No token, or one that is not known.",
    403: "The role does not allow it, or the request came from elsewhere.",
    404: "There is no such thing.",
    409: "It is not in the state that this needs.",
    413: "The body is too large.",
    415: "The body is not JSON by its content type.",
    422: "The request was read and can't be meant.",
    429: "Too many.",
    500: "The hub failed.",
    502: "The CLI refused.",
    503: "The hub can't do this now.",
    504: "The CLI did not answer in time.",
    507: "The disk is full.",
}
PROBLEMS = {
    status: ResponseSpec(Problem, generate_examples=False, description=words, media_type=MEDIA_TYPE)
    for status, words in WHY.items()
}

Handler = Callable[[Callable[..., Any]], HTTPRouteHandler]


def _declared(make: Any, path: str, role: str, status: int, answers: Any, settings: dict[str, Any]) -> Handler:
    if role not in ROLES:
        raise ValueError(f"the route {path} needs one of the roles {sorted(ROLES)}, not {role!r}")
    responses = dict(PROBLEMS)
    if answers is not None:
        kind, media_type = answers
        responses[status] = ResponseSpec(kind, generate_examples=False, description="Done", media_type=media_type)
    made: Handler = make(path, role=role, status_code=status, responses=responses, raises=None, **settings)
    return made


def get(path: str, *, role: str, answers: tuple[Any, str] | None = None, **settings: Any) -> Handler:
    """``answers``: the struct and media type of a handler that answers with ready-made bytes."""
    return _declared(litestar_get, path, role, 200, answers, settings)


def post(path: str, *, role: str, status: int = 200, **settings: Any) -> Handler:
    return _declared(litestar_post, path, role, status, None, {"dto": Strict, "return_dto": None, **settings})


def put(path: str, *, role: str, **settings: Any) -> Handler:
    return _declared(litestar_put, path, role, 200, None, {"dto": Strict, "return_dto": None, **settings})


def patch(path: str, *, role: str, **settings: Any) -> Handler:
    return _declared(litestar_patch, path, role, 200, None, {"dto": Strict, "return_dto": None, **settings})


def delete(path: str, *, role: str, **settings: Any) -> Handler:
    return _declared(litestar_delete, path, role, 200, None, settings)
