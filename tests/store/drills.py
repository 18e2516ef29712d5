"""``python -m tests.store.drills <drill> <folder>``: a process with a store that a test may kill, starve or lock out."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from ropewalk.errors import StoreRefused, StoreUnavailable
from ropewalk.store.sqlite import SqliteStore, open_store
from tests.store.words import BOUND, SEARCHED, begin, facts, heard, texts


async def flood(folder: Path) -> None:
    """Store without end; every number is said as soon as it is told."""
    async with open_store(folder / "ropewalk.db", searched=SEARCHED) as store:
        await begin(store)
        n = 0
        while True:
            n += 1
            entry = heard(n, f"text {n}", rows=())
            entry.on_stored = lambda stored: say(f"{stored.entry.line_no} {stored.entry.events[0].seq}\n")
            store.post(entry)
            if n % 64 == 0:
                await store.settled()


def say(text: str) -> None:
    os.write(1, text.encode())


async def limited(folder: Path) -> None:
    """No file may grow beyond a limit, for a while: what an ordinary user can have of a full disk."""
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def starve() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (512 * 1024, hard))

    await starved(folder, starve, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard)))


async def full(folder: Path) -> None:
    """A small disk of our own (in a mount namespace), filled to its end, for a while."""
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(folder)]
    subprocess.run(command, check=True)
    filler = folder / "filler"

    def fill() -> None:
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    await starved(folder, fill, filler.unlink)


async def starved(folder: Path, begin_hunger: Callable[[], None], end_hunger: Callable[[], None]) -> None:
    felt: list[str] = []
    told: list[int] = []
    async with open_store(folder / "ropewalk.db") as store:
        store.watch(lambda health: felt.append(health.state))
        await begin(store)
        await store.append(facts("before"))
        begin_hunger()
        n = await _until_sick(store, told)
        refused = await _refusal(store)
        health, told_before = store.health, len(told)
        waiting = len(await texts(store))
        end_hunger()
        await _until(lambda: store.health.well)
        await asyncio.wait_for(store.settled(), BOUND)
        await store.append(facts("after", keep=False))
    async with open_store(folder / "ropewalk.db") as store:
        kept = await texts(store)
        result = {
            "state": health.state, "why": health.why, "refused": refused, "felt": felt, "sent": n, "told": told,
            "told_before": told_before, "stored_when_sick": waiting, "kept": kept,
            "integrity": sqlite3.connect(folder / "ropewalk.db").execute("PRAGMA integrity_check").fetchone()[0],
        }  # fmt: skip
    say(json.dumps(result))


async def _until_sick(store: SqliteStore, told: list[int]) -> int:
    """Facts of 8 KiB until the disk has no room, and has none for half a second; returns how many.

    A log that fills up may find room for a while yet: what it holds is moved into the file, and it begins again.
    """
    n = sick = 0
    async with asyncio.timeout(BOUND):
        while sick < 100:
            sick = 0 if store.health.well else sick + 1
            if sick < 20:
                n += 1
                entry = facts(f"{n} " + "x" * 8192)
                entry.on_stored = lambda stored: told.append(stored.entry.events[0].seq)
                store.post(entry)
            await asyncio.sleep(0.005)
    return n


async def _refusal(store: SqliteStore) -> str:
    try:
        await asyncio.wait_for(store.append(facts("wish", keep=False)), BOUND)
    except StoreUnavailable as error:
        return str(error)
    return ""


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND):
        while not true():
            await asyncio.sleep(0.01)


async def unlucky(folder: Path) -> None:
    """Stores one by one, while whoever started it lets every few calls to the disk fail. Facts and wishes in turn."""
    told: list[int] = []
    refused: list[int] = []
    felt: list[str] = []
    async with open_store(folder / "ropewalk.db") as store:
        store.watch(lambda health: felt.append(health.state))
        for n in range(1, 121):
            entry = facts(str(n), keep=n % 2 == 0)
            entry.on_stored = lambda stored: told.append(stored.entry.events[0].seq)
            entry.on_failed = lambda error, n=n: refused.append(n)
            store.post(entry)
            await asyncio.wait_for(store.settled(), BOUND)
        kept = await texts(store)
    say(json.dumps({"told": told, "refused": refused, "felt": felt, "kept": kept}))


async def read_only(folder: Path) -> None:
    """As an ordinary user, a file that may not be written."""
    async with open_store(folder / "ropewalk.db") as store:
        await begin(store)
    os.chmod(folder / "ropewalk.db", 0o400)
    if os.geteuid() == 0:
        for place in (folder, *folder.iterdir()):
            os.chown(place, 65534, 65534)
        os.setgroups([])
        os.seteuid(65534)
    try:
        async with open_store(folder / "ropewalk.db"):
            say("opened")
    except StoreRefused as error:
        say(str(error))


async def second(folder: Path) -> None:
    """Another hub on the same file."""
    try:
        async with open_store(folder / "ropewalk.db"):
            say("opened")
    except StoreRefused as error:
        say(str(error))


DRILLS: dict[str, Callable[[Path], Awaitable[None]]] = {
    "flood": flood, "limited": limited, "full": full, "unlucky": unlucky, "read_only": read_only, "second": second,
}  # fmt: skip


async def main(drill: str, folder: str) -> None:
    await DRILLS[drill](Path(folder))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
