"""Raw bytes at the port: slow, oversized, ambiguous, half. Nobody without a token costs much."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ropewalk.servers.web import wire

from .conftest import Door, open_door
from .knock import GUARD, leave, raw, request, socket, status_of


def post(door: Door, *lines: str, target: str = "/api/v1/sessions/s-one/prompts") -> bytes:
    return request(
        door.address, target, f"Authorization: Bearer {door.token}", "Content-Type: application/json", *lines, method="POST"
    )


@pytest.fixture
async def hurried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Door]:
    """A door whose deadlines are shorter; the clock is real."""
    monkeypatch.setattr(wire, "HEAD_WITHIN", 0.3)
    monkeypatch.setattr(wire, "BODY_PAUSE", 0.3)
    monkeypatch.setattr(wire, "BODY_WITHIN", 1.0)
    async with open_door(tmp_path / "home") as door:
        yield door


BODY = b'{"text":"a"}'
CHUNKED = b"c\r\n" + BODY + b"\r\n0\r\n\r\n"

SMUGGLED = {
    "length and chunked": (["Content-Length: 5", "Transfer-Encoding: chunked"], CHUNKED),
    "chunked and length": (["Transfer-Encoding: chunked", "Content-Length: 5"], CHUNKED),
    "two lengths": ([f"Content-Length: {len(BODY)}", "Content-Length: 5"], BODY),
    "two equal lengths": ([f"Content-Length: {len(BODY)}", f"Content-Length: {len(BODY)}"], BODY),
    "a list of lengths": ([f"Content-Length: {len(BODY)}, {len(BODY)}"], BODY),
    "a signed length": ([f"Content-Length: +{len(BODY)}"], BODY),
    "a negative length": (["Content-Length: -1"], BODY),
    "chunked twice": (["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], CHUNKED),
    "chunked not last": (["Transfer-Encoding: chunked, identity"], CHUNKED),
    "an unknown coding": (["Transfer-Encoding: xchunked"], CHUNKED),
    "a folded header": (["X-A: b", " folded: c", f"Content-Length: {len(BODY)}"], BODY),
    "a space before the colon": ([f"Content-Length : {len(BODY)}"], BODY),
    "a bad chunk size": (["Transfer-Encoding: chunked"], b"0x5\r\nabcde\r\n0\r\n\r\n"),
    "a control character in a name": (["X\x01Y: 1", f"Content-Length: {len(BODY)}"], BODY),
    "a zero in a value": (["X: a\0b", f"Content-Length: {len(BODY)}"], BODY),
}


@pytest.mark.parametrize("case", SMUGGLED)
async def test_what_two_parsers_could_read_differently_is_refused_and_the_connection_ends(door: Door, case: str) -> None:
    """ours: S33. A second request hidden in the body must not be answered."""
    lines, body = SMUGGLED[case]
    hidden = request(door.address, "/api/v1/health", f"Authorization: Bearer {door.token}")
    answer = await raw(door.address, post(door, *lines) + body + hidden)
    assert answer.count(b"HTTP/1.1 ") == 1 and status_of(answer) == 400, (case, answer)
    assert b"application/problem+json" in answer and door.hub.calls == []


NO_HTTP = [b"GET / HTTP/1.1\nHost: x\n\n", b"GET /\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           b"GET / HTTP/9.9\r\n\r\n", b"GET  / HTTP/1.1\r\n\r\n", b"\0" * 100, b"G\xc3\x84T / HTTP/1.1\r\n\r\n"]  # fmt: skip


@pytest.mark.parametrize("bytes_", NO_HTTP)
async def test_what_is_no_http_is_refused_and_ended(door: Door, bytes_: bytes) -> None:
    """ours: S33; a bare line feed ends no line here."""
    answer = await raw(door.address, bytes_, close=True)
    assert status_of(answer) in (400, 0), answer


async def test_bare_line_feeds_inside_a_good_head_are_refused(door: Door) -> None:
    head = post(door, f"Content-Length: {len(BODY)}").replace(b"\r\nContent-Type", b"\nContent-Type")
    answer = await raw(door.address, head + BODY)
    assert status_of(answer) == 400 and door.hub.calls == []


async def test_headers_after_the_body_are_not_believed(door: Door) -> None:
    """ours: a trailer comes after the gate has looked."""
    body = b"c\r\n" + BODY + b"\r\n0\r\nClient-Id: from-the-trailer\r\n\r\n"
    answer = await raw(door.address, post(door, "Transfer-Encoding: chunked", "Connection: close") + body)
    assert status_of(answer) in (201, 400)
    assert all(command.client_id is None for _, _, command in door.hub.calls)


@pytest.mark.parametrize(
    "lines", [["X: " + "a" * 40_000], [f"X-{number}: a" for number in range(200)], ["Cookie: " + "a=b; " * 20_000]]
)
async def test_a_head_too_large_is_refused(door: Door, lines: list[str]) -> None:
    """ours: S31."""
    answer = await raw(door.address, request(door.address, "/api/v1/me", *lines))
    assert status_of(answer) == 431


async def test_a_head_without_end_is_cut_by_its_size(door: Door) -> None:
    """ours: S31; each line is small and there is always one more."""
    door.web.doorway.head_within = 600.0  # so that it can't be cut for its time
    _, writer = await asyncio.open_connection(door.address.host, door.address.port)
    writer.write(b"GET / HTTP/1.1\r\n")
    async with asyncio.timeout(GUARD):
        try:
            while not writer.is_closing():
                writer.write(b"X-A: " + b"b" * 1000 + b"\r\n")
                await writer.drain()
                await asyncio.sleep(0)
        except (ConnectionResetError, BrokenPipeError):
            pass
    await leave(writer)


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"])
async def test_a_head_that_does_not_come_to_its_end_is_ended(hurried: Door, piece: bytes) -> None:
    """ours: S31, slowloris. The deadline is shortened, the clock is real."""
    answer = await raw(hurried.address, piece)
    assert status_of(answer) in (408, 0)


@pytest.mark.slow
async def test_a_kept_connection_has_the_same_deadline_for_its_next_request(hurried: Door) -> None:
    """ours: S31; blank lines between requests are no way to stay for ever."""
    reader, writer = await asyncio.open_connection(hurried.address.host, hurried.address.port)
    writer.write(request(hurried.address, "/api/v1/me", f"Authorization: Bearer {hurried.token}"))
    async with asyncio.timeout(GUARD / 2):
        assert status_of(await reader.readuntil(b"}")) == 200
        writer.write(b"\r\n")
        assert status_of(await reader.read()) == 408
    await leave(writer)


@pytest.mark.slow
async def test_a_body_that_stands_still_is_ended(hurried: Door) -> None:
    """ours: S31."""
    answer = await raw(hurried.address, post(hurried, "Content-Length: 100"), b'{"te')
    assert answer == b"" and hurried.hub.calls == []


@pytest.mark.slow
async def test_a_body_that_never_ends_is_ended(hurried: Door) -> None:
    reader, writer = await asyncio.open_connection(hurried.address.host, hurried.address.port)
    writer.write(post(hurried, "Content-Length: 1000000"))
    async with asyncio.timeout(GUARD):
        try:
            while not reader.at_eof():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.02)
        except (ConnectionResetError, BrokenPipeError):
            pass
    await leave(writer)
    assert hurried.hub.calls == []


async def test_a_body_too_large_is_refused_by_its_length_and_by_its_bytes(door: Door) -> None:
    """ours: S31; a prompt of 16 MiB goes through."""
    async with door.client(headers={**door.bearer, "Content-Type": "application/json"}) as client:
        large = b'{"text":"' + b"a" * (17 * 1024 * 1024) + b'"}'
        answer = await client.post("/api/v1/sessions/s-one/prompts", content=large)
        assert answer.status_code == 413 and answer.json()["code"] == "too_large"

        async def pieces() -> Any:
            for _ in range(18):
                yield b"a" * 1024 * 1024

        answer = await client.post("/api/v1/sessions/s-one/prompts", content=pieces())
        assert answer.status_code == 413 and door.hub.calls == []
        allowed = b'{"text":"' + b"a" * (16 * 1024 * 1024) + b'"}'
        assert (await client.post("/api/v1/sessions/s-one/prompts", content=allowed)).status_code == 201


async def test_a_stranger_with_a_large_body_is_refused_before_it_is_read(door: Door) -> None:
    """ours: S31; the answer comes after the head."""
    head = request(door.address, "/api/v1/sessions", "Content-Type: application/json", "Content-Length: 16000000", method="POST")
    assert status_of(await raw(door.address, head)) == 401


async def test_what_stands_behind_a_refused_request_is_not_read(door: Door) -> None:
    """ours: S31; a good token in the same bytes changes nothing, and is not even looked at."""
    asked = door.web.gate.asked
    good = request(door.address, "/api/v1/me", f"Authorization: Bearer {door.token}", "Connection: close")
    answer = await raw(door.address, request(door.address, "/api/v1/me") + good * 50)
    assert status_of(answer) == 401 and answer.count(b"HTTP/1.1") == 1
    assert door.web.gate.asked == asked + 1


async def test_requests_behind_one_that_is_answered_are_looked_at_one_by_one(door: Door) -> None:
    good = request(door.address, "/api/v1/me", f"Authorization: Bearer {door.token}")
    answer = await raw(door.address, good + request(door.address, "/api/v1/me") + good)
    assert [status_of(b"HTTP/1.1 " + part) for part in answer.split(b"HTTP/1.1 ")[1:]] == [200, 401]


async def test_strangers_make_no_task_and_no_socket(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: G23; a thousand of them cost what parsing their heads costs."""

    def made(*_: Any) -> None:
        raise AssertionError("made for a stranger")

    monkeypatch.setattr(HttpToolsProtocol, "_start_asgi_task", made)
    monkeypatch.setattr(wire.SocketWire, "__init__", made)
    for token in ((), ("Authorization: Bearer wrong",)):
        assert status_of(await raw(door.address, request(door.address, "/api/v1/me", *token))) == 401
        knock = await socket(door.address, *token)
        assert knock.status == 401
        await knock.close()


async def test_past_a_number_of_strangers_the_oldest_goes_and_the_honest_get_in(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: S31, G23; an open connection that says nothing holds no place."""
    monkeypatch.setattr(wire, "YOUNG", 20)
    idle = [await asyncio.open_connection(door.address.host, door.address.port) for _ in range(60)]
    async with door.client() as client:
        assert (await client.get("/api/v1/me")).status_code == 200
    async with asyncio.timeout(GUARD):
        for reader, _ in idle[:40]:
            with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
                await reader.readexactly(1)
    for _, writer in idle:
        await leave(writer)


async def test_an_upgrade_that_is_none_is_refused(door: Door) -> None:
    token = f"Authorization: Bearer {door.token}"
    for lines in (
        ["Upgrade: websocket", "Connection: Upgrade"],
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 7", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="],
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: short"],
        ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "X: " + "a" * 9000],
    ):
        assert status_of(await raw(door.address, request(door.address, "/api/v1/live", token, *lines))) in (400, 426, 0)


async def test_a_socket_elsewhere_is_refused(door: Door) -> None:
    knock = await socket(door.address, f"Authorization: Bearer {door.token}", target="/api/v1/sessions")
    assert knock.status == 404
    await knock.close()


async def test_other_upgrades_are_answered_as_plain_requests(door: Door) -> None:
    head = request(
        door.address, "/api/v1/me", f"Authorization: Bearer {door.token}", "Upgrade: h2c", "Connection: Upgrade, close"
    )
    assert status_of(await raw(door.address, head)) == 200
