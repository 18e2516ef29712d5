"""Who may do what: every route, every role, by the table in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ropewalk.servers.web.app import build, routes
from ropewalk.servers.web.verbs import VERBS

from .conftest import Door
from .knock import socket

REFERENCE = Path(__file__).parents[2] / "docs/reference/http.md"
ROW = re.compile(r"^\| (GET|POST|PUT|PATCH|DELETE) \| `(/[^`]*)` \| (\w+) \|")
ROLES = ("watch", "prompt", "answer", "admin")
HOLDERS = {
    "watch": {"watch", "prompt", "answer", "admin"},
    "prompt": {"prompt", "admin"},
    "answer": {"answer", "admin"},
    "admin": {"admin"},
}
"""role that is needed → roles that have it"""


def written() -> dict[tuple[str, str], str]:
    return {(found[1], found[2]): found[3] for line in REFERENCE.read_text().splitlines() if (found := ROW.match(line))}


def test_the_reference_names_every_route_with_its_role_and_no_other() -> None:
    """ours: a route or a role changes only together with the page that people read."""
    app = build()
    assert written() == {(method, path): handler.opt["role"] for path, method, handler in routes(app)}


@pytest.mark.parametrize("role", ROLES)
async def test_a_role_opens_its_routes_and_no_other(door: Door, role: str) -> None:
    """ours: S10. What a role does not open changes nothing; what it opens is not refused for its role."""
    bearer = await door.token_for(role)
    async with door.client(headers={**bearer, "Scope": "admin", "X-Role": "admin"}) as client:
        for (method, path), needed in written().items():
            if needed == "anyone" or path.endswith("/stream"):
                continue
            before = len(door.hub.calls)
            answer = await client.request(
                method, re.sub(r"\{[^}]+\}", "s-one", path), json=None if path.endswith("/attachments") or method == "GET" else {}
            )
            refused = answer.status_code == 403 and "needs the role" in answer.json()["detail"]
            assert refused == (role not in HOLDERS[needed]), (role, method, path, answer.text)
            if refused:
                assert len(door.hub.calls) == before


@pytest.mark.parametrize("role", ROLES)
async def test_the_live_socket_knows_the_same_roles(door: Door, role: str) -> None:
    """ours: S10; a socket is no way around."""
    bearer = await door.token_for(role)
    page = await socket(door.address, f"Authorization: {bearer['Authorization']}")
    for number, (name, verb) in enumerate(VERBS.items()):
        page.send({"id": number, "do": name, "session": "s-one", "question": "q", "prompt": "p", "roles": ["admin"], "body": {}})
        ack = await page.until("ack")
        refused = not ack["ok"] and ack["problem"]["status"] == 403 and "needs the role" in ack["problem"]["detail"]
        assert refused == (role not in HOLDERS[verb.role]), (role, name, ack)
    await page.close()


async def test_a_device_may_sign_itself_out_and_only_itself(door: Door) -> None:
    watcher = await door.access.new_token("w", ["watch"])
    other = await door.access.new_token("o", ["watch"])
    async with door.client(headers={"Authorization": f"Bearer {watcher.token}"}) as client:
        assert (await client.delete(f"/api/v1/devices/{other.id}")).status_code == 403
        assert (await client.delete("/api/v1/devices/me")).status_code == 200
        assert (await client.get("/api/v1/me")).status_code == 401
    assert door.access.holds(other.id)
