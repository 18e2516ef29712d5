"""Opening and closing the door."""

from __future__ import annotations

import asyncio
import shutil
import socket as sockets
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from ropewalk.config import Config
from ropewalk.errors import UsageError
from ropewalk.servers.web import open_web, server

from .conftest import Door, open_door
from .knock import GUARD, raw, request, socket, status_of


async def test_by_default_only_loopback_is_bound(door: Door) -> None:
    """ours: S12."""
    assert door.address.host == "127.0.0.1" and door.address.url == f"http://127.0.0.1:{door.address.port}"
    beyond = [str(found[4][0]) for found in sockets.getaddrinfo(sockets.gethostname(), None, sockets.AF_INET)]
    for address in {address for address in beyond if not address.startswith("127.")}:
        with pytest.raises(OSError):
            await asyncio.open_connection(address, door.address.port)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.net", "127.0.0.1.nip.io"])
async def test_another_address_without_encryption_is_refused_in_words(door: Door, host: str) -> None:
    """ours: S12."""
    with pytest.raises(UsageError, match="tls_cert and tls_key, or proxy = true"):
        async with open_web(door.hub, door.access, Config(home=door.config.home, host=host, port=0)):
            pass


async def test_a_port_that_is_taken_is_named_with_what_to_do(door: Door) -> None:
    """ours"""
    with pytest.raises(UsageError, match=rf"port {door.address.port} .* --port 0"):
        async with open_web(door.hub, door.access, Config(home=door.config.home, port=door.address.port)):
            pass


async def test_a_name_that_is_none_is_refused_at_the_start(door: Door) -> None:
    with pytest.raises(UsageError, match="no host name"):
        async with open_web(door.hub, door.access, Config(home=door.config.home, port=0, names=("hub.example:web",))):
            pass


async def test_a_proxy_may_be_declared(tmp_path: Path) -> None:
    """ours: S12; then names of the outside, secure cookies, and its word for who asks."""
    async with open_door(tmp_path / "home", host="0.0.0.0", proxy=True, names=("hub.example",)) as door:
        code = (await door.access.new_code()).code
        headers = {"Host": "hub.example", "Origin": "https://hub.example"}
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{door.address.port}", headers=headers, trust_env=False
        ) as client:
            answer = await client.post("/api/v1/signin", json={"code": code})
            assert answer.status_code == 200 and "; Secure" in answer.headers["set-cookie"]
            plain = await client.post("/api/v1/signin", json={"code": code}, headers={"Origin": "http://hub.example"})
            assert plain.status_code == 403


async def test_with_tls_it_is_https_and_the_cookie_is_bound_to_the_host(tmp_path: Path) -> None:
    """ours: S8, S12."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(key), "-out", str(cert)]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    async with open_door(tmp_path / "home", tls_cert=str(cert), tls_key=str(key)) as door:
        assert door.address.url.startswith("https://")
        trust = ssl.create_default_context(cafile=str(cert))
        async with httpx.AsyncClient(base_url=door.address.url, verify=trust, trust_env=False) as client:
            answer = await client.post("/api/v1/signin", json={"code": (await door.access.new_code()).code})
            cookie = answer.headers["set-cookie"]
            assert answer.status_code == 200 and cookie.startswith("__Host-ropewalk_")
            assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=strict", "Path=/"))
            assert "strict-transport-security" in answer.headers
            assert (await client.get("/api/v1/me")).status_code == 200
        assert status_of(await raw(door.address, request(door.address, "/"))) == 0


async def test_half_a_certificate_is_refused(door: Door) -> None:
    halves: list[dict[str, Any]] = [{"tls_cert": "/nowhere"}, {"tls_cert": "/nowhere", "tls_key": "/nowhere"}]
    for settings in halves:
        with pytest.raises(UsageError, match="tls_cert and tls_key"):
            async with open_web(door.hub, door.access, Config(home=door.config.home, port=0, **settings)):
                pass


async def test_a_stop_tells_pages_and_streams_and_never_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: F7 at the door; one page reads, one never does, one stream is open, one request hangs."""
    monkeypatch.setattr(server, "LEAVE_WITHIN", 0.3)
    async with open_door(tmp_path / "home") as door:
        token = f"Authorization: Bearer {door.token}"
        good, stalled = await socket(door.address, token), await socket(door.address, token, size=1024)
        stalled.send({"subscribe": "s-one"})
        await stalled.until("subscribed")
        stalled.writer.transport.pause_reading()  # type: ignore[attr-defined]
        door.hub.tell("s-one", "x" * 900_000)

        async def never(*_: Any, **__: Any) -> None:
            await asyncio.Event().wait()

        monkeypatch.setattr(door.hub, "runners", never)
        loop = asyncio.get_running_loop()
        hanging = loop.create_task(raw(door.address, request(door.address, "/api/v1/runners", token)))
        stream = loop.create_task(raw(door.address, request(door.address, "/api/v1/sessions/s-one/stream?after=1", token)))
        async with asyncio.timeout(GUARD):
            while len(door.web.doorway.tasks) < 4:
                await asyncio.sleep(0.01)
        good.send({"id": 1, "do": "interrupt", "session": "s-one"})
        await good.until("ack")
        began = loop.time()
    assert loop.time() - began < 5
    assert await good.message() == {"goodbye": "hub restarting"} and await good.closed() == (1012, "hub restarting")
    assert b"event: goodbye" in await stream
    await hanging
    await good.close()
    await stalled.close()
    with pytest.raises(OSError):
        await asyncio.open_connection(door.address.host, door.address.port)


async def test_answers_do_not_wait_for_acknowledgements_of_the_network(door: Door) -> None:
    """measured: an answer is two writes, and with Nagle's algorithm on the second waits 40 ms on loopback."""
    async with door.client() as client:
        await client.get("/api/v1/me")
        (connection,) = door.web.doorway.connections
        found = connection.transport.get_extra_info("socket")
        assert found.getsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY) == 1


async def test_the_port_is_free_again_at_once(tmp_path: Path) -> None:
    async with open_door(tmp_path / "home") as door:
        port = door.address.port
        async with door.client() as client:
            assert (await client.get("/api/v1/me")).status_code == 200
    async with open_door(tmp_path / "home", port=port) as door, door.client() as client:
        assert (await client.get("/api/v1/me")).status_code == 200
