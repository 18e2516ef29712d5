"""Damaged files: flipped bits, cut databases, cut spools. Found out, refused or salvaged in words; never told as if whole.

One house is built and killed in the midst of turns; each blow is a copy of what it left, damaged, and a hub started on it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..book import Book, read
from ..check import names_the_loss
from ..house import GUARD, House, HouseError
from ..load import Load
from ..noted import Noted
from ..people import People
from ..processes import of_house, send
from ..proof import Order, Proof


class Ruin:
    """What a killed house left: its state folder, and what its log said when it was whole."""

    def __init__(self, house: House, book: Book, noted: Noted) -> None:
        self.house, self.book, self.noted = house, book, noted


async def ruined(rng: random.Random) -> Ruin:
    """The hub dies first, so that the spool holds lines that no hub has; then all else."""
    house = House(version="2.1.326")
    await house.start()
    async with Load(house, rng, sessions=4) as load:
        await asyncio.gather(*load.prompts())
        await load.quiet()
        house.signal_hub(signal.SIGTERM)  # so that the database itself holds something, not only its log
        await house.gone()
        await house.start()
        await asyncio.gather(*load.prompts(1))
        await asyncio.sleep(0.3)
        house.kill_hub()
        await asyncio.sleep(0.8)
        for one in of_house(house.folder):
            send(one, signal.SIGKILL)
        await house.emptied(10.0)
    return Ruin(house, read(house.database), Noted(house.ledger, house.runner_log))


async def damaged(order: Order) -> None:
    ruin = await ruined(random.Random(f"{order.seed}/ruin"))
    try:
        for number in range(order.first, order.first + order.count):
            await _image(order, ruin, number)
            order.tally.blows += 1
            order.saved()
    finally:
        await ruin.house.close()


async def _image(order: Order, ruin: Ruin, number: int) -> None:
    rng = random.Random(f"{order.seed}/{number}")
    house = _copy(ruin.house)
    how, harm = WAYS[number % len(WAYS)]
    bad: list[str] = []
    try:
        words = harm(house, rng)
        bad = await _judged(order, ruin, house, how)
        for found in bad:
            order.tally.fail("F12", f"{how} ({words}): {found}", order.name(number))
    finally:
        bad += await house.close(keep=order.keep and bool(bad))
        if bad and order.keep:
            order.say(f"kept: {house.folder}")


def _copy(whole: House) -> House:
    house = House()
    shutil.rmtree(house.state)
    shutil.copytree(whole.state, house.state, ignore=shutil.ignore_patterns("*.sock"))
    house.configure(house.settings, house.environment)
    return house


def flipped(house: House, rng: random.Random) -> str:
    """A few bits of the database."""
    return _flip(house.database, rng, rng.choice((1, 1, 8, 64)))


def cut(house: House, rng: random.Random) -> str:
    return _cut(house.database, rng)


def log_flipped(house: House, rng: random.Random) -> str:
    """Of SQLite's own log, which SQLite reads up to the first bad frame, and says nothing: the hub must."""
    return _flip(Path(f"{house.database}-wal"), rng, 1)


def log_cut(house: House, rng: random.Random) -> str:
    return _cut(Path(f"{house.database}-wal"), rng)


def spool_cut(house: House, rng: random.Random) -> str:
    found = sorted((house.state / "runner" / "spool").glob("**/*.lines"))
    return _cut(rng.choice(found), rng) if found else "no spool"


def spool_flipped(house: House, rng: random.Random) -> str:
    found = [path for path in sorted((house.state / "runner" / "spool").glob("**/*.lines")) if path.stat().st_size]
    return _flip(rng.choice(found), rng, 1) if found else "no spool"


def _flip(path: Path, rng: random.Random, count: int) -> str:
    body = bytearray(path.read_bytes())
    places = [rng.randrange(len(body)) for _ in range(count)]
    for place in places:
        body[place] ^= 1 << rng.randrange(8)
    path.write_bytes(body)
    return f"{path.name}: bits at {places[:4]}"


def _cut(path: Path, rng: random.Random) -> str:
    size = path.stat().st_size
    left = rng.randrange(size)
    os.truncate(path, left)
    return f"{path.name}: {left} of {size} bytes"


WAYS = (
    ("flipped bits", flipped), ("cut database", cut), ("flipped log", log_flipped), ("cut log", log_cut),
    ("cut spool", spool_cut), ("flipped spool", spool_flipped),
)  # fmt: skip


async def _judged(order: Order, ruin: Ruin, house: House, how: str) -> list[str]:
    try:
        await house.start()
    except HouseError as refusal:
        order.tally.counts["refused"] += 1
        words = str(refusal)
        if "Traceback" in words or "damaged" not in words or "doctor --salvage" not in words:
            return [f"refused in these words: {words[-800:]}"]
        return await _salvaged(order, ruin, house)
    return await _served(order, ruin, house, how)


async def _served(order: Order, ruin: Ruin, house: House, how: str, *, lossy: bool = False) -> list[str]:
    """``lossy``: that something is missing was said before."""
    people = People(house, random.Random(1))
    try:
        with suppress(TimeoutError):
            await asyncio.wait_for(_settled(people), 20.0)
        wrong = await _events(ruin, people, order, lossy)
        if "spool" in how:
            wrong += _lines(ruin, house)
    finally:
        await people.close()
    if "Traceback" in house.last_words():
        wrong.append(f"a traceback: {house.last_words()[-800:]}")
    return wrong


async def _salvaged(order: Order, ruin: Ruin, house: House) -> list[str]:
    """Doctor finds it damaged; what is left is put in its place with a count; and the hub serves that."""
    code, said = await _doctor(house, "--json")
    if code == 0:
        return [f"the hub refuses what the doctor finds well: {said[-600:]}"]
    code, said = await _doctor(house, "--salvage", "--yes", "--json")
    if "nothing could be read" in said and code:
        order.tally.counts["beyond salvage"] += 1
        return []
    if code or not json.loads(said)["problems"]:
        return [f"salvage ended with {code} and says {said[-600:]}"]
    order.tally.counts["salvaged"] += 1
    order.tally.counts["taken back, said and salvaged"] += bool(json.loads(said)["taken_back"])
    try:
        await house.start()
    except HouseError as refusal:
        return [f"what was salvaged is refused: {str(refusal)[-600:]}"]
    return await _served(order, ruin, house, "", lossy=True)


async def _doctor(house: House, *words: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "ropewalk", "doctor", *words]
    child = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=house.environ(),
        cwd=house.folder,
    )
    said, _ = await asyncio.wait_for(child.communicate(), GUARD)
    return child.returncode or 0, said.decode(errors="replace")


async def _settled(people: People) -> None:
    """Processes of the dead house are known to be gone."""
    while True:
        answer = await people.ask("GET", "/sessions", params={"limit": 1000})
        if answer.status_code != 200 or not any(item["process"] for item in answer.json()["items"]):
            return
        await asyncio.sleep(0.05)


async def _events(ruin: Ruin, people: People, order: Order, lossy: bool) -> list[str]:
    """What is told of the old log is what it was, to the last event; or it is said that it can't be, or that it is damaged.

    A number that was told is never another event's afterwards, whatever was lost.
    """
    missing, unread = 0, []
    for session, events in ruin.book.events.items():
        told = await _all_events(people, session)
        if isinstance(told, int):
            unread.append(f"{session} is answered {told}")
            continue
        other = [seq for seq, event in events.items() if seq in told and told[seq] != event]
        if other:
            return [f"event {other[0]} of {session} is told otherwise than it was: {told[other[0]]} for {events[other[0]]}"]
        missing += sum(seq not in told for seq in events)
    health = (await people.ask("GET", "/health")).json()
    order.tally.counts["images read"] += 1
    order.tally.counts["said to be damaged"] += health.get("store") != "ok"
    if (missing or unread) and health.get("store") == "ok" and not lossy:
        return [f"{missing} events are missing ({unread[:2]}), and nothing says so"]
    return []


async def _all_events(people: People, session: str) -> dict[int, dict[str, Any]] | int:
    """By their numbers; or with which status that was refused."""
    found: dict[int, dict[str, Any]] = {}
    after = 0
    while True:
        answer = await people.ask("GET", f"/sessions/{session}/events", params={"after": after, "limit": 1000})
        if answer.status_code != 200:
            return answer.status_code
        page = answer.json()
        found |= {event["seq"]: event for event in page["items"]}
        if page["next"] is None:
            return found
        after = page["next"]


def _lines(ruin: Ruin, house: House) -> list[str]:
    """No line that no CLI said; and where lines are missing, an event of that very process says so."""
    wrong = []
    book = read(house.database)
    for cli in ruin.noted.read():
        stored = book.lines.get(cli.process, {})
        for n, raw in stored.items():
            if n > len(cli.said) or not cli.said[n - 1].is_(raw):
                wrong.append(f"line {n} of {cli.process} was never said so: {raw[:80]!r}")
        process = book.processes.get(cli.process)
        wanted = {n for n, said in enumerate(cli.said, 1) if not said.stream}
        if process and wanted - set(stored) and not names_the_loss(book, process):
            wrong.append(f"{len(wanted - set(stored))} lines of {cli.process} are missing, and nothing says so")
    return wrong


DAMAGE = [Proof("F12", "bit flips and cuts in the database, its log and the spool", (36, 200), damaged, (), 6)]
