"""Sick disks under a hub at work: full, locked, read-only, its log removed, its file replaced. Said in words, then it goes on."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import httpx

from ..book import rows
from ..house import House, HouseError
from ..inside import bind, inside, mount, remount
from ..proof import Order, Proof
from ..rounds import Blow, Round, Way, struck

SMALL = "16m"
SAID_WITHIN = 5.0
WELL_WITHIN = 15.0

WAITS = "SELECT 1 FROM event_log WHERE kind = 'warning' AND json_extract(CAST(body AS TEXT), '$.code') = 'held'"

LOCK = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("ROLLBACK")
"""


# -- full


def small_disk(house: House) -> None:
    """For database and spool together."""
    mount(house.state, SMALL)


def small_database(house: House) -> None:
    mount(house.state, SMALL)
    bind(house.folder / "roomy", house.state / "runner")


def small_spool(house: House) -> None:
    (house.state / "runner").mkdir(mode=0o700)
    mount(house.state / "runner" / "spool", SMALL)
    os.chmod(house.state / "runner" / "spool", 0o700)


def ballast_of(house: House, where: str) -> Path:
    return (house.state / "runner" / "spool" if where == "spool" else house.state) / "ballast"


def fill(path: Path) -> None:
    """To the last byte; called again it takes what was freed meanwhile."""
    with open(path, "ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with suppress(OSError):
                while True:
                    file.write(b"\0" * size)


def full(where: str) -> Blow:
    async def blow(one: Round) -> None:
        await one.moment()
        one.struck()
        ballast = ballast_of(one.house, where)
        fill(ballast)
        try:
            if where == "spool":
                await _held(one, ballast)
            else:
                await _said(one, "G19")
                await _refused(one)
                await _denied(one)
            await asyncio.sleep(one.rng.uniform(0.2, 1.5))
        finally:
            ballast.unlink()
        await _well(one, "G19")
        one.tally.counts["fills"] += 1

    return blow


async def _said(one: Round, promise: str) -> None:
    """On the health of the hub, with words; something is written meanwhile, since nothing is noticed on an idle disk."""
    began = time.monotonic()
    knock = one.load.begin(_knock(one))
    while time.monotonic() - began < SAID_WITHIN:
        health = await one.load.people.get("/health")
        if health["state"] == "degraded" and health["why"]:
            one.tally.measure(f"{promise} said after", time.monotonic() - began)
            break
        await asyncio.sleep(0.02)
    else:
        one.fail(promise, f"the disk is sick for {SAID_WITHIN:g} s, and health is ok")
    knock.cancel()


async def _held(one: Round, ballast: Path) -> None:
    """The sessions whose CLIs go on speaking say that their output waits."""
    one.load.late.set()
    speaking = one.load.begin(one.load.people.prompt(one.load.sessions[0], "many"))
    began = time.monotonic()
    while not rows(one.house.database, WAITS):
        if time.monotonic() - began > SAID_WITHIN:
            one.fail("G19", f"the spool's disk is full for {SAID_WITHIN:g} s, and no session says so")
            break
        fill(ballast)
        await asyncio.sleep(0.02)
    one.tally.measure("G19 a full spool said after", time.monotonic() - began)
    await speaking


async def _knock(one: Round) -> None:
    while True:
        with suppress(httpx.HTTPError):
            await one.load.people.ask("PUT", f"/sessions/{one.load.sessions[0]}/seen", json={"seq": 1})
        await asyncio.sleep(0.1)


async def _refused(one: Round) -> None:
    """New prompts, with 507 or 503 and words."""
    answer = await one.load.people.ask("POST", f"/sessions/{one.load.sessions[0]}/prompts", json={"text": "talk, not now"})
    if answer.status_code not in (503, 507) or "detail" not in answer.json():
        one.fail("G19", f"a prompt to a full disk was answered {answer.status_code} {answer.text[:200]}")


async def _denied(one: Round) -> None:
    """A denial is harmless: it goes through."""
    name = next(iter(one.load.open), None)
    asked = one.load.open.pop(name, None) if name else None
    if name is None or asked is None or asked.get("asks") == "choice":
        return
    one.load.people.verdicts[name] = "deny"
    body = {"behavior": "deny", "message": "not now"}
    answer = await one.load.people.ask("POST", f"/questions/{name}/answer", json=body)
    one.tally.counts["denials on a full disk"] += 1
    if answer.status_code not in (200, 409):
        one.fail("G19", f"a denial on a full disk was answered {answer.status_code} {answer.text[:200]}")


async def _well(one: Round, promise: str) -> None:
    began = time.monotonic()
    health = {"state": "", "why": ""}
    while time.monotonic() - began < WELL_WITHIN:
        with suppress(httpx.HTTPError):
            health = await one.load.people.get("/health")
            if health["state"] == "ok":
                one.tally.measure(f"{promise} well again after", time.monotonic() - began)
                return
        await asyncio.sleep(0.05)
    one.fail(promise, f"not well {WELL_WITHIN:g} s after the disk is: {health['why']}")


def roomy_disk(house: House) -> None:
    """That nobody but the hub writes to: so that it can be made read-only."""
    mount(house.state, "64m")
    bind(house.folder / "roomy", house.state / "runner")


PLACES = {"both": small_disk, "database": small_database, "spool": small_spool}


async def disk_full(order: Order) -> None:
    """A house a place, in turn."""
    for number in range(order.first, order.first + order.count):
        where = list(PLACES)[number % 3]
        one = Order(order.seed, number, 1, order.tally, order.saved, order.say, order.keep, order.full)
        way = Way(house={"before": [PLACES[where]]}, kinds=("ask", "work", "many", "talk"), sessions=4, waiting=40.0)
        await struck(one, full(where), way)


# -- locked, read-only, moved


async def disk_odd(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        blow = ODD[number % len(ODD)]
        one = Order(order.seed, number, 1, order.tally, order.saved, order.say, order.keep, order.full)
        await struck(one, blow, Way(house={"before": [roomy_disk]}, sessions=4, waiting=40.0))


async def locked(one: Round) -> None:
    await one.moment()
    seconds = LOCKED_FOR[one.number // len(ODD) % len(LOCKED_FOR)]
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOCK, str(one.house.database), str(seconds), stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    await child.stdout.readline()
    one.struck()
    await _said(one, "F11")
    await child.wait()
    await _well(one, "F11")


async def read_only(one: Round) -> None:
    """Found so at a start: it refuses in words; made writable it starts, and nothing is missing."""
    await one.moment()
    one.struck()
    one.house.kill_hub()
    remount(one.house.state, "ro")
    try:
        await one.house.start()
        one.fail("F11", "the hub serves from a read-only disk")
    except HouseError as refusal:
        if "Traceback" in str(refusal) or "can't be written" not in str(refusal):
            one.fail("F11", f"a read-only disk is refused so: {refusal}")
    finally:
        remount(one.house.state, "rw")
    await one.house.start()
    await _well(one, "F11")


async def log_removed(one: Round) -> None:
    """Under the hub's feet; it must not lose what it told, and goes on."""
    await one.moment()
    one.struck()
    with suppress(FileNotFoundError):
        Path(f"{one.house.database}-wal").unlink()
    await asyncio.sleep(one.rng.uniform(0.1, 1.0))
    await _well(one, "F11")


async def replaced(one: Round) -> None:
    """By a copy; then the true one is put back."""
    await one.moment()
    one.struck()
    database, aside = one.house.database, one.house.state / "aside.db"
    copy = one.house.state / "copy.db"
    shutil.copyfile(database, copy)
    os.rename(database, aside)
    os.rename(copy, database)
    try:
        await _said(one, "F11")
    finally:
        os.rename(aside, database)
    await _well(one, "F11")


LOCKED_FOR = (3.0, 30.0, 8.0)
ODD = (locked, read_only, log_removed, replaced)


async def f8(order: Order) -> None:
    await inside(order, "F8")


async def f11(order: Order) -> None:
    await inside(order, "F11")


INSIDE = {"F8": disk_full, "F11": disk_odd}

DISKS = [
    Proof("F8", "a disk of 16 MiB is filled under the database, under the spool, under both", (12, 100), f8,
          ("G1", "G3", "G5", "G8", "G10", "G19"), 1),
    Proof("F11", "the database locked by another process, read-only, its log removed, the file replaced", (12, 20), f11,
          ("G1", "G3", "G5", "G8", "G10"), 1),
]  # fmt: skip
