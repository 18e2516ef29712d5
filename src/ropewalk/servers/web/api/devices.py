"""Signing in, devices, tokens. Secrets leave in the one answer that made them, and a browser's only as a cookie."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency
from litestar.params import JSONBody, SkipValidation
from msgspec import structs

from ....errors import NotAllowed, NotFound
from ....events import commands as c
from ....events import views as v
from ...access import Access
from .route import ANYONE, PREFIX, Name, Who, delete, get, post

Keys = NamedDependency[SkipValidation[Access]]
UNNAMED = c.NewToken().name
"""A code that names nobody is for whoever made it: their phone."""
AGE = 400 * 24 * 3600
"""Seconds that browsers keep a cookie at most."""


@get(f"{PREFIX}/me", role="watch")
async def me(who: Who) -> v.Me:
    """Who this token is."""
    return v.Me(name=who.name, roles=sorted(who.roles), door=who.door)


@post(f"{PREFIX}/signin", role=ANYONE)
async def sign_in(
    access: Keys,
    data: JSONBody[c.SignIn],
    request: Request[Any, Any, Any],
    cookie: NamedDependency[str],
    secure: NamedDependency[bool],
) -> Response[v.Me]:
    """Exchange a one-time code for a cookie."""
    made = await access.sign_in(data.code, data.device, request.scope["state"]["peer"])
    key = access.known(made.token or "")
    found = v.Me(name=key.name if key else made.name, roles=sorted(made.roles), door="page")
    kept = Cookie(key=cookie, value=made.token, path="/", httponly=True, samesite="strict", secure=secure, max_age=AGE)
    return Response(found, cookies=[kept])


@post(f"{PREFIX}/tokens", role="admin", status=201)
async def new_token(access: Keys, who: Who, data: JSONBody[c.NewToken]) -> v.TokenView:
    """A one-time code for a device, or a token for a program. The secret is in this answer and nowhere else."""
    if data.kind == "code":
        person = who.name if data.name == UNNAMED else data.name
        made = await access.new_code(person, data.roles, *([data.expires_in] if data.expires_in else []))
    else:
        made = await access.new_token(data.name, data.roles, data.expires_in)
    return made


@get(f"{PREFIX}/devices", role="admin")
async def list_devices(access: Keys) -> v.Page:
    """Devices, programs and unused codes, without their secrets."""
    return v.Page(items=[structs.replace(view, code=None, token=None) for view in access.tokens()])


@delete(f"{PREFIX}/devices/{{device:str}}", role="watch")
async def remove_device(access: Keys, who: Who, device: Name) -> v.Receipt:
    """Refused from now on, and its live sockets are closed. ``me`` signs this device out; others need the role admin."""
    token = who.token if device == "me" else device
    if token != who.token and not who.may("admin"):
        raise NotAllowed("Only an admin removes other devices. Sign out your own with the id me.")
    if not await access.revoke(token):
        raise NotFound("There is no such device. GET /api/v1/devices lists them.")
    return v.Receipt(message="Signed out.")


DEVICES = [me, sign_in, new_token, list_devices, remove_device]
