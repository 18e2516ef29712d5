"""``token new``, ``ls``, ``revoke``: who may come in. Refuses to show a secret twice: the hub keeps only its hash."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import cast

from ...errors import NotFound, UsageError
from ...events.commands import Role
from ...events.views import Page, TokenView
from ..asked import check_choice
from ..qr import qr_lines
from ..statuses import clock, span
from ..table import draw
from .asking import Asking

ROLES = ("watch", "prompt", "answer", "admin")


async def token_new(
    asking: Asking, *, name: str, roles: Sequence[str], program: bool, expires: float | None, qr: bool = False
) -> int:
    for role in roles:
        check_choice("role", role, ROLES)
    _check_qr(asking, qr, program)
    made = await asking.remote.new_token(
        name, cast(Sequence[Role], roles or ("admin",)), kind="program" if program else "code", expires_in=expires
    )
    if asking.as_json:
        asking.object(made)
    elif program:
        asking.screen.row(made.token or "")
        asking.screen.talk(f"shown this once, for {' and '.join(made.roles)}. End it: ropewalk token revoke {made.id}")
    elif asking.ids_only:
        asking.screen.row(made.code or "")
    else:
        left = span(made.expires_at - time.time() + 1) if made.expires_at else "10 min"
        asking.screen.row(f"code  {made.code}      works once, for {left}, as {' and '.join(made.roles)}")
        link = f"{asking.remote.where.url}/signin#{made.code}"
        asking.screen.row(f"Open  {link}")
        if qr:
            _draw_qr(asking, link)
    return 0


def _check_qr(asking: Asking, qr: bool, program: bool) -> None:
    """Before anything is made. Raises ``UsageError``."""
    if qr and program:
        raise UsageError("--qr is for the link that signs a browser in; a program takes its token as text")
    if qr and asking.screen.look.ascii:
        raise UsageError("this terminal has no letters to draw a QR code with; leave --qr out and open the link")
    if qr:
        qr_lines(asking.remote.where.url)


def _draw_qr(asking: Asking, link: str) -> None:
    for line in qr_lines(link):
        asking.screen.row(asking.screen.paint("qr", line))
    if asking.found.near:
        asking.screen.talk(
            "This address is this machine's own: a phone can't open it. How to serve beyond: docs/how-to/access.md"
        )


async def token_ls(asking: Asking) -> int:
    found = await asking.remote.tokens()
    if asking.as_json:
        asking.object(Page(items=list(found)))
    elif asking.ids_only:
        for one in found:
            asking.screen.row(one.id)
    else:
        draw(
            asking.screen, ("ID", "NAME", "KIND", "ROLES", "MADE", "SEEN", "ENDS"), [_row(one) for one in found], spare=(4, 5, 6)
        )
    return 0


def _row(token: TokenView) -> tuple[str, ...]:
    now = time.time()
    seen = f"{span(now - token.last_seen)} ago" if token.last_seen else "never"
    ends = clock(token.expires_at, "%d %b %H:%M") if token.expires_at else "never"
    made = clock(token.created_at, "%d %b %H:%M")
    return (token.id, token.name, token.kind, " ".join(token.roles), made, seen, ends)


async def token_revoke(asking: Asking, word: str) -> int:
    found = [one for one in await asking.remote.tokens() if one.id == word or (len(word) >= 4 and one.id.startswith(word))]
    if len(found) > 1:
        raise UsageError(f"{len(found)} tokens begin with {word}; give more letters: ropewalk token ls lists them")
    if not found:
        raise NotFound(f"no token begins with {word}; ropewalk token ls lists them")
    await asking.remote.revoke(found[0].id)
    if asking.as_json:
        asking.object({"ok": True, "id": found[0].id})
    elif not asking.ids_only:
        asking.screen.row(f"revoked: {found[0].name}")
    return 0
