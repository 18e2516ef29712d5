"""Server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from ropewalk.servers.web import sse

from .conftest import Door
from .knock import GUARD, leave, raw, request, status_of

STREAM = "/api/v1/sessions/s-one/stream"


@asynccontextmanager
async def reading(door: Door, target: str = STREAM, **headers: str) -> AsyncIterator[AsyncIterator[str]]:
    async with door.client() as client, client.stream("GET", target, headers=headers) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream"), answer.status_code
        yield answer.aiter_lines()


async def ids(lines: AsyncIterator[str], count: int) -> list[int]:
    found: list[int] = []
    async with asyncio.timeout(GUARD):
        async for line in lines:
            if line.startswith("id: "):
                found.append(int(line[4:]))
                if len(found) == count:
                    break
    return found


async def test_a_stream_tells_what_was_and_what_happens_with_the_seq_as_id(door: Door) -> None:
    """ours"""
    door.hub.tell("s-one", "one", "two")
    async with reading(door) as lines:
        assert await ids(lines, 2) == [1, 2]
        door.hub.tell("s-one", "three")
        assert await ids(lines, 1) == [3]


async def test_a_browser_that_comes_back_goes_on_after_its_last_id(door: Door) -> None:
    """ours: G11; Last-Event-ID counts more than ``after``, which the address still says."""
    door.hub.tell("s-one", "one", "two", "three")
    async with reading(door, f"{STREAM}?after=1") as lines:
        assert await ids(lines, 2) == [2, 3]
    async with reading(door, f"{STREAM}?after=0", **{"Last-Event-ID": "2"}) as lines:
        assert await ids(lines, 1) == [3]


@pytest.mark.parametrize("garbage", ["x", "-1", "1.5", "1e3", "\uff19", "9" * 30, "1 2", "0x10", "null"])
async def test_a_position_that_is_no_number_is_refused(door: Door, garbage: str) -> None:
    """ours: F24; never 500."""
    async with door.client() as client:
        answer = await client.get(STREAM, headers={b"Last-Event-ID": garbage.encode()})
        assert answer.status_code == 400 and answer.json()["code"] == "wrong_position"
        assert (await client.get(f"{STREAM}?after=x")).status_code == 422


async def test_a_stream_of_nothing_is_a_problem(door: Door) -> None:
    async with door.client() as client:
        answer = await client.get("/api/v1/sessions/nowhere/stream")
        assert answer.status_code == 404 and answer.headers["content-type"] == "application/problem+json"


async def test_a_silent_stream_shows_that_it_lives(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: the interval is shortened here and at most 15 s there."""
    assert sse.KEEP_ALIVE <= 15
    monkeypatch.setattr(sse, "KEEP_ALIVE", 0.1)
    async with reading(door) as lines, asyncio.timeout(GUARD):
        async for line in lines:
            if line.startswith(":"):
                break


async def test_live_words_have_no_id(door: Door) -> None:
    """ours: they are no history."""
    async with reading(door) as lines:
        await anext(lines)
        door.hub.tell_live("s-one", "wor")
        async with asyncio.timeout(GUARD):
            block = [line async for line in _block(lines)]
        assert block[0] == "event: live" and '"wor"' in block[1]


async def _block(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        if line.startswith(("event:", "data:")):
            yield line
        if line.startswith("data:"):
            return


async def test_leaving_unsubscribes(door: Door) -> None:
    """ours"""
    async with reading(door) as lines:
        await anext(lines)
        assert len(door.hub.ears["s-one"]) == 1
    async with asyncio.timeout(GUARD):
        while door.hub.ears["s-one"]:
            await asyncio.sleep(0.01)


async def test_a_reader_that_never_reads_is_cut_and_delays_nobody(door: Door) -> None:
    """ours: F24, G12."""
    _, writer = await asyncio.open_connection(door.address.host, door.address.port, limit=1024)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(request(door.address, STREAM, f"Authorization: Bearer {door.token}"))
    async with asyncio.timeout(GUARD):
        while not door.hub.ears["s-one"]:
            await asyncio.sleep(0.01)
        while door.hub.ears["s-one"]:
            door.hub.tell("s-one", "x" * 65536)
            await asyncio.sleep(0)
        async with door.client() as client:
            while "ropewalk_event_streams 0" not in (await client.get("/api/v1/metrics")).text:
                await asyncio.sleep(0.05)
    await leave(writer)


async def test_a_revoked_readers_stream_ends(door: Door) -> None:
    """ours: S9."""
    made = await door.access.new_token("a", ["watch"])
    bearer = {"Authorization": f"Bearer {made.token}"}
    async with door.client(headers=bearer) as client, client.stream("GET", STREAM) as answer:
        lines = answer.aiter_lines()
        await anext(lines)
        await door.access.revoke(made.id)
        with pytest.raises(httpx.RemoteProtocolError):
            async with asyncio.timeout(5):
                async for _ in lines:
                    pass


async def test_a_stream_needs_a_token(door: Door) -> None:
    assert status_of(await raw(door.address, request(door.address, STREAM))) == 401
