"""Waiting until bytes are taken: each waits for its own, in order, and fails when nobody will take them."""

from __future__ import annotations

import asyncio

import pytest

from ropewalk.errors import SessionGone
from ropewalk.transports.handover import Handover


async def test_each_waits_for_what_was_queued_before_it_and_for_no_more() -> None:
    """ours: one who sends without end must not keep another waiting."""
    handover = Handover()
    woken: list[str] = []

    async def wait(name: str, queued: int) -> None:
        await handover.wait(queued)
        woken.append(name)

    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        group.create_task(wait("nothing queued", 0))
        group.create_task(wait("first", 10))
        group.create_task(wait("second", 25))
        await asyncio.sleep(0)
        assert woken == ["nothing queued"]
        for count, expected in ((9, 1), (1, 2), (14, 2), (1, 3)):
            handover.took(count)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(woken) == expected
    assert woken == ["nothing queued", "first", "second"]


async def test_those_who_gave_up_are_passed_over_and_the_rest_fail_each_with_an_error_of_its_own() -> None:
    """ours: an error that two tasks raise grows two tracebacks."""
    handover = Handover()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(handover.wait(5), 0.01)
    waiting = asyncio.gather(handover.wait(10), handover.wait(20), return_exceptions=True)
    await asyncio.sleep(0)
    handover.took(5)
    handover.fail(lambda: SessionGone("it is gone"))
    one, other = await waiting
    assert isinstance(one, SessionGone)
    assert isinstance(other, SessionGone)
    assert one is not other
