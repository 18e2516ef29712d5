"""Kill -9 of the hub, of the runner, of both, of the CLI, in the midst of turns, at any moment or at a named point."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from ropewalk.runner.records import Record
from ropewalk.runner.spool import segment_records

from ..book import rows
from ..house import House, HouseError
from ..load import Load
from ..processes import Found, send, start_time
from ..proof import Order, Proof
from ..rounds import Round, Way, struck
from ..script import EXITS, KINDS
from ..serve import POINTS, RUNNER_POINTS
from ..tally import Tally

LINK_LOST = "SELECT at FROM event_log WHERE kind = 'link_lost' AND at > ?"
KNOWN_WITHIN = 1.0
SAFE_AFTER = 0.1
"""Seconds after which a line is safe from a power cut."""
ENDS = """
WITH ended AS (SELECT CAST(body AS TEXT) AS said FROM event_log WHERE kind = 'process_ended')
SELECT said ->> '$.process' AS process, said ->> '$.code' AS code, said ->> '$.why' AS why, said ->> '$.stderr' AS stderr,
       coalesce((SELECT text FROM prompt WHERE process = said ->> '$.process' ORDER BY sent_at DESC LIMIT 1), '') AS last
FROM ended WHERE NOT coalesce(said ->> '$.wanted', 0)
"""


def drawn(rng: random.Random, points: dict[str, int]) -> str:
    """A point and the how-manieth passing of it."""
    point = rng.choice(sorted(points))
    return f"{point}@{rng.randint(1, points[point])}"


async def hub(one: Round) -> None:
    """At any moment, or at a point that the hub was told at its start; sometimes again while it comes back."""
    house, rng = one.house, one.rng
    await one.moment(lambda: not house.up)
    one.struck()
    house.kill_hub()
    one.load.left_open = set(one.load.open)
    if rng.random() < 0.25:
        starting = one.load.begin(_start_quietly(house))
        await asyncio.sleep(rng.uniform(0.2, 1.5))
        house.signal_hub(signal.SIGKILL)
        await starting
        house.kill_hub()
    await restart(house, one.tally, drawn(rng, POINTS) if rng.random() < 0.5 else None)


async def runner(one: Round) -> None:
    before = one.house.runner
    await one.moment(lambda: before is None or start_time(before.pid) != before.started)
    one.struck()
    if one.rng.random() < 0.6:
        one.house.order.write_text(drawn(one.rng, RUNNER_POINTS))
    if before is not None:
        send(before, signal.SIGKILL)
    at = time.time()
    await _new_runner(one, before)
    known = [float(row["at"]) - at for row in rows(one.house.database, LINK_LOST, at - 0.1)]
    if known:
        one.tally.measure("death of the runner known after", max(0.0, min(known)))
        if min(known) > KNOWN_WITHIN:
            one.fail("F2", f"the death of the runner was known {min(known):.1f} s later")


async def both(one: Round) -> None:
    """In either order, with or without a breath between; or the whole machine, with the unsynced tails of the spool."""
    house, runner, rng = one.house, one.house.runner, one.rng
    await one.moment()
    one.struck()
    ways: list[Callable[[], object]] = [house.kill_hub, lambda: runner is not None and send(runner, signal.SIGKILL)]
    rng.shuffle(ways)
    reset = rng.random() < 0.33
    for way in ways:
        way()
        if not reset:
            await asyncio.sleep(rng.choice((0.0, 0.0, rng.uniform(0.0, 0.3))))
    if reset:
        _cut_tails(one.load, rng)
    await restart(house, one.tally, None)


def _cut_tails(load: Load, rng: random.Random) -> None:
    """What a machine loses that stops: of each spool, up to all that its CLI said in the last tenth of a second."""
    since = load.side.blows[-1] - SAFE_AFTER
    for one in load.house.clis():
        send(one, signal.SIGKILL)
    for cli in load.noted.read():
        fresh = sum(said.size + 1 for said in cli.said if said.at > since)
        segments = sorted((load.house.state / "runner" / "spool").glob(f"**/{cli.process}/*.lines")) if cli.process else []
        if segments and fresh:
            cut_tail(segments[-1], sum(said.at <= since for said in cli.said), rng.randint(0, fresh))


def cut_tail(segment: Path, safe: int, most: int) -> None:
    """``most`` bytes, but nothing of the first ``safe`` lines: the last that a CLI said may never have come to the disk, and
    then what lies at the end of it is older, and synced."""
    size = segment.stat().st_size
    with open(segment, "rb") as file:
        ends = [end for end, found in segment_records(file.fileno(), size, 0) if isinstance(found, Record) and found.line <= safe]
    kept = max(ends, default=0)
    os.truncate(segment, max(kept, size - most))


async def cli(one: Round) -> None:
    """One or two of them."""
    await one.moment()
    one.struck()
    found = one.house.clis()
    hit = one.rng.sample(found, min(len(found), one.rng.randint(1, 2)))
    number = one.rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
    began = time.monotonic()
    for target in hit:
        send(target, number)
    while any(start_time(target.pid) == target.started for target in hit) and time.monotonic() < began + 10:
        await asyncio.sleep(0.01)
    while one.load.dead() and time.monotonic() < began + 10:
        await asyncio.sleep(0.01)
    one.tally.measure("death told after", time.monotonic() - began)
    if time.monotonic() - began > 5.0:
        one.fail("F4", "the death of a CLI was not told within 5 s")
    for row in rows(one.house.database, ENDS):
        if row["code"] is None or not row["why"]:
            one.fail("F4", f"the end of {row['process']} is told without code or words: {dict(row)}")
        if row["last"].startswith("exit 1 ") and row["code"] == 1 and "it went wrong" not in row["stderr"]:
            one.fail("F4", f"the end of {row['process']} is told without what it said last: {dict(row)}")


async def _start_quietly(house: House) -> None:
    try:
        await house.start()
    except HouseError:
        return


async def restart(house: House, tally: Tally, blow: str | None = None) -> None:
    """A hub that is told a point may pass it while it comes back: then it is started once more, without."""
    try:
        await house.start(blow=blow)
    except HouseError:
        if blow is None:
            raise
        await house.start()
    tally.measure("serving after", house.served_in)


async def _new_runner(one: Round, before: Found | None) -> None:
    """Until the hub has another one."""
    began = time.monotonic()
    while time.monotonic() < began + 20:
        now = one.house.note_runner()
        if now is not None and now != before:
            one.tally.measure("new runner after", time.monotonic() - began)
            return
        await asyncio.sleep(0.02)
    one.fail("F2", "no new runner 20 s after the death of the old one")


async def f1(order: Order) -> None:
    await struck(order, hub, Way())


async def f2(order: Order) -> None:
    await struck(order, runner, Way(cut=True, points=True))


async def f3(order: Order) -> None:
    await struck(order, both, Way(cut=True))


async def f4(order: Order) -> None:
    await struck(order, cli, Way(kinds=(*KINDS, *EXITS)))


KILLS = [
    Proof("F1", "kill -9 of the hub, at any moment and at named points", (200, 500), f1,
          ("G1", "G3", "G5", "G6", "G8", "G9", "G10", "G11"), 3),
    Proof("F2", "kill -9 of the runner, at any moment and at named points", (60, 200), f2,
          ("G1", "G4", "G5", "G8", "G9", "G10"), 2),
    Proof("F3", "kill -9 of hub and runner in either order; of all, with the spool's unsynced tails cut off", (60, 200), f3,
          ("G1", "G4", "G5", "G8", "G9", "G10"), 2),
    Proof("F4", "kill of the CLI, and exits of its own with several codes, one with a child that holds its pipes", (60, 200), f4,
          ("G1", "G3", "G5", "G8", "G9", "G10"), 2),
]  # fmt: skip
