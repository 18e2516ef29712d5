"""Kill -9 of the hub, of the runner, of both, of the CLI, in the midst of turns; then everything is compared.

One house serves many blows: after each the hub is started again on what is left, all turns come to their end, all ledgers are
compared from the beginning, and the same house takes the next blow.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable

from ..house import House, HouseError
from ..load import Load
from ..processes import Found, send, start_time
from ..proof import Order, Proof
from ..serve import POINTS, RUNNER_POINTS
from ..tally import Tally

BLOWS_A_HOUSE = 25
SPAN = 2.0
"""Seconds over which the moment of a blow is drawn."""
VERSIONS = ("2.1.326", "2.1.326", "2.1.62", "2.1.37")

Blow = Callable[[Load, random.Random, Tally], Awaitable[None]]


async def struck(order: Order, blow: Blow, *, cut: bool = False, points: bool = False, sessions: int = 5) -> None:
    """``order.count`` blows, a new house every few."""
    number = order.first
    while number < order.first + order.count:
        rest = order.first + order.count - number
        number = await _house(order, blow, number, min(BLOWS_A_HOUSE, rest), cut, points, sessions)


async def _house(order: Order, blow: Blow, first: int, count: int, cut: bool, points: bool, sessions: int) -> int:
    rng = random.Random(f"{order.seed}/{first}")
    house = House(version=rng.choice(VERSIONS))
    number, bad = first, False
    try:
        await house.start(blow="" if points else None)
        async with Load(house, rng, sessions=sessions) as load:
            load.side.cut_allowed = cut
            while number < first + count and not bad:
                bad = await _one(order, blow, load, number, last=number == first + count - 1)
                number += 1
    except HouseError as error:
        order.tally.fail("I12", str(error), order.name(number))
        bad = True
        number += 1
    finally:
        for words in await house.close(keep=order.keep and bad):
            order.tally.fail("I8", words, order.name(number))
        if bad and order.keep:
            order.say(f"kept: {house.folder}")
    order.saved()
    return number


async def _one(order: Order, blow: Blow, load: Load, number: int, *, last: bool) -> bool:
    """One round; True when something was wrong, and the house is not to be used further."""
    tally, seed = order.tally, order.name(number)
    load.rng.seed(f"{order.seed}/{number}")
    load.late.clear()
    load.left_open = set()
    asked = load.prompts()
    await blow(load, load.rng, tally)
    back = time.monotonic()
    if missing := await load.questions_shown(load.left_open):
        tally.fail("G9", f"open questions {missing} are not in the inbox 2 s after the start", seed)
    elif load.left_open:
        tally.measure("G9 questions shown again after", time.monotonic() - back)
    await asyncio.gather(*asked)
    still = await load.quiet()
    tally.measure("all turns ended after", time.monotonic() - back)
    tally.blows += 1
    findings = await load.check()
    if still:
        findings.lose("I12", f"not quiet after {load.waiting:g} s: {still}")
    bad = bool(findings.wrong)
    tally.add(findings, seed, counts=last or bad)
    if last or bad:
        tally.counts["reconnects"] += sum(told.connects for told in load.side.told)
    order.saved()
    return bad


# -- the blows: each waits for its moment, strikes, and brings back what it took away


def drawn(rng: random.Random, points: dict[str, int]) -> str:
    """A point and the how-manieth passing of it."""
    point = rng.choice(sorted(points))
    return f"{point}@{rng.randint(1, points[point])}"


async def hub(load: Load, rng: random.Random, tally: Tally) -> None:
    """At any moment, or at a point that the hub was told at its start; sometimes again while it comes back."""
    house = load.house
    await _moment(rng, lambda: not house.up)
    _struck(load)
    house.kill_hub()
    load.left_open = set(load.open)
    if rng.random() < 0.25:
        starting = load.begin(_start_quietly(house))
        await asyncio.sleep(rng.uniform(0.2, 1.5))
        house.signal_hub(signal.SIGKILL)
        await starting
        house.kill_hub()
    await _restart(house, tally, drawn(rng, POINTS) if rng.random() < 0.5 else None)


async def runner(load: Load, rng: random.Random, tally: Tally) -> None:
    before = load.house.runner
    await _moment(rng, lambda: before is None or start_time(before.pid) != before.started)
    _struck(load)
    if rng.random() < 0.6:
        load.house.order.write_text(drawn(rng, RUNNER_POINTS))
    if before is not None:
        send(before, signal.SIGKILL)
    await _new_runner(load, tally, before)


async def both(load: Load, rng: random.Random, tally: Tally) -> None:
    """In either order, with or without a breath between; or the whole machine, with the unsynced tails of the spool."""
    house, runner = load.house, load.house.runner
    await _moment(rng, lambda: False)
    _struck(load)
    ways = [house.kill_hub, lambda: runner is not None and send(runner, signal.SIGKILL)]
    rng.shuffle(ways)
    reset = rng.random() < 0.33
    for way in ways:
        way()
        if not reset:
            await asyncio.sleep(rng.choice((0.0, 0.0, rng.uniform(0.0, 0.3))))
    if reset:
        _cut_tails(load, rng)
    await _restart(house, tally, None)


def _cut_tails(load: Load, rng: random.Random) -> None:
    """What a machine loses that stops: of each spool, up to all that its CLI said in the last tenth of a second."""
    now = time.time()
    for one in load.house.clis():
        send(one, signal.SIGKILL)
    for cli in load.noted.read():
        fresh = sum(said.size + 1 for said in cli.said if said.at > now - 0.1)
        segments = sorted((load.house.state / "runner" / "spool").glob(f"**/{cli.process}/*.lines")) if cli.process else []
        if segments and fresh:
            size = segments[-1].stat().st_size
            os.truncate(segments[-1], max(0, size - rng.randint(0, fresh)))


async def _moment(rng: random.Random, already: Callable[[], bool]) -> None:
    """Drawn over the turn; earlier when it has struck by itself."""
    until = time.monotonic() + rng.uniform(0.0, SPAN)
    while time.monotonic() < until and not already():
        await asyncio.sleep(0.005)


def _struck(load: Load) -> None:
    load.side.blows.append(time.time())


async def cli(load: Load, rng: random.Random, tally: Tally) -> None:
    """One or two of them."""
    await _moment(rng, lambda: False)
    _struck(load)
    found = load.house.clis()
    struck = rng.sample(found, min(len(found), rng.randint(1, 2)))
    number = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
    began = time.monotonic()
    for one in struck:
        send(one, number)
    while any(start_time(one.pid) == one.started for one in struck) and time.monotonic() < began + 10:
        await asyncio.sleep(0.01)
    while load.dead() and time.monotonic() < began + 10:
        await asyncio.sleep(0.01)
    tally.measure("death told after", time.monotonic() - began)


async def _start_quietly(house: House) -> None:
    try:
        await house.start()
    except HouseError:
        return


async def _restart(house: House, tally: Tally, blow: str | None) -> None:
    """A hub that is told a point may pass it while it comes back: then it is started once more, without."""
    try:
        await house.start(blow=blow)
    except HouseError:
        if blow is None:
            raise
        await house.start()
    tally.measure("serving after", house.served_in)


async def _new_runner(load: Load, tally: Tally, before: Found | None) -> None:
    """Until the hub has another one."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        now = load.house.note_runner()
        if now is not None and now != before:
            tally.measure("new runner after", time.monotonic() - began)
            return
        await asyncio.sleep(0.02)
    load.people.hangs.append("no new runner 20 s after the death of the old one")


async def f1(order: Order) -> None:
    await struck(order, hub)


async def f2(order: Order) -> None:
    await struck(order, runner, cut=True, points=True)


async def f3(order: Order) -> None:
    await struck(order, both, cut=True)


async def f4(order: Order) -> None:
    await struck(order, cli, cut=False)


KILLS = [
    Proof("F1", "kill -9 of the hub", (200, 500), f1, ("G1", "G3", "G5", "G6", "G9", "G10", "G11"), 3),
    Proof("F2", "kill -9 of the runner", (60, 200), f2, ("G1", "G4", "G5", "G9", "G10"), 2),
    Proof("F3", "kill -9 of hub and runner", (60, 200), f3, ("G1", "G4", "G5", "G9", "G10"), 2),
    Proof("F4", "kill of the CLI", (60, 200), f4, ("G1", "G3", "G5", "G9", "G10"), 2),
]
