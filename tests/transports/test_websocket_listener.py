"""The listener over real sockets, a scripted CLI on the other side: what comes in, what goes out, what is refused."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Opcode

from ropewalk.transports.websocket import listener as listener_module
from ropewalk.transports.websocket import peer as peer_module
from ropewalk.transports.websocket.link import State
from ropewalk.transports.websocket.posted import MAX_BODY
from tests.contract.listening import GUARD, until
from tests.demand import demand
from tests.transports.websocket_cli import DeafCli, House, abort, open_house, post_head


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with open_house() as opened:
        yield opened


async def up(house: House, links: int = 1) -> None:
    await until(lambda: sum(link in ("came", "again") for link in house.audience.links) >= links, f"link {links}")


async def down(house: House) -> None:
    await until(lambda: house.link.state is State.DOWN, "the loss of the link")


# Lines both ways


async def test_lines_go_both_ways(house: House) -> None:
    """measured (2.1.37 … 2.1.120): the CLI dials, we speak first, each frame of ours ends with a newline."""
    house.send(b"one\n")
    async with house.dial() as cli:
        assert await cli.recv() == "one\n"
        await cli.send("answer\n")
        await house.audience.hears(b"answer\n")
        house.send(b"two\n")
        assert await cli.recv() == "two\n"
        await until(lambda: house.link.unsent == 0, "the confirmation")


@demand("001-20")
async def test_lines_arrive_the_same_however_they_are_framed(house: House) -> None:
    """seed: several lines in a frame, one line over several frames (messages and fragments), blank lines."""
    async with house.dial() as cli:
        await cli.send("a\nb\n\nc\nhalf ")
        await cli.send("of it\n")
        await cli.send(["frag", "men", "ted\nand", " more\n"])
        await cli.send(b"binary\n")
        await house.audience.hears(b"a\nb\n\nc\nhalf of it\nfragmented\nand more\nbinary\n")


@pytest.mark.slow
async def test_a_line_longer_than_any_cap_does_not_break_the_link(house: House) -> None:
    """ours: the reader of lines drops it and says so; the session lives."""
    line = b"x" * (65 * 1024 * 1024) + b"\n"
    async with house.dial() as cli:
        await cli.send(line)
        await cli.send(b"next\n")
        await until(lambda: house.audience.heard.endswith(b"next\n"), "the line after it")
        assert len(house.audience.heard) == len(line) + 5


async def test_what_the_cli_says_of_itself_is_kept(house: House) -> None:
    """seed."""
    async with house.dial(x_environment_runner_version="1.2", x_last_request_id="u1"):
        await up(house)
        assert house.link.dial is not None
        assert (house.link.dial.runner_version, house.link.dial.last_request_id) == ("1.2", "u1")


# Who is let in


@pytest.mark.parametrize("token", ["", "wrong", "a-token-of-this-session2"])
async def test_a_dial_without_the_token_is_refused_logged_and_changes_nothing(
    house: House, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    """seed: 401; the link that is up goes on."""
    async with house.dial() as cli:
        await up(house)
        dial = house.link.dial
        with caplog.at_level(logging.WARNING), pytest.raises(InvalidStatus) as refused:
            await house.dial(token)
        assert refused.value.response.status_code == 401
        assert "401" in caplog.text and "a-token" not in caplog.text
        assert (house.link.dial, house.audience.links) == (dial, ["came"])
        await cli.send("still here\n")
        await house.audience.hears(b"still here\n")


@pytest.mark.parametrize("token", ["", "a-token-of-this-session"])
async def test_a_web_page_is_refused_with_and_without_the_token(house: House, token: str) -> None:
    """ours: the hole of CVE-2025-52882 was a socket on loopback that any page could open."""
    with pytest.raises(InvalidStatus) as refused:
        await house.dial(token, origin="https://evil.example")
    assert refused.value.response.status_code == 403
    assert house.link.state is State.WAITING


@pytest.mark.parametrize(
    ("request_head", "status"),
    [
        (b"GET /v1/ws/s1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-token-of-this-session\r\n\r\n", 426),
        (b"GET /other HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a-token-of-this-session\r\n\r\n", 404),
        (b"GET /v1/ws/s1 HTTP/1.1\r\nHost: rebound.example\r\nAuthorization: Bearer a-token-of-this-session\r\n\r\n", 403),
        (b"GET /v1/ws/s1 HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 17000, 431),
        (b"HELO me\r\n\r\n", 400),
    ],
)
async def test_what_is_no_dial_gets_a_status_and_is_cut(house: House, request_head: bytes, status: int) -> None:
    """ours."""
    async with house.connection() as raw:
        raw.writer.write(request_head)
        assert await raw.status() == status
        assert await raw.is_cut()
    assert house.link.state is State.WAITING


async def test_one_who_says_nothing_is_cut_after_a_while(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: a head takes 10 s at most; here a tenth of one."""
    monkeypatch.setattr(peer_module, "HEAD_DEADLINE", 0.1)
    async with house.connection() as raw:
        raw.writer.write(b"GET /v1/ws/s1 HT")
        assert await raw.is_cut()


async def test_strangers_are_few_and_can_not_lock_the_cli_out(house: House) -> None:
    """ours: one more than 16 pushes out the oldest."""
    async with AsyncExitStack() as stack:
        strangers = [await stack.enter_async_context(house.connection()) for _ in range(40)]
        async with house.dial() as cli:
            await cli.send("in\n")
            await house.audience.hears(b"in\n")
        for early in strangers[:20]:
            assert await early.is_cut()
        assert len(house.listener._strangers) <= listener_module.MAX_STRANGERS


async def test_connections_that_hold_the_token_are_bounded_too_and_the_link_is_never_the_one_to_go(house: House) -> None:
    """ours: a hybrid CLI posts over one or two; more than 32 are somebody's mistake."""
    async with house.dial() as cli, AsyncExitStack() as stack:
        await up(house)
        for number in range(listener_module.MAX_KNOWN + 8):
            raw = await stack.enter_async_context(house.connection())
            assert await raw.post({"uuid": str(number)}) == 200
        assert house.listener.connections <= listener_module.MAX_KNOWN
        async with asyncio.timeout(GUARD):
            await (await cli.ping())
        assert house.audience.links == ["came"]


# Links that break


async def test_a_ping_is_answered(house: House) -> None:
    """measured (2.1.37, 2.1.62): every 10 s, empty; without a pong the CLI dials anew."""
    async with house.dial() as cli:
        async with asyncio.timeout(GUARD):
            await (await cli.ping(b""))


async def test_one_that_answers_no_ping_loses_its_link() -> None:
    """ours: two rounds without a sign of life."""
    async with open_house(beat=0.05) as house, house.connection() as raw:
        cli = await DeafCli.dial(raw, house.port)
        assert len(await cli.frames(Opcode.PING, 2)) == 2
        await down(house)
        assert house.audience.links == ["came", "went: the CLI answers no ping"]


async def test_one_that_answers_pings_keeps_its_link() -> None:
    """ours."""
    async with open_house(beat=0.02) as house, house.connection() as raw:
        cli = await DeafCli.dial(raw, house.port)
        for _ in range(10):
            for payload in await cli.frames(Opcode.PING):
                cli.pong(payload)
        assert house.audience.links == ["came"]


async def test_what_is_sent_while_the_link_is_down_waits_for_the_next(house: House) -> None:
    """seed, measured: the CLI dials again within seconds; nothing of ours is lost meanwhile."""
    async with house.dial() as cli:
        await up(house)
        await abort(cli)
        await down(house)
    house.send(b"while down\n")
    async with house.dial() as again:
        assert await again.recv() == "while down\n"
    assert house.audience.links[0] == "came" and house.audience.links[2] == "again"


async def test_what_waits_goes_out_before_what_the_owner_says_of_the_new_link(house: House) -> None:
    """ours: a second initialize, said on the new link, then lists the questions that are open after our answers."""
    house.audience.on_come = [b"initialize\n"]
    async with house.dial() as cli:
        await up(house)
        await abort(cli)
        await down(house)
    house.send(b"an answer\n")
    async with house.dial() as again:
        assert await again.recv() == "an answer\n"
        assert await again.recv() == "initialize\n"


async def test_what_was_written_to_a_link_that_broke_is_not_repeated_by_us(house: House) -> None:
    """measured (2.1.37): an allow that comes twice can run its tool twice; the owner knows what may be repeated."""
    async with house.connection() as raw:
        cli = await DeafCli.dial(raw, house.port)
        house.send(b"heard\n")
        assert await cli.frames(Opcode.TEXT) == [b"heard\n"]
        cli.pong(house.link.mark)
        await until(lambda: house.link.unsent == 0, "the confirmation")
        house.send(b"in doubt\n")
        assert await cli.frames(Opcode.TEXT) == [b"in doubt\n"]
        assert house.link.unsent == 9
        cli.drop()
        await down(house)
        assert (house.link.in_doubt, house.link.unsent) == (9, 9)
    async with house.dial() as again:
        await up(house, 2)
        assert house.link.unsent == 0
        house.send(b"new\n")
        assert await again.recv() == "new\n"


async def test_a_newer_dial_takes_the_place_of_the_older(house: House) -> None:
    """measured (2.1.62): after a missed pong the CLI dials anew; the older socket may live on for minutes."""
    async with house.connection() as raw:
        await DeafCli.dial(raw, house.port)
        async with house.dial() as newer:
            house.send(b"to the newer\n")
            assert await newer.recv() == "to the newer\n"
            assert await raw.is_cut()
            await newer.send("hello\n")
            await house.audience.hears(b"hello\n")
    assert house.audience.links[:3] == ["came", "went: the CLI dialled in again", "again"]


async def test_a_line_that_a_broken_link_cut_never_runs_into_the_next_one(house: House) -> None:
    """ours."""
    async with house.dial() as cli:
        await cli.send('{"whole":1}\n{"ha')
        await house.audience.hears(b'{"whole":1}\n{"ha')
        await abort(cli)
        await down(house)
    async with house.dial() as again:
        await again.send('{"next":1}\n')
        await house.audience.hears(b'{"whole":1}\n{"ha\n{"next":1}\n')


async def test_a_frame_that_never_ends_is_cut_with_its_link(house: House) -> None:
    """ours: WebSocket delivers whole frames only."""
    async with house.connection() as raw:
        cli = await DeafCli.dial(raw, house.port)
        cli.send(b"first\n")
        raw.writer.write(b"\x81\xfe\x10\x00\x00\x00\x00\x00" + b"x" * 100)
        await house.audience.hears(b"first\n")
        cli.drop()
        await down(house)
    async with house.dial() as again:
        await again.send("next\n")
        await house.audience.hears(b"first\nnext\n")


async def test_broken_frames_cost_the_link_and_nothing_else(house: House) -> None:
    """ours: an unmasked frame is against the rules."""
    async with house.connection() as raw:
        await DeafCli.dial(raw, house.port)
        raw.writer.write(b"\x81\x05hello")
        assert await raw.is_cut()
    await down(house)
    assert "broke the rules" in house.audience.links[1]


# A receiver or a CLI that does not read


async def test_while_paused_pings_are_answered_and_lines_held(house: House) -> None:
    """ours: a link that is left unread would be dialled anew within 20 s, and old CLIs lose lines then."""
    async with house.dial() as cli:
        await up(house)
        house.listener.pause()
        await cli.send("held\n")
        async with asyncio.timeout(GUARD):
            await (await cli.ping())
        assert house.audience.heard == b""
        house.listener.resume()
        await house.audience.hears(b"held\n")


async def test_a_cli_that_does_not_read_costs_no_more_than_what_was_sent(house: House) -> None:
    """ours: beyond what the kernel takes, lines wait in one place, in order."""
    async with house.connection() as raw:
        cli = await DeafCli.dial(raw, house.port)
        lines = [b"%d" % number + b"x" * 100_000 + b"\n" for number in range(200)]
        for line in lines:
            house.send(line)
        assert house.link.unsent == sum(map(len, lines))
        assert b"".join(await cli.frames(Opcode.TEXT, 200)) == b"".join(lines)


# Hybrid


async def test_posted_events_are_lines_verbatim_and_in_order(house: House) -> None:
    """measured (2.1.37 … 2.1.120): {"events": [line, …]}, one or several, over a connection that stays open."""
    first, second = rb'{"type":"assistant", "uuid":"1","n":1.0, "t":"\ud83d"}', b'{"uuid":"2"}'
    async with house.connection() as raw:
        assert await raw.post(body=b'{"events":[' + first + b"," + second + b"]}") == 200
        assert await raw.post({"uuid": "3"}) == 200
    await house.audience.hears(first + b"\n" + second + b'\n{"uuid": "3"}\n')


async def test_a_body_in_many_pieces_and_two_requests_in_one_are_read_right(house: House) -> None:
    """ours."""
    body = b'{"events":[{"uuid":"1"}]}'
    async with house.connection() as raw:
        for byte in post_head(len(body)) + body:
            raw.writer.write(bytes([byte]))
            await raw.writer.drain()
        assert await raw.status() == 200
        other = body.replace(b"1", b"2")
        raw.writer.write(post_head(len(other)) + other + post_head(len(body)) + body)
        assert [await raw.status(), await raw.status()] == [200, 200]
    await house.audience.hears(b'{"uuid":"1"}\n{"uuid":"2"}\n')


async def test_an_event_posted_again_after_a_lost_reply_is_handled_once(house: House) -> None:
    """seed: sent again up to ten times; measured (2.1.37, 2.1.62): the same body, until it hears 2xx."""
    question = {"type": "control_request", "request_id": "q1"}
    async with house.connection() as raw:
        body = json.dumps({"events": [question]}).encode()
        raw.writer.write(post_head(len(body)) + body)
        await until(lambda: house.audience.heard, "the event")
        raw.writer.transport.abort()
    for _ in range(3):
        assert await house.post(question) == 200
    assert await house.post(question, {"type": "result", "uuid": "u1"}) == 200
    await house.audience.hears(b'{"type": "control_request", "request_id": "q1"}\n{"type": "result", "uuid": "u1"}\n')


async def test_lines_are_posted_also_while_the_link_is_down(house: House) -> None:
    """measured (2.1.37, 2.1.62): the POST path does not depend on the socket."""
    async with house.dial() as cli:
        await up(house)
        await abort(cli)
        await down(house)
    assert await house.post({"uuid": "1"}) == 200
    await house.audience.hears(b'{"uuid": "1"}\n')


@pytest.mark.parametrize("body", [b"", b"not json", b'{"events":{}}', b'{"events":[1]}'])
async def test_a_malformed_body_is_400_and_nothing_is_taken(house: House, body: bytes) -> None:
    """ours."""
    assert await house.post(body=body) == 400
    assert house.audience.heard == b""


async def test_a_post_without_the_token_is_401_and_its_body_is_not_read(house: House) -> None:
    """seed: the same token check."""
    async with house.connection() as raw:
        raw.writer.write(post_head(MAX_BODY, "wrong"))
        assert await raw.status() == 401
    assert house.audience.heard == b""


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (post_head(MAX_BODY + 1), 413),
        (post_head(10**30), 413),
        (post_head(None), 411),
        (post_head(None, more="Transfer-Encoding: chunked\r\n"), 411),
        (post_head(5, more="Transfer-Encoding: chunked\r\n"), 411),
        (post_head(None, more="Content-Length: -5\r\n"), 411),
    ],
)
async def test_a_body_too_long_or_of_unknown_length_is_refused_by_its_head(house: House, head: bytes, status: int) -> None:
    """ours: 64 MiB for a line and room for its envelope."""
    async with house.connection() as raw:
        raw.writer.write(head + b"x" * 200_000)
        assert await raw.status() == status


async def test_one_who_asks_before_sending_a_long_body_is_told_to_go_on(house: House) -> None:
    """ours: Expect: 100-continue."""
    async with house.connection() as raw:
        raw.writer.write(post_head(13, more="Expect: 100-continue\r\n"))
        assert await raw.status() == 100
        raw.writer.write(b'{"events":[]}')
        assert await raw.status() == 200


# The end


async def test_goodbye_comes_after_everything_and_the_next_dial_is_refused(house: House) -> None:
    """measured: 4001 ends 2.1.62 and 2.1.120 at once; 2.1.37 dials again, is refused, and ends within 5 s."""
    async with house.dial() as cli:
        await up(house)
        house.link.send(b"last\n")
        house.link.close()
        house.listener.flush()
        assert await cli.recv() == "last\n"
        with pytest.raises(ConnectionClosed) as closed:
            await cli.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4001
    with pytest.raises(InvalidStatus) as refused:
        await house.dial()
    assert refused.value.response.status_code == 503


async def test_one_that_is_away_when_we_end_hears_goodbye_when_it_comes_back(house: House) -> None:
    """ours: 2.1.62 would dial for ten minutes if nobody told it."""
    house.link.send(b"last\n")
    house.link.close()
    async with house.dial() as cli:
        assert await cli.recv() == "last\n"
        with pytest.raises(ConnectionClosed) as closed:
            await cli.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 4001
