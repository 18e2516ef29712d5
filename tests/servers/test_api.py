"""The routes: what goes in, what comes out, what is said when it can't be."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ropewalk import errors
from ropewalk.events import commands as c

from .conftest import Door
from .knock import raw, request

SESSION = "/api/v1/sessions/s-one"


async def test_a_session_is_made_listed_and_shown(door: Door) -> None:
    async with door.client() as client:
        made = await client.post("/api/v1/sessions", json={"cwd": "/home/mia", "prompt": "hi", "options": {"sim": True}})
        assert made.status_code == 201 and made.json()["sim"] is True
        listed = (await client.get("/api/v1/sessions?status=needs_you&limit=5")).json()
        assert [item["id"] for item in listed["items"]] == ["s-one", made.json()["id"]] and listed["next"] is None
        assert (await client.get(f"/api/v1/sessions/{made.json()['id']}")).json()["session"]["id"] == made.json()["id"]


@pytest.mark.parametrize("place", ["field", "header"])
async def test_a_repeated_client_id_is_the_same_action_and_under_another_body_refused(door: Door, place: str) -> None:
    """ours"""
    async with door.client() as client:

        async def send(text: str) -> Any:
            body = {"text": text, "client_id": "one"} if place == "field" else {"text": text}
            return await client.post(f"{SESSION}/prompts", json=body, headers={"Client-Id": "one"} if place == "header" else {})

        first, again, other = await send("hi"), await send("hi"), await send("other")
        assert first.status_code == again.status_code == 201 and first.json() == again.json()
        assert other.status_code == 422 and other.json()["code"] == "client_id_reused"


async def test_the_field_counts_more_than_the_header_and_both_must_be_a_name(door: Door) -> None:
    async with door.client() as client:
        await client.post(f"{SESSION}/prompts", json={"text": "x", "client_id": "a"}, headers={"Client-Id": "b"})
        assert door.hub.calls[-1][2].client_id == "a"
        assert (await client.post(f"{SESSION}/interrupt", headers={"Client-Id": "a b"})).status_code == 422
        assert (await client.post(f"{SESSION}/interrupt", json={"client_id": "a b"})).status_code == 422
        assert (await client.delete(f"{SESSION}/prompts/p", headers={"Client-Id": "a b"})).status_code == 422


async def test_a_control_request_takes_any_field_beside_its_subtype(door: Door) -> None:
    """ours: {subtype, …}."""
    async with door.client() as client:
        body = {"subtype": "mcp_set_servers", "servers": {"a": {}}, "within": 5, "client_id": "x"}
        assert (await client.post(f"{SESSION}/control", json=body)).status_code == 200
    assert door.hub.calls[-1][2] == c.Control(subtype="mcp_set_servers", within=5, client_id="x", fields={"servers": {"a": {}}})


BODIES = [
    (b"", 422), (b"{", 400), (b"[]", 422), (b"null", 422), (b'"x"', 422), (b'{"mode":"yolo"}', 422), (b'{"mode":5}', 422),
    (b'{"mode":"plan","x":1}', 422), (b"\xff", 400), (b'{"mode":"\\ud800"}', 400), (b"[" * 5000, 422), (b'{"mode":"plan"}', 200),
    (b'{"mode":"plan"} x', 400), (b'{"mode":"plan","mode":"yolo"}', 422), (b"NaN", 400),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status"), BODIES)
async def test_a_body_is_read_to_the_letter(door: Door, body: bytes, status: int) -> None:
    """ours: strict in what we take from programs, so that their errors show."""
    async with door.client(headers={**door.bearer, "Content-Type": "application/json"}) as client:
        answer = await client.post(f"{SESSION}/mode", content=body)
        assert answer.status_code == status, answer.text
        if status != 200:
            assert answer.headers["content-type"] == "application/problem+json" and answer.json()["detail"].endswith(".")


async def test_a_wrong_field_is_named(door: Door) -> None:
    async with door.client() as client:
        answer = (await client.post("/api/v1/sessions", json={"cwd": "/x", "options": {"max_turns": "5"}})).json()
        assert answer["fields"] == ["options.max_turns"] and "int" in answer["detail"]
        assert (await client.get("/api/v1/search?q=x&limit=0")).json()["fields"] == ["limit"]


FAULTS = [
    (errors.NotFound("No such thing."), 404, "not_found"),
    (errors.NotAllowed("Not you."), 403, "not_allowed"),
    (errors.Conflict("Not now."), 409, "conflict"),
    (errors.AlreadyAnswered("Already answered by Jo.", by="Jo"), 409, "already_answered"),
    (errors.LimitReached("Too many."), 429, "limit_reached"),
    (errors.HubError("The store can't be written now.", code="store_unavailable"), 503, "store_unavailable"),
    (errors.HubError("The disk is full.", code="disk_full"), 507, "disk_full"),
    (errors.FolderMissing("/nowhere"), 422, "not_possible"),
    (errors.CliNotFound("claude"), 503, "claude_not_found"),
    (errors.RequestFailed("r1", "set_model", "no such model"), 502, "claude_refused"),
    (errors.RequestTimedOut("r1", "set_model", "no answer"), 504, "claude_silent"),
    (errors.SessionGone("The process has ended.", 1, ("Traceback", "secret")), 409, "session_gone"),
    (errors.LinkBroken("The runner is away."), 503, "link_broken"),
    (RuntimeError("SELECT * FROM token; /home/mia/ropewalk.db; rw_secret"), 500, "failed"),
]


@pytest.mark.parametrize(
    ("fault", "status", "code"), FAULTS, ids=lambda value: type(value).__name__ if isinstance(value, Exception) else ""
)
async def test_every_fault_is_a_problem_with_a_sentence_and_nothing_from_inside(
    door: Door, fault: Exception, status: int, code: str
) -> None:
    """ours: S35."""
    door.hub.fault = fault
    async with door.client() as client:
        answer = await client.post(f"{SESSION}/interrupt")
    assert (answer.status_code, answer.json()["code"], answer.json()["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert not any(word in answer.text for word in ("Traceback", "SELECT", "ropewalk.db", "rw_secret", "secret"))
    if isinstance(fault, errors.AlreadyAnswered):
        assert answer.json()["by"] == "Jo"


REFUSED = [("GET", "/api/v1/nothing", 404), ("GET", "/nothing", 404), ("PUT", SESSION, 405), ("BREW", "/", 400),
           ("GET", "/api/v1/sessions?limit=x", 422)]  # fmt: skip


@pytest.mark.parametrize(("method", "target", "status"), REFUSED)
async def test_every_refusal_is_problem_json_without_a_version(door: Door, method: str, target: str, status: int) -> None:
    """ours: S35."""
    answer = await raw(
        door.address, request(door.address, target, f"Authorization: Bearer {door.token}", "Connection: close", method=method)
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status) and b"content-type: application/problem+json" in head.lower()
    assert not any(word in (head + body).lower() for word in (b"litestar", b"uvicorn", b"python", b"server:", b"msgspec"))


async def test_the_wire_is_shown_verbatim_also_where_it_is_no_text(door: Door) -> None:
    """ours: G3 compares these with the CLI's ledger."""
    async with door.client() as client:
        lines = (await client.get(f"{SESSION}/lines")).json()["items"]
        assert lines[0]["line"] == '{"type":"result"}' and lines[1]["base64"] == "//4=" and "line" not in lines[1]
        assert [line["dir"] for line in (await client.get(f"{SESSION}/lines?dir=in")).json()["items"]] == ["in"]
        page = (await client.get(f"{SESSION}/lines?limit=2")).json()
        assert page["next"] == 2 and (await client.get(f"{SESSION}/lines?after=2&limit=2")).json()["next"] is None


async def test_events_come_in_pages_as_they_were_stored(door: Door) -> None:
    door.hub.tell("s-one", *(f"text {number}" for number in range(25)))
    seen: list[int] = []
    async with door.client() as client:
        after: int | None = 0
        while after is not None:
            page = (await client.get(f"{SESSION}/events?after={after}&limit=10")).json()
            seen += [item["seq"] for item in page["items"]]
            after = page["next"]
    assert seen == list(range(1, 26))


async def test_an_attachment_is_its_bytes(door: Door) -> None:
    async with door.client(headers={**door.bearer, "Content-Type": "application/octet-stream"}) as client:
        answer = await client.post(f"{SESSION}/attachments?name=a.png&kind=image/png", content=b"\x89PNG\0")
        assert answer.status_code == 201 and door.hub.calls[-1][2] == b"\x89PNG\0"
        for name in ("..%2fx", "a%00", "", "%0a"):
            assert (await client.post(f"{SESSION}/attachments?name={name}", content=b"x")).status_code == 422


async def test_a_code_signs_a_browser_in_once_and_the_cookie_is_its_alone(door: Door) -> None:
    """ours: S8."""
    async with door.client() as admin:
        made = (await admin.post("/api/v1/tokens", json={"name": "phone", "roles": ["answer"]})).json()
    async with door.client(headers={"Origin": door.origin}) as browser:
        answer = await browser.post("/api/v1/signin", json={"code": made["code"].upper(), "device": "Pixel"})
        cookie = answer.headers["set-cookie"]
        assert answer.json() == {"name": "phone", "roles": ["answer"], "door": "page"}
        assert cookie.startswith(f"ropewalk_{door.address.port}=rw_") and "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert (await browser.get("/api/v1/me")).json()["name"] == "phone"
        assert "phone (Pixel)" in {view.name for view in door.access.tokens()}
        again = await browser.post("/api/v1/signin", json={"code": made["code"]})
        assert again.status_code == 403 and "ropewalk token new" in again.json()["detail"]


async def test_devices_are_listed_without_secrets(door: Door) -> None:
    async with door.client() as client:
        made = (await client.post("/api/v1/tokens", json={"kind": "program", "name": "ci", "roles": ["watch"]})).json()
        assert made["token"].startswith("rw_") and made["code"] is None
        listed = await client.get("/api/v1/devices")
        assert {item["name"] for item in listed.json()["items"]} == {"Mia", "ci"}
        assert "rw_" not in listed.text and (await client.delete("/api/v1/devices/nobody")).status_code == 404


async def test_figures_are_prometheus_text(door: Door) -> None:
    async with door.client() as client:
        answer = await client.get("/api/v1/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert (
        "ropewalk_sessions 1" in lines and "# TYPE ropewalk_events_total counter" in lines and "ropewalk_live_sockets 0" in lines
    )


async def test_logs_hold_no_token_code_prompt_or_cookie(
    door: Door, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """ours: S34 at the door: a canary in every input, faults included."""
    caplog.set_level(logging.INFO)
    canary = "canary-5f2e"
    async with door.client(headers={**door.bearer, "Client-Id": canary, "Cookie": f"x={canary}"}) as client:
        await client.post(f"{SESSION}/prompts", json={"text": canary})
        await client.post("/api/v1/signin", json={"code": canary})
        await client.get(f"/api/v1/search?q={canary}")
        door.hub.fault = RuntimeError(f"broken at {canary}")
        await client.post(f"{SESSION}/prompts", json={"text": canary})
        await client.post(f"{SESSION}/mode", json={"mode": canary})
    async with door.client(headers={"Authorization": f"Bearer {canary}"}) as client:
        await client.get(f"/api/v1/sessions/{canary}")
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]  # the client writes its own
    said = "".join([*capsys.readouterr(), *ours])
    said = "\n".join(line for line in said.splitlines() if "[debug" not in line)
    assert "a request failed" in said and canary not in said and door.token not in said
