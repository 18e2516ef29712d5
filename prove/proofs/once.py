"""Once: commands that are repeated, interrupts that must be quick, processes that must be one, children that must be gone."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ..book import rows
from ..house import GUARD, House
from ..knocker import knock
from ..load import Load
from ..processes import Found, of_house, send, start_time
from ..proof import Order, Proof
from ..rounds import Round
from ..tally import Tally

SCRIPT = """
pace = 0.005
[[rule]]
regex = "^burst"
steps = [ { text = "Much." }, { fault = "flood", count = 5500 }, { wait = 20 }, { text = "Never said." } ]
[[rule]]
regex = "^leave"
steps = [
  { fault = "leave_child", way = "child" }, { fault = "leave_child", way = "setsid" },
  { fault = "leave_child", way = "double_fork" },
  { fault = "leave_child", way = "setsid", hold = true }, { text = "They stay." }, { wait = 20 },
]
[[rule]]
regex = "^stubborn"
steps = [ { fault = "ignore_term" }, { fault = "leave_child", way = "double_fork" }, { text = "I stay." }, { wait = 20 } ]
[[rule]]
regex = "."
steps = [ { text = "Yes." } ]
"""


@asynccontextmanager
async def opened(order: Order, number: int, sessions: int = 1, **more: Any) -> AsyncIterator[Round]:
    rng, seed = random.Random(f"{order.seed}/{number}"), order.name(number)
    house = House(scenario=SCRIPT, **more)
    try:
        await house.start()
        async with Load(house, rng, sessions=sessions, kinds=("yes",)) as load:
            yield Round(load, rng, order.tally, number, seed)
            if still := await load.quiet():
                order.tally.fail("I12", f"not quiet: {still}", seed)
            order.tally.add(await load.check(), seed)
    finally:
        for words in await house.close():
            order.tally.fail("I8", words, seed)
        order.saved()


async def until(one: Round, condition: Any, what: str, within: float = GUARD) -> bool:
    end = time.monotonic() + within
    while not condition():
        if time.monotonic() > end:
            one.fail("I12", f"not within {within:g} s: {what}")
            return False
        await asyncio.sleep(0.01)
    return True


# -- G6


CALLS = 200
"""Of each blow; each is asked 1 to 5 times, some at the same time, some over a restart of the hub."""


async def g6(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        async with opened(order, number, sessions=2) as one:
            asking = [one.load.begin(_repeated(one, at)) for at in range(CALLS)]
            if number % 2:
                await asyncio.sleep(one.rng.uniform(0.0, 1.0))
                one.house.kill_hub()
                await one.house.start()
            await asyncio.gather(*asking)
            _one_each(one)
        order.tally.blows += 1


async def _repeated(one: Round, at: int) -> None:
    people, session = one.load.people, one.load.sessions[at % 2]
    await asyncio.sleep(one.rng.uniform(0.0, 1.5))
    again = one.rng.randint(0, 4)
    match at % 10:
        case 0:
            await people.act(
                "create", "/sessions", "", {"cwd": str(one.house.folder_for("many")), "title": f"n{at}"}, again=again
            )
        case 1 | 2:
            await people.prompt(session, "yes", again=again)
        case _:
            await people.act("rename", f"/sessions/{session}/rename", session, {"title": f"title {at} {one.number}"}, again=again)


def _one_each(one: Round) -> None:
    """Every act has one effect: one session of that title, one event of that name."""
    titles = Counter(row["title"] for row in rows(one.house.database, "SELECT title FROM session"))
    named = Counter(
        row["title"] for row in rows(
            one.house.database, "SELECT json_extract(body, '$.title') AS title FROM event_log WHERE kind = 'session_changed'")
    )  # fmt: skip
    for act in one.load.people.acts:
        one.tally.counts["repeats"] += act.tries
        found = {"create": titles, "rename": named}.get(act.what)
        if found is None or (act.what == "create" and act.body["title"].startswith("s")):
            continue
        times = found[act.body["title"]]
        if times > 1:
            one.tally.doubled["G6"] += 1
            one.tally.wrong.append(f"[{one.seed}] G6: {act.client_id} happened {times} times")
        if act.ok and times == 0:
            one.fail("G6", f"{act.client_id} was answered {act.status} and did not happen")


# -- G13


IN_TIME, LATE = 0.1, "G13 over 100 ms"


def late_interrupts(tally: Tally) -> None:
    """The 99th hundredth: of each whole hundred one may be late, of fewer none."""
    count, late = tally.counts["interrupts"], tally.counts[LATE]
    if late > count // 100:
        tally.lost["G13"] += late
        tally.wrong.append(
            f"G13: {late} of {count} interrupts took over 100 ms, the worst {tally.worst['G13 on its input after']:.3f} s"
        )


async def g13(order: Order) -> None:
    """A CLI has said 5,500 lines, nobody has read them, and is asked to stop."""
    number = order.first
    while number < order.first + order.count:
        async with opened(order, number, sessions=3) as one:
            for _ in range(min(5, order.first + order.count - number)):
                await _interrupted(one, one.load.sessions[one.rng.randrange(2)])
                number += 1
                order.tally.blows += 1


async def _interrupted(one: Round, session: str) -> None:
    other = next(name for name in one.load.sessions if name != session)
    asking = one.load.begin(one.load.people.prompt(other, "burst"))
    await one.load.people.prompt(session, "burst")
    if not await until(one, lambda: _said(one, session) >= 5500, "the flood was said"):
        return
    await asking
    began, status = await knock(one.house, f"/api/v1/sessions/{session}/interrupt")
    heard = max(
        (at for cli in one.load.noted.read() for line, at in zip(cli.heard, cli.heard_at, strict=True)
         if (line.get("request") or {}).get("subtype") == "interrupt"), default=0.0)  # fmt: skip
    seconds = heard - began
    one.tally.counts["interrupts"] += 1
    if status != 200 or heard < began:
        one.fail("G13", f"the interrupt was answered {status}, and the CLI {'heard' if heard > began else 'did not hear'} it")
    else:
        one.tally.measure("G13 on its input after", seconds)
        one.tally.counts[LATE] += seconds > IN_TIME
    await one.load.people.ask("POST", f"/sessions/{other}/interrupt", json={})
    await until(
        one, lambda: not rows(one.house.database, "SELECT 1 FROM prompt WHERE state IN ('queued','sent','taken')"), "ends"
    )


def _said(one: Round, session: str) -> int:
    """How many lines its CLI has said since its last prompt: those of the flood are in the ledger."""
    process = rows(one.house.database, "SELECT process FROM session WHERE id = ?", session)[0]["process"]
    return next((_since_prompt(cli) for cli in one.load.noted.read() if cli.process == process), 0)


def _since_prompt(cli: Any) -> int:
    asked = max((at for line, at in zip(cli.heard, cli.heard_at, strict=True) if line.get("type") == "user"), default=1e12)
    return sum(said.at > asked for said in cli.said[-6000:])


# -- G14


async def g14(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            one.load.side.cut_allowed = True
            await _orphans(one)
        order.tally.blows += 1


async def _orphans(one: Round) -> None:
    session, word = one.load.sessions[0], one.rng.choice(("leave", "leave", "stubborn"))
    await one.load.people.prompt(session, word)
    wanted = 4 if word == "leave" else 1
    await until(one, lambda: len(_children(one.house)) >= wanted, "the children are there")
    left = _children(one.house)
    cli = one.house.clis()
    one.tally.counts["orphans"] += len(left)
    way = one.rng.choice(("stop", "both", "cli"))
    one.struck()
    began = time.monotonic()
    if way == "stop":
        await one.load.people.ask("POST", f"/sessions/{session}/stop", json={"patience": 1})
    elif way == "cli":
        for found in cli:
            send(found, signal.SIGKILL)
    else:
        one.house.kill_hub()
        one.house.kill_runner()
        await one.house.start()
    began = time.monotonic() if way != "stop" else began
    watched = [*left, *cli]
    while any(start_time(found.pid) == found.started for found in watched) and time.monotonic() - began < 12.0:
        await asyncio.sleep(0.05)
    seconds = time.monotonic() - began
    one.tally.measure("G14 gone after", seconds)
    if seconds > 10.0:
        alive = [" ".join(found.words)[:80] for found in watched if start_time(found.pid) == found.started]
        one.fail("G14", f"{word}, {way}: {alive} live {seconds:.1f} s later")


def _children(house: House) -> list[Found]:
    return [one for one in of_house(house.folder) if one.marker and "ropewalk.sim.claude" not in one.words]


# -- G15


async def g15(order: Order) -> None:
    """Storms of prompts and wakes on a sleeping session, and a second session that resumes the same conversation."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            await _start_storm(one)
        order.tally.blows += 1


UNSETTLED = """
SELECT 1 FROM session JOIN prompt ON prompt.session = session.id
WHERE prompt.state IN ('sent', 'taken') OR (prompt.state = 'queued' AND session.status != 'failed')
"""
BUSY_OF = "SELECT 1 FROM prompt WHERE session = ? AND state IN ('queued', 'sent', 'taken')"


async def _start_storm(one: Round) -> None:
    session, people = one.load.sessions[0], one.load.people
    await people.prompt(session, "yes")
    await until(one, lambda: not rows(one.house.database, "SELECT 1 FROM prompt WHERE state != 'done'"), "the first turn")
    cli = rows(one.house.database, "SELECT cli_session FROM session")[0]["cli_session"]
    await people.ask("POST", f"/sessions/{session}/stop", json={"patience": 5})
    watching = one.load.begin(_most_at_once(one.house, cli))
    acts = [people.prompt(session, "yes") for _ in range(4)]
    acts += [people.act("wake", f"/sessions/{session}/wake", session, {}) for _ in range(4)]
    body = {"cwd": str(one.house.folder_for("s0")), "resume": cli, "prompt": "yes"}
    acts += [people.act("create", "/sessions", "", body) for _ in range(2)]
    one.rng.shuffle(acts)
    await asyncio.gather(*acts)
    await until(one, lambda: not rows(one.house.database, UNSETTLED), "the turns of whoever came first")
    refused = rows(one.house.database, "SELECT json_extract(body, '$.text') AS text FROM event_log WHERE kind = 'failed'")
    if any("already run by" not in row["text"] for row in refused):
        one.fail("G15", f"a second process was refused in these words: {refused}")
    await _one_after_the_other(one)
    watching.cancel()
    one.tally.counts["starts"] += len(acts)
    most = await _result(watching)
    if most > 1:
        one.tally.doubled["G15"] += 1
        one.tally.wrong.append(f"[{one.seed}] G15: {most} processes of one CLI session at once")


async def _one_after_the_other(one: Round) -> None:
    """Whoever came too late has its turns when the conversation is free."""
    people, waiting = one.load.people, "SELECT DISTINCT session FROM prompt WHERE state = 'queued'"
    while late := rows(one.house.database, waiting):
        for row in rows(one.house.database, "SELECT id FROM session WHERE process IS NOT NULL"):
            await people.ask("POST", f"/sessions/{row['id']}/stop", json={"patience": 5})
        session = late[0]["session"]
        await people.act("wake", f"/sessions/{session}/wake", session, {})
        if not await until(one, lambda session=session: not rows(one.house.database, BUSY_OF, session), "turns of who came late"):
            return


async def _result(task: asyncio.Task[int]) -> int:
    try:
        return await task
    except asyncio.CancelledError:
        return max(SEEN.get(id(task), [0]))


SEEN: dict[int, list[int]] = {}


async def _most_at_once(house: House, cli: str) -> int:
    task = asyncio.current_task()
    seen = SEEN[id(task)] = [0]
    while True:
        now = await asyncio.to_thread(house.clis)
        running = [one for one in now if any(cli in word for word in one.words)]
        seen.append(len({one.marker for one in running if start_time(one.pid) == one.started}))
        await asyncio.sleep(0.005)


ONCE = [
    Proof("G6", "commands repeated 1 to 5 times, over restarts (200 commands a blow)", (10, 50), g6, ("G6",), 1),
    Proof("G13", "interrupts while 5,000 events are unread", (100, 500), g13, ("G13",), 1, alone=True, judged=late_interrupts),
    Proof("G14", "CLIs that leave children behind, and are stopped, killed, or die with everything", (30, 300), g14, ("G14",), 1),
    Proof("G15", "storms of starts on one conversation", (15, 100), g15, ("G15",), 1),
]
