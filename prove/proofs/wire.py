"""What a CLI may say, and may fail to hear: odd bytes of every kind, floods, a stdin that is never read. The session lives."""

from __future__ import annotations

import asyncio
import random
import shutil
import stat
import sys
import time
from pathlib import Path

import httpx

from ..book import rows
from ..house import GUARD, ROOT, House
from ..load import Load
from ..noted import Said
from ..proof import Order, Proof
from ..rounds import Round, Way, struck

ODD = """
pace = 0.005
[[rule]]
regex = "^half"
steps = [ { text = "I break off." }, { fault = "half_line" }, { fault = "crash", code = 3 } ]
[[rule]]
regex = "^long"
steps = [ { text = "A long one." }, { fault = "long_line" }, { text = "Over." } ]
[[rule]]
regex = "^large"
steps = [ { fault = "long_line", size = 8000000 }, { text = "Over." } ]
[[rule]]
regex = "^utf8"
steps = [ { fault = "bad_utf8" }, { text = "Over." } ]
[[rule]]
regex = "^surrogates"
steps = [ { fault = "surrogates" }, { text = "Over." } ]
[[rule]]
regex = "^deep"
steps = [ { fault = "nesting" }, { fault = "nesting", depth = 990 }, { text = "Over." } ]
[[rule]]
regex = "^numbers"
steps = [ { fault = "huge_number" }, { text = "Over." } ]
[[rule]]
regex = "^garbage"
steps = [
  { fault = "garbage" }, { fault = "garbage", bytes = "\\u0000\\u0001NUL {" }, { fault = "garbage", bytes = "" },
  { fault = "garbage", bytes = '{"a":NaN}' }, { text = "Over." },
]
[[rule]]
regex = "^unknown"
steps = [ { fault = "unknown_line" }, { text = "Over." } ]
[[rule]]
regex = "^flood"
steps = [ { fault = "flood", count = 5000 }, { text = "Over." } ]
[[rule]]
regex = "^noise"
steps = [ { fault = "noise", count = 3000, size = 500 }, { text = "Over." } ]
"""
KINDS = ("half", "long", "large", "utf8", "surrogates", "deep", "numbers", "garbage", "unknown", "flood", "noise")


async def nothing(one: Round) -> None:
    """The odd lines are the blow."""
    one.tally.counts["odd turns"] += len(one.load.sessions)


async def f17(order: Order) -> None:
    """Each kind in turn, in three sessions at once, with sockets and streams attached."""
    for number in range(order.first, order.first + order.count):
        one = Order(order.seed, number, 1, order.tally, order.saved, order.say, order.keep, order.full)
        way = Way(house={"scenario": ODD}, kinds=(KINDS[number % len(KINDS)],), sessions=3, waiting=60.0)
        await struck(one, nothing, way)


# -- a stdin that nobody reads


async def f18(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        rng = random.Random(f"{order.seed}/{number}")
        way = (unread_from_the_start, unread_in_the_midst, large_prompt)[number % 3]
        sim = {"ROPEWALK_SIM_FAULT": "ignore_stdin"} if way is unread_from_the_start else {}
        house = House(sim=sim, scenario=STILL)
        seed = order.name(number)
        try:
            await house.start()
            async with Load(house, rng, sessions=2, kinds=("talk",)) as load:
                await way(Round(load, rng, order.tally, number, seed))
                order.tally.add(await load.check(), seed)
            order.tally.blows += 1
        finally:
            for words in await house.close():
                order.tally.fail("I8", words, seed)
            order.saved()


STILL = """
[[rule]]
regex = "^still"
steps = [ { text = "From here on I hear nothing." }, { fault = "hang" } ]
[[rule]]
regex = "."
steps = [ { text = "Yes." } ]
"""
BIG = 10 * 1024 * 1024


async def _answers(one: Round) -> None:
    """The hub is not blocked: it answers, and another session's turn runs."""
    for _ in range(5):
        began = time.monotonic()
        await one.load.people.get("/health")
        seconds = time.monotonic() - began
        one.tally.measure("F18 health answered after", seconds)
        if seconds > 1.0:
            one.fail("F18", f"health took {seconds:.1f} s")


async def unread_from_the_start(one: Round) -> None:
    people, session = one.load.people, one.load.sessions[0]
    act = await people.prompt(session, "x" * BIG)
    await asyncio.sleep(0.5)
    await _answers(one)
    answer = await people.ask("DELETE", f"/sessions/{session}/prompts/{act.answer['id']}", headers={"Client-Id": "take-it-back"})
    if answer.status_code != 200:
        one.fail("F18", f"a prompt that nobody took can't be withdrawn: {answer.status_code} {answer.text[:200]}")
    await _stopped(one, session)


async def unread_in_the_midst(one: Round) -> None:
    people, session, other = one.load.people, *one.load.sessions[:2]
    await people.prompt(session, "still")
    await _until(one, f"SELECT 1 FROM event_log WHERE session = '{session}' AND kind = 'text'")
    await people.prompt(session, "x" * BIG, when="now")
    await asyncio.sleep(0.3)
    await _answers(one)
    await people.prompt(other, "hello")
    await _until(one, f"SELECT 1 FROM prompt WHERE session = '{other}' AND state = 'done'")
    await _stopped(one, session)


async def large_prompt(one: Round) -> None:
    """It reaches the CLI whole."""
    act = await one.load.people.prompt(one.load.sessions[0], "x" * BIG)
    await _until(one, "SELECT 1 FROM prompt WHERE state = 'done'")
    large = [line for cli in one.load.noted.read() for line in cli.heard if "sha256" in line]
    if not act.ok or len(large) != 1:
        one.fail("F18", f"a prompt of 10 MiB: {act.status}, heard by the CLI {len(large)} times")


async def _until(one: Round, sql: str) -> None:
    until = time.monotonic() + GUARD
    while not rows(one.house.database, sql):
        if time.monotonic() > until:
            one.fail("F18", f"not within {GUARD:g} s: {sql}")
            return
        await asyncio.sleep(0.05)


async def _stopped(one: Round, session: str) -> None:
    began = time.monotonic()
    try:
        answer = await one.load.people.ask("POST", f"/sessions/{session}/stop", json={"patience": 1})
    except httpx.TimeoutException:
        one.fail("F18", f"a stop was not answered within {GUARD:g} s")
        return
    one.tally.measure("F18 stopped after", time.monotonic() - began)
    if answer.status_code != 200:
        one.fail("F18", f"a stop was answered {answer.status_code} {answer.text[:200]}")
    await one.load.quiet()


# -- any bytes at all


async def g21(order: Order) -> None:
    """A CLI that says random lines: mutations of recorded ones, grammar, noise. ``count`` is in turns of 1,000 lines."""
    for number in range(order.first, order.first + order.count):
        rng = random.Random(f"{order.seed}/{number}")
        house = House()
        program = _program(house.folder)
        house.configure(
            {"port": 0, "cli": str(program)},
            {
                "PROVE_SEED": f"{order.seed}/{number}",
                "PROVE_LINES": "1000",
                "PROVE_LEDGER": str(house.ledger),
                "PROVE_RECORDED": str(ROOT / "tests" / "lines"),
            },
        )
        seed = order.name(number)
        try:
            await house.start()
            async with Load(house, rng, sessions=1, kinds=("talk",)) as load:
                await _fuzzed(Round(load, rng, order.tally, number, seed))
            order.tally.blows += 1
        finally:
            for words in await house.close():
                order.tally.fail("I8", words, seed)
            order.saved()


def _program(folder: Path) -> Path:
    program = folder / "claude"
    body = (ROOT / "prove" / "babbler.py").read_text()
    program.write_text(f"#!{sys.executable}\n{body}")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    if shutil.which(str(program)) is None:
        raise RuntimeError("the babbler can't be run")
    return program


async def _fuzzed(one: Round) -> None:
    session = one.load.sessions[0]
    await one.load.people.prompt(session, "babble")
    until = time.monotonic() + 60.0
    while not any(line_is_last(cli.said) for cli in one.load.noted.read()) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.3)
    ended = rows(one.house.database, "SELECT CAST(body AS TEXT) AS said FROM event_log WHERE kind = 'process_ended'")
    if any('"wanted":true' not in row["said"] for row in ended):
        one.fail("G21", f"the session's process has ended: {ended[0]['said']}")
    answer = await one.load.people.ask("POST", f"/sessions/{session}/stop", json={"patience": 2})
    if answer.status_code != 200:
        one.fail("G21", f"after odd lines a stop was answered {answer.status_code} {answer.text[:200]}")
    one.load.side.people.acts.clear()  # how a prompt ends in the midst of nonsense is not what is asked here
    findings = await one.load.check()
    findings.counts["odd lines"] = findings.counts["lines"]
    one.tally.add(findings, one.seed)
    if not one.house.up:
        one.fail("G21", f"the hub has ended: {one.house.last_words()[-500:]}")


def line_is_last(said: list[Said]) -> bool:
    return len(said) >= 1000


WIRE = [
    Proof("F17", "half, endless, broken and hostile lines; floods", (22, 55), f17, ("G1", "G3", "G5", "G10", "G21"), 2),
    Proof("F18", "a CLI that never reads; prompts of 10 MiB", (12, 50), f18, ("G5",), 1),
    Proof("G21", "random lines: mutated, from a grammar, plain noise (1,000 a blow)", (20, 1000), g21, ("G3", "G10", "G21"), 1),
]
