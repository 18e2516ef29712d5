"""How the loop tells what was stored: in order, and without holding up others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from ropewalk.store.base import Entry, Health, Stored
from ropewalk.store.delivery import Delivery, Pending, Told
from ropewalk.turns import SLICE

WELL = Health("well", "", 0.0)


def _told(number: int, heard: Callable[[int], None]) -> Told:
    entry = Entry(keep=True, on_stored=lambda _: heard(number))
    return Pending(entry, 0), Stored(entry, [])


def _slow(heard: list[object]) -> Callable[[int], None]:
    """Who hears it takes as long as one turn of the loop may take."""

    def hear(number: int) -> None:
        heard.append(number)
        until = time.monotonic() + 1.5 * SLICE
        while time.monotonic() < until:
            pass

    return hear


async def _until(heard: list[object], count: int) -> None:
    async with asyncio.timeout(30):
        while len(heard) < count:
            await asyncio.sleep(0)


async def test_others_have_the_loop_while_a_large_commit_is_told_and_its_order_is_kept() -> None:
    """ours: an interrupt waits for a slice of what is told, not for all of it."""
    heard: list[object] = []
    delivery = Delivery(1)
    asyncio.get_running_loop().call_soon(heard.append, "interrupt")
    delivery.tell([_told(number, _slow(heard)) for number in range(5)])
    delivery.tell([_told(number, _slow(heard)) for number in range(5, 8)])
    await _until(heard, 9)
    assert [one for one in heard if one != "interrupt"] == list(range(8))
    assert heard.index("interrupt") <= 2


async def test_health_is_heard_of_after_what_was_told_before() -> None:
    """ours: whoever hears that the disk is well again has heard what it stored."""
    heard: list[object] = []
    delivery = Delivery(1)
    delivery.watch(heard.append, None)
    delivery.tell([_told(number, _slow(heard)) for number in range(3)])
    delivery.feel(WELL)
    await _until(heard, 4)
    assert heard == [0, 1, 2, WELL]


async def test_a_closed_store_tells_all_at_once() -> None:
    """ours: after its end the loop may not turn again."""
    heard: list[object] = []
    delivery = Delivery(1)
    delivery.tell([_told(number, _slow(heard)) for number in range(3)])
    delivery.closed = True
    delivery.tell([_told(3, heard.append)])
    assert heard == [0, 1, 2, 3]


async def test_a_listener_that_raises_does_not_end_the_telling() -> None:
    """ours: one session's fault is not another's silence."""
    heard: list[object] = []
    faults: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context["message"]))

    def raises(_: object) -> None:
        raise ValueError("a fault")

    delivery = Delivery(1)
    delivery.watch(raises, None)
    delivery.feel(WELL)
    delivery.tell([_told(0, raises), _told(1, heard.append)])
    assert heard == [1]
    assert len(faults) == 2
