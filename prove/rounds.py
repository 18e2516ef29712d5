"""Rounds: sessions at work, a blow, everything comes to its end, all ledgers are compared; then the same house takes the next.

Refuses to go on in a house where something was wrong: the next blow gets a new one.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from .house import House, HouseError
from .load import Load
from .proof import Order
from .script import KINDS
from .tally import Tally

BLOWS_A_HOUSE = 25
SPAN = 2.0
"""Seconds over which the moment of a blow is drawn."""
VERSIONS = ("2.1.326", "2.1.326", "2.1.62", "2.1.37")

Blow = Callable[["Round"], Awaitable[None]]


@dataclass(frozen=True)
class Way:
    """``cut``: the blow may take the last moments of a process's output. ``points``: the runner has named points."""

    cut: bool = False
    points: bool = False
    sessions: int = 5
    house: dict[str, Any] = field(default_factory=dict)
    blows: int = BLOWS_A_HOUSE
    kinds: tuple[str, ...] = KINDS
    waiting: float = 30.0
    """Seconds after the blow in which everything must have come to its end."""


@dataclass
class Round:
    """What a blow is given."""

    load: Load
    rng: random.Random
    tally: Tally
    number: int
    seed: str

    @property
    def house(self) -> House:
        return self.load.house

    def fail(self, promise: str, words: str) -> None:
        self.tally.fail(promise, words, self.seed)

    def struck(self) -> None:
        self.load.side.blows.append(time.time())

    async def moment(self, already: Callable[[], bool] = lambda: False, span: float = SPAN) -> None:
        """Drawn over the turn; earlier when it has struck by itself."""
        until = time.monotonic() + self.rng.uniform(0.0, span)
        while time.monotonic() < until and not already():
            await asyncio.sleep(0.005)


async def struck(order: Order, blow: Blow, way: Way) -> None:
    """``order.count`` blows, a new house every few."""
    number = order.first
    while number < order.first + order.count:
        rest = order.first + order.count - number
        number = await _house(order, blow, number, min(way.blows, rest), way)


async def _house(order: Order, blow: Blow, first: int, count: int, way: Way) -> int:
    rng = random.Random(f"{order.seed}/{first}")
    house = House(**{"version": rng.choice(VERSIONS), **way.house})
    number, bad = first, False
    try:
        await house.start(blow="" if way.points else None)
        async with Load(house, rng, sessions=way.sessions, kinds=way.kinds) as load:
            load.side.cut_allowed, load.waiting = way.cut, way.waiting
            while number < first + count and not bad:
                one = Round(load, rng, order.tally, number, order.name(number))
                bad = await _one(order, blow, one, last=number == first + count - 1)
                number += 1
    except Exception as error:  # noqa: BLE001 - whatever keeps a blow from being struck and judged is a failure of it
        words = str(error) if isinstance(error, HouseError) else f"the rig failed: {error!r}"
        order.tally.fail("I12", words, order.name(number))
        order.tally.blows += 1
        bad = True
        number += 1
    finally:
        for words in await house.close(keep=order.keep and bad):
            order.tally.fail("I8", words, order.name(number))
        if bad and order.keep:
            order.say(f"kept: {house.folder}")
    order.saved()
    return number


async def _one(order: Order, blow: Blow, one: Round, *, last: bool) -> bool:
    """True when something was wrong, and the house is not to be used further."""
    load, tally = one.load, one.tally
    load.rng.seed(f"{order.seed}/{one.number}")
    load.late.clear()
    load.left_open = set()
    before = sum(tally.lost.values())
    asked = load.prompts()
    load.keeps_up = False
    await blow(one)
    load.keeps_up = True
    back = time.monotonic()
    if missing := await load.questions_shown(load.left_open):
        one.fail("G9", f"open questions {missing} are not in the inbox 2 s after the start")
    elif load.left_open:
        tally.measure("G9 questions shown again after", time.monotonic() - back)
    await asyncio.gather(*asked)
    still = await load.quiet()
    tally.measure("all turns ended after", time.monotonic() - back)
    load.keeps_up = False
    findings = await load.check(thorough=last)
    if still:
        findings.lose("I12", f"not quiet after {load.waiting:g} s: {still}")
    bad = bool(findings.wrong) or sum(tally.lost.values()) > before
    tally.add(findings, one.seed, counts=last or bad)
    if last or bad:
        tally.counts["reconnects"] += sum(told.connects for told in load.side.told)
    tally.blows += 1
    order.saved()
    return bad
