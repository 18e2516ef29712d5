"""Processes that are stopped and go on, and hubs that are asked to go: nothing is taken for dead or stalled that only slept."""

from __future__ import annotations

import asyncio
import signal
import time

from ..book import rows
from ..processes import send
from ..proof import Order, Proof
from ..rounds import Round, Way, struck
from .kills import restart

LONG = 60.0
LONG_ONES = 3
"""The last blows of a plain run: a minute each."""
FALSE_ALARM = "SELECT session, seq, body FROM event_log WHERE at > ? AND kind IN ('link_lost', 'process_ended', 'failed')"
SILENT = "no sign"


async def hub_stopped(one: Round) -> None:
    await one.moment()
    one.struck()
    seconds = LONG if one.number % 13 >= 13 - LONG_ONES else one.rng.choice((1.0, 1.0, 5.0))
    at = time.time()
    one.load.people.paused_until = time.monotonic() + seconds + 5.0
    one.house.signal_hub(signal.SIGSTOP)
    await asyncio.sleep(seconds)
    one.house.signal_hub(signal.SIGCONT)
    began = time.monotonic()
    await one.load.people.get("/health")
    one.tally.measure("answers again after", time.monotonic() - began)
    for row in rows(one.house.database, FALSE_ALARM, at):
        if b'"wanted":true' not in row["body"]:
            one.fail("F5", f"said after a pause of {seconds:g} s: {row['body'][:200]!r}")


async def other_stopped(one: Round) -> None:
    """The runner, or a CLI: the page says so within 10 s, interrupt comes back, and everything goes on afterwards."""
    await one.moment()
    one.struck()
    if one.number % 2:
        await _runner_stopped(one)
    else:
        await _cli_stopped(one)


async def _runner_stopped(one: Round) -> None:
    runner = one.house.note_runner()
    if runner is None:
        one.fail("F6", "there is no runner")
        return
    send(runner, signal.SIGSTOP)
    began = time.monotonic()
    try:
        while not rows(one.house.database, "SELECT id FROM session WHERE status = 'unreachable'"):
            if time.monotonic() - began > 10.0:
                if rows(one.house.database, "SELECT id FROM session WHERE process IS NOT NULL"):
                    one.fail("F6", "nothing said within 10 s that the runner is not heard")
                break
            await asyncio.sleep(0.05)
        one.tally.measure("unreachable said after", time.monotonic() - began)
        health = await one.load.people.get("/health")
        if health["state"] != "degraded":
            one.fail("F6", f"the runner is stopped and health says {health['state']}")
    finally:
        send(runner, signal.SIGCONT)


async def _cli_stopped(one: Round) -> None:
    """With a stall set to 3 s."""
    joined = "SELECT session.id, pid FROM session JOIN process ON process.id = session.process"
    working = f"{joined} WHERE status IN ('thinking', 'starting')"
    hit, found, until = None, {}, time.monotonic() + 10.0
    while hit is None:
        found = {row["pid"]: row["id"] for row in rows(one.house.database, working)}
        hit = next((cli for cli in one.house.clis() if cli.pid in found), None)
        if hit is None and time.monotonic() > until:
            until = time.monotonic() + 10.0
            one.load.begin(one.load.people.prompt(one.load.sessions[0], "slow about it"))
        await asyncio.sleep(0.01)
    send(hit, signal.SIGSTOP)
    try:
        await _said_and_interrupted(one, found[hit.pid])
    finally:
        send(hit, signal.SIGCONT)


async def _said_and_interrupted(one: Round, session: str) -> None:
    began = time.monotonic()
    view = {"status": "", "why": ""}
    while time.monotonic() - began < 10.0:
        view = (await one.load.people.get(f"/sessions/{session}"))["session"]
        if SILENT in view["why"] or view["status"] not in ("thinking", "starting"):
            break
        await asyncio.sleep(0.05)
    else:
        one.fail("F6", f"a stopped CLI is {view['status']} ({view['why']}) after 10 s")
    one.tally.measure("silence said after", time.monotonic() - began)
    began = time.monotonic()
    await one.load.people.ask("POST", f"/sessions/{session}/interrupt", json={})
    one.tally.measure("interrupt of a stopped CLI came back after", time.monotonic() - began)


async def hub_asked(one: Round) -> None:
    """TERM, TERM twice, INT, HUP."""
    await one.moment()
    one.struck()
    way = one.rng.choice(("TERM", "TERM TERM", "INT", "HUP"))
    began = time.monotonic()
    for name in way.split():
        one.house.signal_hub(signal.Signals[f"SIG{name}"])
        await asyncio.sleep(one.rng.uniform(0.0, 0.1))
    if way == "HUP":
        if not one.house.up or (await one.load.people.get("/me"))["name"] == "":
            one.fail("F7", "SIGHUP ended the hub")
        return
    try:
        code = await one.house.gone(15.0)
    except TimeoutError:
        one.fail("F7", f"the hub is there 15 s after {way}")
        one.house.kill_hub()
        code = 0
    one.load.left_open = set(one.load.open)
    seconds = time.monotonic() - began
    one.tally.measure("gone after", seconds)
    if seconds > 10.0 or (code != 0 and way != "TERM TERM"):
        one.fail("F7", f"{way}: code {code} after {seconds:.1f} s")
    await restart(one.house, one.tally)


async def f5(order: Order) -> None:
    await struck(order, hub_stopped, Way(waiting=60.0))


async def f6(order: Order) -> None:
    await struck(
        order, other_stopped, Way(house={"settings": {"stall_after": 3}}, kinds=("talk", "slow", "ask", "work"), waiting=60.0)
    )


async def f7(order: Order) -> None:
    await struck(order, hub_asked, Way())


PAUSES = [
    Proof("F5", "the hub stopped for 1, 5 and 60 s, then it goes on", (13, 50), f5,
          ("G1", "G3", "G5", "G8", "G10"), 1, seconds=19.0),
    Proof("F6", "the runner, or a CLI, stopped; then it goes on", (10, 50), f6, ("G1", "G3", "G5", "G8", "G10"), 1, seconds=15.0),
    Proof("F7", "TERM, TERM twice, INT and HUP to the hub", (12, 50), f7, ("G1", "G3", "G5", "G8", "G9", "G10"), 1),
]  # fmt: skip
