"""Nothing answers without a token, under a foreign name, or for a foreign page."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from litestar import Litestar, get
from litestar.exceptions import ImproperlyConfiguredException

from ropewalk.servers.access.slowdown import FREE
from ropewalk.servers.web.app import build, check_roles, public, routes

from .conftest import Door, open_door
from .knock import raw, request, socket, status_of

WITHOUT_TOKEN = {
    ("GET", "/"),
    ("GET", "/signin"),
    ("GET", "/inbox"),
    ("GET", "/sessions"),
    ("GET", "/new"),
    ("GET", "/more"),
    ("GET", "/s/*"),
    ("GET", "/page/*"),
    ("POST", "/api/v1/signin"),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")


async def everything(door: Door) -> set[str]:
    """Paths of the route table and of the OpenAPI document, with something in the place of each name."""
    async with door.client() as client:
        document = (await client.get("/api/v1/openapi.json")).json()
    paths = {path for path, _, _ in routes(build())} | set(document["paths"])
    return {re.sub(r"\{[^}]+\}", "s-one", path) for path in paths} | {"/api/v1/live", "/metrics", "/schema", "/docs", "/nothing"}


async def test_nothing_answers_without_a_token_but_the_page_and_the_sign_in(door: Door) -> None:
    """ours: S1. A new route is in the walk by itself; one that lets strangers in fails here until it is named above."""
    paths = await everything(door)
    assert len(paths) > 45
    async with door.client(headers={}) as client:
        for path in sorted(paths):
            for method in METHODS:
                if (method, re.sub(r"/s-one$", "/*", path)) not in WITHOUT_TOKEN:
                    answer = await client.request(method, path, headers={"Connection": "close"})
                    assert answer.status_code == 401, (method, path, answer.status_code)
    assert door.hub.calls == []


def test_the_routes_that_take_strangers_are_the_named_ones() -> None:
    assert public(build()) == WITHOUT_TOKEN


def test_a_route_without_a_role_stops_the_start() -> None:
    """ours: whoever adds a route must say who may use it."""

    @get("/forgotten")
    async def forgotten() -> None: ...

    with pytest.raises(ImproperlyConfiguredException, match="GET /forgotten names no role"):
        check_roles(Litestar([forgotten], openapi_config=None, logging_config=None))


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "bearer {half}", "Bearer {token}x", "{token}"]
)
async def test_a_missing_half_or_wrong_token_is_refused(door: Door, header: str) -> None:
    """ours: S2, on a route and on the socket, before the upgrade."""
    said = header.format(token=door.token, half=door.token[:20])
    lines = [f"Authorization: {said}"] if header else []
    answer = await raw(door.address, request(door.address, "/api/v1/me", *lines))
    assert status_of(answer) == 401 and b"application/problem+json" in answer
    knock = await socket(door.address, *lines)
    assert knock.status == 401 and b"problem+json" in knock.head
    await knock.close()


async def test_a_token_in_the_address_is_not_a_token(door: Door) -> None:
    """ours: addresses end up in logs."""
    async with door.client(headers={}) as client:
        for name in ("token", "access_token", "key", "authorization"):
            assert (await client.get(f"/api/v1/me?{name}={door.token}")).status_code == 401


async def test_a_code_is_no_token(door: Door) -> None:
    """ours: S2, a token of another kind."""
    code = (await door.access.new_code()).code
    async with door.client(headers={"Authorization": f"Bearer {code}"}) as client:
        assert (await client.get("/api/v1/me")).status_code == 401


HOSTS = ["evil.example", "127.0.0.1.evil.example:{port}", "evil.example:{port}", "0.0.0.0:{port}", "127.0.0.1", "127.0.0.1:1",
         "localhost.evil:{port}", "[::]:{port}", "127.0.0.1:{port}@evil", "2130706433:{port}"]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("target", ["/", "/api/v1/me", "/page/page.js"])
async def test_a_foreign_host_is_refused_for_the_page_too(door: Door, host: str, target: str) -> None:
    """ours: S3; a name that somebody else's DNS points at us is not ours."""
    said = host.format(port=door.address.port)
    token = f"Authorization: Bearer {door.token}"
    answer = await raw(door.address, request(door.address, target, token, "Connection: close", host=said))
    assert status_of(answer) in (400, 421), answer
    knock = await socket(door.address, token, host=said)
    assert knock.status in (400, 421)
    await knock.close()


async def test_a_missing_or_doubled_host_or_an_absolute_target_is_refused(door: Door) -> None:
    """ours: S3."""
    token = f"Authorization: Bearer {door.token}"
    good = f"{door.address.host}:{door.address.port}"
    for head in (
        request(door.address, "/", token, "Connection: close", host=""),
        request(door.address, "/", token, f"Host: {good}"),
        request(door.address, "http://evil.example/", token),
        request(door.address, f"http://{good}/api/v1/me", token),
        request(door.address, "evil.example:443", token, method="CONNECT"),
        request(door.address, "*", token, method="OPTIONS"),
    ):
        assert status_of(await raw(door.address, head)) == 400, head


async def test_what_a_proxy_would_say_is_not_believed(door: Door) -> None:
    """ours: S3; X-Forwarded-Host changes nothing."""
    async with door.client(headers={**door.bearer, "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}) as client:
        assert (await client.get("/api/v1/me")).status_code == 200


async def test_loopback_names_and_configured_names_work(tmp_path: Any) -> None:
    async with open_door(tmp_path / "home", names=("hub.example",)) as door:
        port = door.address.port
        for host in (
            f"localhost:{port}",
            f"127.0.0.1:{port}",
            f"[::1]:{port}",
            f"LOCALHOST:{port}",
            "hub.example",
            f"hub.example:{port}",
        ):
            token = f"Authorization: Bearer {door.token}"
            answer = await raw(door.address, request(door.address, "/api/v1/me", token, "Connection: close", host=host))
            assert status_of(answer) == 200, host


async def signed_in(door: Door, *roles: str) -> dict[str, str]:
    """A browser's cookie."""
    made = await door.access.new_token("a browser", roles or ("admin",), kind="browser")
    return {"Cookie": f"other=1; ropewalk_{door.address.port}={made.token}"}


ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "{origin}.evil.example", "https://127.0.0.1:{port}",
           "http://127.0.0.1.evil.example:{port}", "http://localhost:{port}"]  # fmt: skip


@pytest.mark.parametrize("origin", ORIGINS)
async def test_a_foreign_origin_is_refused_with_a_cookie_and_on_the_socket(door: Door, origin: str) -> None:
    """ours: S4; another port of this machine is another site."""
    cookie = await signed_in(door)
    said = origin.format(origin=door.origin, port=door.address.port)
    async with door.client(headers={**cookie, "Origin": said}) as client:
        assert (await client.get("/api/v1/me")).status_code == 403
        assert (await client.post("/api/v1/sessions/s-one/interrupt")).status_code == 403
        assert (await client.post("/api/v1/signin", json={"code": "x"})).status_code == 403
    knock = await socket(door.address, f"Cookie: {cookie['Cookie']}", f"Origin: {said}")
    assert knock.status == 403 and door.hub.calls == []
    await knock.close()


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
async def test_what_the_browser_calls_cross_site_is_refused(door: Door, site: str) -> None:
    """ours: S4; links to the page itself still open it."""
    async with door.client(headers={**await signed_in(door), "Sec-Fetch-Site": site}) as client:
        assert (await client.get("/api/v1/me")).status_code == 403
        assert (await client.post("/api/v1/sessions/s-one/interrupt")).status_code == 403
        assert (await client.get("/signin")).status_code == 200
    assert door.hub.calls == []


async def test_the_own_page_and_programs_get_in(door: Door) -> None:
    """ours: S4; a bearer without Origin works."""
    cookie = await signed_in(door)
    async with door.client(headers={**cookie, "Origin": door.origin, "Sec-Fetch-Site": "same-origin"}) as client:
        assert (await client.post("/api/v1/sessions/s-one/interrupt")).status_code == 200
    async with door.client() as client:
        assert (await client.post("/api/v1/sessions/s-one/interrupt")).status_code == 200
    for lines in ([f"Cookie: {cookie['Cookie']}", f"Origin: {door.origin}"], [f"Authorization: Bearer {door.token}"]):
        knock = await socket(door.address, *lines)
        assert knock.status == 101
        await knock.close()


async def test_a_cookie_without_an_origin_changes_nothing(door: Door) -> None:
    """ours: S6; a browser says where a change comes from, always."""
    cookie = await signed_in(door)
    async with door.client(headers=cookie) as client:
        assert (await client.get("/api/v1/me")).status_code == 200
        assert (await client.post("/api/v1/sessions/s-one/interrupt")).status_code == 403
    knock = await socket(door.address, f"Cookie: {cookie['Cookie']}")
    assert knock.status == 403 and door.hub.calls == []
    await knock.close()


async def test_no_answer_ever_allows_another_origin(door: Door) -> None:
    """ours: S5."""
    asking = {
        "Origin": "http://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    async with door.client(headers={}) as client:
        for path in ("/", "/api/v1/me", "/api/v1/sessions", "/api/v1/signin"):
            for headers in (asking, {**asking, **door.bearer}, {**door.bearer}):
                for method in ("OPTIONS", "GET", "POST"):
                    answer = await client.request(method, path, headers=headers)
                    assert not [name for name in answer.headers if name.startswith("access-control-")], (method, path)
        preflight = await client.options("/api/v1/sessions", headers=asking)
        assert preflight.status_code in (401, 403)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonp"]
)
async def test_a_forms_content_type_is_refused(door: Door, kind: str) -> None:
    """ours: S6; those are what a foreign page can send without asking."""
    for headers in (door.bearer, {**await signed_in(door), "Origin": door.origin}):
        async with door.client(headers={**headers, "Content-Type": kind}) as client:
            answer = await client.post("/api/v1/sessions/s-one/prompts", content=b'{"text":"hi"}')
            assert answer.status_code == 415 and answer.json()["code"] == "wrong_content_type"
            answer = await client.post("/api/v1/sessions/s-one/attachments?name=a", content=b"abc")
            assert answer.status_code == 415
    assert door.hub.calls == []


async def test_verbs_by_get_and_overridden_methods_do_nothing(door: Door) -> None:
    """ours: S6."""
    override = {"X-HTTP-Method-Override": "POST", "X-Method-Override": "POST", "X-HTTP-Method": "DELETE"}
    async with door.client(headers={**door.bearer, **override}) as client:
        for verb in ("interrupt", "stop", "wake", "prompts"):
            assert (await client.get(f"/api/v1/sessions/s-one/{verb}?_method=POST")).status_code == 405
        assert (await client.post("/api/v1/me")).status_code == 405
    assert door.hub.calls == []


async def test_a_revoked_token_is_refused_on_the_next_request_and_its_socket_is_closed(door: Door) -> None:
    """ours: S9, within five seconds."""
    made = await door.access.new_token("a", ["watch"])
    bearer = {"Authorization": f"Bearer {made.token}"}
    knock = await socket(door.address, f"Authorization: Bearer {made.token}")
    other = await socket(door.address, f"Authorization: Bearer {door.token}")
    async with door.client(headers=bearer) as client, door.client() as admin:
        assert (await client.get("/api/v1/me")).status_code == 200
        assert (await admin.delete(f"/api/v1/devices/{made.id}")).status_code == 200
        assert (await client.get("/api/v1/me")).status_code == 401
        async with asyncio.timeout(5):
            assert await knock.closed() == (4401, "signed out")
        other.send({"ping": 1})
        assert await other.message() == {"pong": 1}
    await knock.close()
    await other.close()


async def test_a_wrong_token_waits_for_its_answer_on_a_socket_too(door: Door) -> None:
    """ours: S11; the wait is asked for, and whoever leaves before its end is nobody's."""
    for _ in range(FREE):
        assert status_of(await raw(door.address, request(door.address, "/api/v1/me", "Authorization: Bearer wrong"))) == 401
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    turned = door.web.doorway.look

    def look(scope: Any) -> Any:
        no = turned(scope)
        waits.append(no.wait if no else 0.0)
        return no

    door.web.doorway.look = look
    began = loop.time()
    knock = await socket(door.address, "Authorization: Bearer wrong")
    assert knock.status == 401 and 0 < waits[0] <= loop.time() - began + 0.01
    await knock.close()


async def test_nothing_reaches_a_route_that_the_gate_has_not_looked_at(door: Door) -> None:
    """ours: a way past the look ends in an error; a token that ended since its look is refused."""
    gate, heard = door.web.gate, []

    async def send(message: Any) -> None:
        heard.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "path": "/api/v1/me", "method": "GET", "headers": [], "state": {}}
    with pytest.raises(KeyError):
        await gate(scope, receive, send)
    made = await door.access.new_token("a program", ("admin",))
    scope["state"] = {"key": door.access.known(str(made.token))}
    await door.access.revoke(made.id)
    await gate(scope, receive, send)
    assert [message.get("status") for message in heard] == [401, None] and door.hub.calls == []


@pytest.mark.slow
async def test_a_hundred_wrong_tokens_lock_nobody_out(door: Door) -> None:
    """ours: S11; the right token from the same address gets in at once, while the wrong ones wait."""
    loop = asyncio.get_running_loop()

    async def wrong(number: int) -> int:
        answer = await raw(
            door.address, request(door.address, "/api/v1/me", f"Authorization: Bearer rw_{number}", "Connection: close")
        )
        return status_of(answer)

    began = loop.time()
    tasks = [loop.create_task(wrong(number)) for number in range(100)]
    while door.access.slowdown.refused < 100:
        await asyncio.sleep(0.01)
    async with door.client() as client:
        asked = loop.time()
        assert (await client.get("/api/v1/me")).status_code == 200
        assert loop.time() - asked < 1.0
    ends = await asyncio.gather(*tasks)
    assert set(ends) <= {401, 429} and 429 in ends and loop.time() - began > 1.5


async def test_every_answer_carries_the_headers_that_browsers_heed(door: Door) -> None:
    """ours: S17's and S14's headers; the API is never kept."""
    async with door.client() as client:
        for path in ("/", "/page/nothing.js", "/api/v1/me", "/api/v1/nothing", "/api/v1/sessions/s-one/export"):
            headers = (await client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
            assert "unsafe" not in policy and "server" not in headers
            kept = ("no-store",) if path.startswith("/api") else ("no-cache", "no-store")
            assert headers.get("cache-control", "no-cache") in kept
        exported = await client.get("/api/v1/sessions/s-one/export")
        assert (
            exported.headers["content-disposition"].startswith("attachment;")
            and "\n" not in exported.headers["content-disposition"]
        )
        assert exported.headers["content-type"] == "application/octet-stream"


LEADING_OUT = ["/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2fserver.py", "/page//etc/passwd", "/page/page.html",
               "/api/v1/sessions/..%2f..%2fetc", "/api/v1/sessions/s-one%00", "/api/v1/sessions/%2e%2e/lines"]  # fmt: skip


@pytest.mark.parametrize("path", LEADING_OUT)
async def test_no_path_leads_out(door: Door, path: str) -> None:
    """ours: S13."""
    head = request(door.address, path, f"Authorization: Bearer {door.token}", "Connection: close")
    assert status_of(await raw(door.address, head)) in (400, 404, 422)
