"""What changes around a hub: a second hub, folders that go, homes that are read-only, settings and tokens that are changed."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ropewalk.events.events import SessionCreated, Text
from ropewalk.store.base import Entry, put
from ropewalk.store.rows import SessionRow
from ropewalk.store.sqlite import open_store

from ..book import rows
from ..house import House, HouseError
from ..inside import inside, mount, remount
from ..people import People
from ..proof import Order, Proof
from ..rounds import Round
from .once import opened, until

# -- F26


async def f26(order: Order) -> None:
    """A second hub on the same file refuses in words, and the first does not notice."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            await one.load.people.prompt(one.load.sessions[0], "yes")
            first = one.house.hub
            second = House(folder=one.house.folder)
            began = time.monotonic()
            try:
                await second.start()
                one.fail("F26", "a second hub serves from the same file")
                second.kill_hub()
            except HouseError as refusal:
                words = str(refusal)
                if "Traceback" in words or str(first.pid if first else "") not in words:
                    one.fail("F26", f"refused in these words: {words[-300:]}")
            one.tally.measure("F26 refused after", time.monotonic() - began)
            await one.load.people.prompt(one.load.sessions[0], "yes")
        order.tally.blows += 1


# -- F36


async def f36(order: Order) -> None:
    await inside(order, "F36")


async def folders(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        way = FOLDERS[number % len(FOLDERS)]
        async with opened(order, number) as one:
            await way(one)
        order.tally.blows += 1


async def _first_turn(one: Round) -> tuple[str, Path]:
    session = one.load.sessions[0]
    await one.load.people.prompt(session, "yes")
    await until(one, lambda: not rows(one.house.database, "SELECT 1 FROM prompt WHERE state != 'done'"), "the first turn")
    return session, one.house.work / "s0"


async def _refused_in_words(one: Round, session: str) -> None:
    """The next start fails, says why, and the prompt waits."""
    await one.load.people.ask("POST", f"/sessions/{session}/stop", json={"patience": 5})
    await one.load.people.prompt(session, "yes")
    failed = "SELECT body FROM event_log WHERE kind = 'failed' AND session = ?"
    if not await until(one, lambda: rows(one.house.database, failed, session), "a session without a folder says so", 10.0):
        return
    view = (await one.load.people.get(f"/sessions/{session}"))["session"]
    if view["status"] != "failed" or not view["why"]:
        one.fail("F36", f"a session without a folder is {view['status']} ({view['why']})")


async def folder_removed(one: Round) -> None:
    session, folder = await _first_turn(one)
    shutil.rmtree(folder)
    await _refused_in_words(one, session)
    folder.mkdir()


async def folder_renamed(one: Round) -> None:
    session, folder = await _first_turn(one)
    away = folder.with_name("away")
    folder.rename(away)
    await _refused_in_words(one, session)
    away.rename(folder)


async def home_full(one: Round) -> None:
    """The CLI's own home takes nothing: what it does then is its own; the hub lives, and says what it hears."""
    mount(one.house.home, "1m")
    with suppress(OSError), open(one.house.home / "ballast", "wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    await one.load.people.prompt(one.load.sessions[0], "yes")
    await asyncio.sleep(2.0)
    await one.load.people.get("/health")
    (one.house.home / "ballast").unlink()


async def home_read_only(one: Round) -> None:
    mount(one.house.home, "1m")
    remount(one.house.home, "ro")
    await one.load.people.prompt(one.load.sessions[0], "yes")
    await asyncio.sleep(2.0)
    await one.load.people.get("/health")
    remount(one.house.home, "rw")


async def temporary_full(one: Round) -> None:
    mount(one.house.folder / "tmp", "64k")
    with suppress(OSError), open(one.house.folder / "tmp" / "ballast", "wb", buffering=0) as file:
        while True:
            file.write(b"\0" * 4096)
    await one.load.people.prompt(one.load.sessions[0], "yes")
    await until(
        one, lambda: rows(one.house.database, "SELECT 1 FROM prompt WHERE state = 'done'"), "a turn without a temporary folder"
    )


FOLDERS: tuple[Callable[[Round], Awaitable[None]], ...] = (
    folder_removed,
    folder_renamed,
    temporary_full,
    home_full,
    home_read_only,
)


# -- F37


async def f37(order: Order) -> None:
    """Token and settings are changed under a running hub: it goes on with what it has; at a start it says what is wrong."""
    for number in range(order.first, order.first + order.count):
        async with opened(order, number) as one:
            await _changed(one, one.number % 4)
        order.tally.blows += 1


async def _changed(one: Round, way: int) -> None:
    token, settings = one.house.state / "token", one.house.state / "config.toml"
    kept = {path: path.read_bytes() for path in (token, settings)}
    if way == 0:
        settings.write_text("port = 'no number'\n")
    elif way == 1:
        settings.write_text("this is no TOML = = =")
    elif way == 2:
        token.write_text("rw_somebody_elses\n")
    else:
        token.unlink()
    answer = await one.load.people.ask("GET", "/me")
    if answer.status_code != 200:
        one.fail("F37", f"the old token was answered {answer.status_code} after a file was changed")
    await one.load.people.prompt(one.load.sessions[0], "yes")
    if way < 2:
        one.house.kill_hub()
        try:
            await one.house.start()
            one.fail("F37", "the hub starts on settings that can't be read")
        except HouseError as refusal:
            if "Traceback" in str(refusal) or "config.toml" not in str(refusal):
                one.fail("F37", f"refused in these words: {str(refusal)[-300:]}")
    for path, body in kept.items():
        path.write_bytes(body)
        os.chmod(path, 0o600)
    if way < 2:
        await one.house.start()


# -- G24


SESSIONS, EVENTS = 1000, 1_000_000


async def g24(order: Order) -> None:
    """A store with very much in it is built once; then the hub is killed and started on it again and again."""
    house = House()
    rng, seed = random.Random(order.seed), order.name(order.first)
    people = People(house, rng)
    try:
        began = time.monotonic()
        await build(house, *((SESSIONS, EVENTS) if order.count > 1 else (100, 20_000)))
        order.say(f"    built in {time.monotonic() - began:.0f} s")
        for _ in range(order.count):
            await house.start()
            answer = await people.ask("GET", "/sessions", params={"limit": 100})
            order.tally.measure("G24 serving after", house.served_in)
            order.tally.counts["starts with much"] += 1
            order.tally.blows += 1
            if answer.status_code != 200 or house.served_in > 3.0:
                order.tally.fail("G24", f"{answer.status_code} after {house.served_in:.1f} s", seed)
            await people.act("create", "/sessions", "", {"cwd": str(house.folder_for("new"))})
            house.kill_hub()
            order.saved()
    finally:
        await people.close()
        for words in await house.close():
            order.tally.fail("I8", words, seed)


async def build(house: House, sessions: int, events: int) -> None:
    """Straight into a store of the house; the hub finds it as if it had always been there."""
    async with open_store(house.database) as store:
        last: Any = None
        for number in range(sessions):
            name = f"old{number:05d}"
            at = 1_700_000_000.0 + number
            row = SessionRow(
                id=name, title=f"session {number}", cwd=str(house.work), runner="local", status="asleep", created_at=at
            )
            row.changed_at, row.options = at, b'{"options":{},"begun":{"turns":true}}'
            created = SessionCreated(session=name, at=at, cwd=row.cwd)
            last = store.append(Entry(session=name, epoch=1, events=[created], rows=[put(row)]))
            await last
            for begin in range(0, events // sessions - 1, 100):
                size = min(100, events // sessions - 1 - begin)
                said = [Text(session=name, at=at + at_, text=f"word {begin + at_} of {number}") for at_ in range(size)]
                last = store.append(Entry(session=name, epoch=1, events=list(said)))
        await last


INSIDE = {"F36": folders}

AROUND = [
    Proof("F26", "a second hub on the same database", (10, 20), f26, (), 1),
    Proof("F36", "folders removed and renamed, a full and a read-only home, a full temporary folder", (15, 20), f36, (), 1),
    Proof("F37", "settings and token changed or unreadable under a running hub", (12, 20), f37, (), 1),
    Proof("G24", "start on 1,000 sessions and 1,000,000 events after kill -9", (10, 50), g24, ("G24",), 1, alone=True),
]
