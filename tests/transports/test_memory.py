"""What the played CLI offers to a test beyond the contract."""

from __future__ import annotations

import asyncio

import pytest

from ropewalk.errors import LocalProtocolError
from ropewalk.transports.memory import memory_pair
from tests.contract.listening import Ear
from tests.contract.rig import GRACES


async def test_a_conversation_reads_in_its_order() -> None:
    """ours: the shape of a user's own test."""
    transport, cli = memory_pair()
    await transport.start(ear := Ear())
    transport.send(b'{"ask": 1}\n{"ask": 2}\nhalf')
    assert await cli.hear_line() == b'{"ask": 1}\n'
    cli.say(b"one\n")
    assert await ear.hears(4) == b"one\n"
    assert await cli.hear_line() == b'{"ask": 2}\n'
    transport.close_input()
    assert await cli.hear_line() == b"half"
    assert await cli.hear_line() == b""
    assert (await ear.hears_the_end()).code == 0


async def test_what_is_said_can_be_cut_into_pieces() -> None:
    """ours: to test that a reader frames by lines, not by chunks."""
    transport, cli = memory_pair(chunk=3)
    await transport.start(ear := Ear())
    cli.say(b"12345678")
    await ear.hears(8)
    assert ear.pieces == [3, 3, 2]


async def test_what_was_said_before_the_start_is_heard_at_the_start() -> None:
    """ours: a script may be written down first. Also its end."""
    transport, cli = memory_pair()
    cli.say(b"early")
    cli.exit(2, ["bye"])
    await transport.start(ear := Ear())
    end = await ear.hears_the_end()
    assert (bytes(ear.heard), end.code, end.stderr) == (b"early", 2, ("bye",))
    assert await transport.stop() is end


async def test_one_that_does_not_read_leaves_what_is_sent_with_the_sender() -> None:
    """ours: to test what a client does when its CLI hangs."""
    transport, cli = memory_pair()
    cli.read_on(False)
    await transport.start(Ear())
    transport.send(b"0123456789")
    assert transport.unsent == 10
    assert await cli.hear(4) == b"0123"
    assert transport.unsent == 6
    cli.read_on()
    assert transport.unsent == 0
    assert await cli.hear(6) == b"456789"


async def test_nothing_is_heard_inside_the_call_that_said_it() -> None:
    """ours: as with a process, the loop brings it; a receiver that answers at once does not run into itself."""
    transport, cli = memory_pair()
    await transport.start(ear := Ear())
    cli.say(b"x")
    assert (bytes(ear.heard), cli.unheard) == (b"", 1)
    await ear.hears(1)
    assert cli.unheard == 0


async def test_a_link_can_be_lost_and_found_between_words() -> None:
    """ours: to test what a client does then, without a socket."""
    order: list[object] = []

    class Ordered(Ear):
        def data_received(self, data: bytes) -> None:
            order.append(data)

        def link_changed(self, up: bool) -> None:
            order.append(up)

    transport, cli = memory_pair()
    await transport.start(ear := Ordered())
    cli.say(b"before")
    cli.link(False)
    cli.link(True)
    cli.say(b"after")
    cli.exit()
    await ear.hears_the_end()
    assert order == [b"before", False, True, b"after"]


async def test_a_dead_one_can_not_speak() -> None:
    """ours: a script with a mistake says so."""
    transport, cli = memory_pair()
    await transport.start(Ear())
    cli.exit(0)
    cli.exit(1)
    with pytest.raises(LocalProtocolError, match="has exited"):
        cli.say(b"boo")
    assert (await transport.stop()).code == 0


@pytest.mark.slow
async def test_one_that_obeys_nothing_is_killed() -> None:
    """ours."""
    transport, cli = memory_pair(obeys=(), graces=GRACES)
    await transport.start(Ear())
    rungs: list[str] = []
    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(transport.stop(patience=0, on_rung=rungs.append))
        assert await cli.hear_end() == b""
    assert (stopping.result().code, rungs) == (-9, ["input closed", "terminate", "kill"])
