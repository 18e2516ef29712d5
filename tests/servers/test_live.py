"""The live socket: subscriptions, commands, slow and rude listeners."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import pytest

from ropewalk.events import commands as c

from .conftest import Door
from .knock import GUARD, Socket, socket


async def page_of(door: Door, **settings: Any) -> Socket:
    page = await socket(door.address, f"Authorization: Bearer {door.token}", **settings)
    assert page.status == 101
    return page


async def subscribed(door: Door, session: str = "s-one", after: int = 0, **settings: Any) -> Socket:
    page = await page_of(door, **settings)
    page.send({"subscribe": session, "after": after})
    await page.until("subscribed")
    return page


async def test_a_subscription_tells_what_was_and_what_happens_each_once(door: Door) -> None:
    """ours: G11 at the door; the hub's order is kept, and the bytes are the stored ones."""
    door.hub.tell("s-one", "one", "two", "three")
    page = await page_of(door)
    page.send({"subscribe": "s-one", "after": 1})
    assert [event["seq"] for event in (await page.message())["events"]] == [2, 3]
    assert await page.message() == {"subscribed": "s-one"}
    door.hub.tell("s-one", "four")
    _, payload = await page.frame()
    assert payload == b'{"session":"s-one","events":[' + door.hub.logs["s-one"][3][1] + b"]}"
    door.hub.tell_live("s-one", "fo")
    assert (await page.message())["live"][0]["text"] == "fo"
    page.send({"unsubscribe": "s-one"})
    page.send({"ping": 1})
    assert await page.message() == {"pong": 1}
    door.hub.tell("s-one", "five")
    page.send({"ping": 2})
    assert await page.message() == {"pong": 2} and door.hub.ears["s-one"] == []
    await page.close()


async def test_one_socket_hears_many_sessions_and_the_inbox(door: Door) -> None:
    """ours: one connection a page, not one a widget."""
    door.hub.add("s-two")
    page = await subscribed(door)
    page.send({"subscribe": "s-two"})
    await page.until("subscribed")
    page.send({"subscribe_all": True})
    await page.until("subscribed_all")
    door.hub.tell("s-two", "x")
    assert (await page.message())["session"] == "s-two"
    assert (await page.message())["all"] is True
    door.hub.ask()
    assert (await page.message())["events"][0]["kind"] == "question_opened"
    page.send({"subscribe_all": False})
    page.send({"ping": 1})
    await page.until("pong")
    assert door.hub.all_ears == []
    await page.close()


async def test_leaving_unsubscribes(door: Door) -> None:
    """ours: a closed tab costs nothing."""
    page = await subscribed(door)
    assert len(door.hub.ears["s-one"]) == 1
    await page.close()
    async with asyncio.timeout(GUARD):
        while door.hub.ears["s-one"]:
            await asyncio.sleep(0.01)


async def test_commands_are_acknowledged_by_their_ids_with_their_results(door: Door) -> None:
    """ours: every action has an id and an answer."""
    page = await page_of(door)
    page.send({"id": "a", "do": "prompt", "session": "s-one", "body": {"text": "hi", "client_id": "1"}})
    first = await page.until("ack")
    page.send({"id": 7, "do": "prompt", "session": "s-one", "body": {"text": "hi", "client_id": "1"}})
    again = await page.until("ack")
    assert first["ok"] and again["ok"] and again["ack"] == 7 and first["result"]["id"] == again["result"]["id"]
    page.send({"id": 8, "do": "prompt", "session": "s-one", "body": {"text": "other", "client_id": "1"}})
    assert (await page.until("ack"))["problem"]["status"] == 422
    question = door.hub.ask().id
    page.send({"id": 9, "do": "answer", "question": question, "body": {"behavior": "allow"}})
    assert (await page.until("ack"))["result"]["state"] == "answered"
    page.send({"id": 10, "do": "answer", "question": question, "body": {"behavior": "deny"}})
    late = (await page.until("ack"))["problem"]
    assert (late["status"], late["code"], late["by"]) == (409, "already_answered", "Mia")
    page.send({"id": 11, "do": "control", "session": "s-one", "body": {"subtype": "set_model", "model": "x"}})
    assert (await page.until("ack"))["ok"]
    assert door.hub.calls[-1][2] == c.Control(subtype="set_model", fields={"model": "x"})
    await page.close()


WRONG = [
    ({"id": 1, "do": "dance"}, 404),
    ({"id": 1, "do": "prompt", "body": {}}, 422),
    ({"id": 1, "do": "prompt", "session": "nowhere", "body": {"text": "x"}}, 404),
    ({"id": 1, "do": "prompt", "session": "s-one", "body": {"text": 5}}, 422),
    ({"id": 1, "do": "prompt", "session": "s-one", "body": {"txt": "x"}}, 422),
    ({"id": 1, "do": "stop", "session": "s-one", "body": {"patience": "5"}}, 422),
    ({"subscribe": "nowhere"}, 404),
    ({"subscribe": 5}, 422),
    ({"hello": 1}, 400),
    ([], 422),
    (5, 422),
]


@pytest.mark.parametrize(("said", "status"), WRONG)
async def test_what_can_not_be_meant_is_said_and_the_socket_stays(door: Door, said: Any, status: int) -> None:
    """ours: S35 holds here too."""
    page = await page_of(door)
    page.send(said)
    found = (await page.until("problem"))["problem"]
    assert found["status"] == status and found["detail"].endswith(".")
    assert not any(word in json.dumps(found) for word in ("Traceback", "/src/", "msgspec", "litestar"))
    page.send({"ping": 1})
    assert await page.message() == {"pong": 1}
    await page.close()


async def test_a_fault_behind_the_door_is_a_sentence_without_its_reason(door: Door) -> None:
    """ours: S35."""
    door.hub.fault = RuntimeError("SELECT secret FROM /home/mia/ropewalk.db")
    page = await page_of(door)
    page.send({"id": 1, "do": "interrupt", "session": "s-one"})
    found = (await page.until("ack"))["problem"]
    assert found["status"] == 500 and "SELECT" not in json.dumps(found) and "mia" not in json.dumps(found)
    await page.close()


async def test_a_slow_command_holds_up_no_other(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: an interrupt does not wait behind a stop."""
    released = asyncio.Event()

    async def slow(*_: Any) -> None:
        await released.wait()

    monkeypatch.setattr(door.hub, "stop", slow)
    page = await page_of(door)
    page.send({"id": 1, "do": "stop", "session": "s-one"})
    page.send({"id": 2, "do": "interrupt", "session": "s-one"})
    assert (await page.until("ack"))["ack"] == 2
    released.set()
    assert (await page.until("ack"))["ack"] == 1
    for number in range(40):
        released.clear()
        page.send({"id": number, "do": "stop", "session": "s-one"})
    assert (await page.until("ack"))["problem"]["code"] == "too_many_commands"
    released.set()
    await page.close()


async def test_a_listener_that_does_not_read_is_cut_and_comes_back_whole_while_others_hear_all(door: Door) -> None:
    """ours: G12 at the door."""
    stalled = await subscribed(door, size=1024)
    stalled.writer.transport.pause_reading()  # type: ignore[attr-defined]
    other = await subscribed(door)
    heard = 0
    for _ in range(200):
        door.hub.tell("s-one", "x" * 65536)
        heard += len((await other.message())["events"])
    assert heard == 200 and len(door.hub.ears["s-one"]) == 1
    stalled.writer.transport.resume_reading()  # type: ignore[attr-defined]
    seen: list[int] = []
    opcode, payload = await stalled.frame()
    while opcode == 1:
        seen += [event["seq"] for event in json.loads(payload)["events"]]
        opcode, payload = await stalled.frame()
    assert (opcode, payload) == (8, (4008).to_bytes(2, "big") + b"behind: resume")
    back = await subscribed(door, after=seen[-1]) if seen[-1] == 200 else await page_of(door)
    if seen[-1] < 200:
        back.send({"subscribe": "s-one", "after": seen[-1]})
        seen += [event["seq"] for event in (await back.message())["events"]]
    assert seen == list(range(1, 201))
    for page in (stalled, other, back):
        await page.close()


async def test_a_listener_cut_off_that_never_reads_again_is_gone_soon(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: F20; a close frame behind a full buffer would wait for ever."""
    monkeypatch.setattr("ropewalk.servers.web.wire.FAREWELL", 0.2)
    stalled = await subscribed(door, size=1024)
    stalled.writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with door.client() as client, asyncio.timeout(GUARD):
        while door.hub.ears["s-one"]:
            door.hub.tell("s-one", "x" * 65536)
            await asyncio.sleep(0)
        while "ropewalk_live_sockets 0" not in (await client.get("/api/v1/metrics")).text:
            await asyncio.sleep(0.05)
    await stalled.close()


RUDE = {
    "a reserved bit": ((0xC1, b"{}"), 1002),
    "an unknown opcode": ((0x83, b"{}"), 1002),
    "a continuation of nothing": ((0x80, b"{}"), 1002),
    "a long ping": ((0x89, b"x" * 200), 1002),
    "a close of one byte": ((0x88, b"x"), 1002),
    "no UTF-8": ((0x81, b"\xff\xfe"), 1007),
}


@pytest.mark.parametrize("case", RUDE)
async def test_a_malformed_frame_ends_its_socket_with_the_right_code_and_no_other(door: Door, case: str) -> None:
    """ours: F22, frames written by hand."""
    other = await subscribed(door)
    rude = await page_of(door)
    (first, payload), code = RUDE[case]
    rude.send_frame(first, payload)
    assert (await rude.closed())[0] == code
    door.hub.tell("s-one", "still here")
    assert (await other.message())["session"] == "s-one"
    await rude.close()
    await other.close()


async def test_an_unmasked_or_oversized_message_ends_its_socket(door: Door) -> None:
    """ours: F22."""
    unmasked = await page_of(door)
    unmasked.writer.write(b"\x81\x02{}")
    assert (await unmasked.closed())[0] == 1002
    large = await page_of(door)
    large.writer.write(b"\x81\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0")
    assert (await large.closed())[0] == 1009
    await unmasked.close()
    await large.close()


async def test_a_message_fragmented_for_ever_is_ended_by_its_size(door: Door) -> None:
    """ours: F22."""
    page = await page_of(door)
    page.send_frame(0x01, b" " * 65536)
    async with asyncio.timeout(GUARD):
        try:
            for _ in range(300):
                page.send_frame(0x00, b" " * 65536)
                await page.writer.drain()
        except ConnectionError:
            pass
        assert (await page.closed())[0] in (1009, 0)
    await page.close()


async def test_compression_is_not_agreed_to(door: Door) -> None:
    """ours: F22; no compression, no bomb, and one frame for all."""
    page = await page_of(door)
    await page.close()
    page = await socket(door.address, f"Authorization: Bearer {door.token}", "Sec-WebSocket-Extensions: permessage-deflate")
    assert page.status == 101 and b"permessage-deflate" not in page.head.lower()
    await page.close()


async def test_a_peer_that_answers_no_ping_is_cut(door: Door, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: half-open connections are found."""
    page = await page_of(door)
    page.reader._transport.pause_reading()  # type: ignore[attr-defined]
    wires = [connection for connection in _connections(door) if type(connection).__name__ == "SocketWire"]
    monkeypatch.setattr(wires[0], "ping_timeout", 0.1)
    wires[0].send_keepalive_ping()
    async with door.client() as client, asyncio.timeout(GUARD):
        while "ropewalk_live_sockets 0" not in (await client.get("/api/v1/metrics")).text:
            await asyncio.sleep(0.05)
    await page.close()


def _connections(door: Door) -> Any:
    return door.web.doorway.connections


@pytest.mark.slow
async def test_a_thousand_upgrades_without_a_token_change_nothing(door: Door) -> None:
    """ours: G23; each is refused, and afterwards nothing is left of them."""
    for _ in range(10):
        knocks = await asyncio.gather(*(socket(door.address) for _ in range(100)))
        assert {knock.status for knock in knocks} == {401}
        for knock in knocks:
            await knock.close()
    page = await subscribed(door)
    door.hub.tell("s-one", "x")
    assert (await page.message())["session"] == "s-one"
    async with asyncio.timeout(GUARD):
        while len(_connections(door)) > 1 or door.web.doorway.tasks - _tasks_of_pages(door):
            await asyncio.sleep(0.01)
    await page.close()


def _tasks_of_pages(door: Door) -> set[Any]:
    return set(list(door.web.doorway.tasks)[:1])


async def test_many_listeners_share_one_frame(door: Door) -> None:
    """ours: an event is put into a frame once, however many listen."""
    async with AsyncExitStack() as stack:
        pages = []
        for _ in range(50):
            page = await subscribed(door)
            stack.push_async_callback(page.close)
            pages.append(page)
        door.hub.tell("s-one", "x")
        frames = {(await page.frame())[1] for page in pages}
        assert len(frames) == 1
