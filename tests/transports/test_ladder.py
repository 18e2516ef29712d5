"""The ladder against something that no signal ends: bounded, honest, and to be tried again."""

from __future__ import annotations

import asyncio

import pytest

from ropewalk.errors import LinkBroken
from ropewalk.transports.ladder import Graces, Ladder

SHORT = Graces(terminate=0.02, kill=0.02, survivors=0.02)


class Undead:
    """A process that the kernel can't end yet, or one with such a child. ``relatives`` is itself: one object plays both."""

    def __init__(self, *, gone: bool) -> None:
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if gone:
            self.gone.set_result(None)
        self.children = [4711]
        self.signals: list[int] = []

    @property
    def relatives(self) -> Undead:
        return self

    def note(self) -> list[int]:
        return self.children

    left = note

    def close_input(self) -> None:
        self.signals.append(0)

    def signal(self, number: int) -> None:
        self.signals.append(number)

    def kill_now(self) -> None:
        self.signals.append(9)


async def test_what_can_not_be_ended_is_told_after_a_bounded_time_and_can_be_tried_again() -> None:
    """ours: a process that waits for a dead disk ignores even KILL."""
    undead = Undead(gone=True)
    ladder = Ladder(undead, SHORT)
    rungs: list[str] = []
    with pytest.raises(LinkBroken, match="4711"):
        await ladder.climb(0, rungs.append)
    assert undead.signals[0] == 15
    assert undead.signals[-1] == 9
    undead.children = []
    await ladder.climb(0, rungs.append)
    assert rungs == ["survivors"]


async def test_a_cli_that_can_not_be_ended_is_told_too() -> None:
    """ours."""
    undead = Undead(gone=False)
    ladder = Ladder(undead, SHORT)
    rungs: list[str] = []
    with pytest.raises(LinkBroken, match="not even by KILL"):
        await ladder.climb(0, rungs.append)
    assert (rungs, undead.signals) == (["input closed", "terminate", "kill"], [0, 15, 9])


async def test_each_rung_is_told_before_it_is_taken() -> None:
    """measured: uvloop sees a quick CLI's end before what was called soon; whoever hears of the end listens no longer."""
    undead = Undead(gone=False)
    told: list[tuple[str, int]] = []
    with pytest.raises(LinkBroken):
        await Ladder(undead, SHORT).climb(0, lambda rung: told.append((rung, len(undead.signals))))
    assert told == [("input closed", 0), ("terminate", 1), ("kill", 2)]


async def test_everyone_who_shares_a_climb_that_failed_is_told() -> None:
    """ours."""
    ladder = Ladder(Undead(gone=False), SHORT)
    failures = await asyncio.gather(ladder.climb(0, None), ladder.climb(0, None), return_exceptions=True)
    assert [type(failure) for failure in failures] == [LinkBroken, LinkBroken]
