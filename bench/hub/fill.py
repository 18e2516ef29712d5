"""A store as it is after years: ``python -m bench.hub.fill HOME SESSIONS EVENTS``. By the store's own way in; refuses SQL."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path

from bench.corpus import SEED, WORDS
from ropewalk.events import events as e
from ropewalk.events.ids import id_from
from ropewalk.hub.searched import SEARCHED
from ropewalk.store.base import Entry, put
from ropewalk.store.rows import SessionRow
from ropewalk.store.sqlite import open_store

AT_ONCE = 200
"""Events in one entry."""


async def fill(home: Path, sessions: int, events: int) -> None:
    chance, began = random.Random(SEED), time.time() - 1e7
    async with open_store(home / "ropewalk.db", searched=SEARCHED) as store:
        for number in range(sessions):
            session = id_from(chance.randbytes(9))
            told = [_event(chance, began + number * 1000 + index) for index in range(events // sessions)]
            row = SessionRow(
                id=session, title=_words(chance, 6), cwd=f"/home/user/project-{number % 40}", status="asleep", runner="local",
                created_at=began + number * 1000, changed_at=began + number * 1000 + 999, last_prompt=_words(chance, 12),
                model="claude-opus-5-5", mode="default", cost_usd=chance.random(),
            )  # fmt: skip
            await store.append(Entry(rows=[put(row)]))
            for at in range(0, len(told), AT_ONCE):
                for event in told[at : at + AT_ONCE]:
                    event.session = session
                await store.append(Entry(session=session, events=told[at : at + AT_ONCE]))
        while (await store.size()).unindexed:
            await asyncio.sleep(0.2)


def _event(chance: random.Random, at: float) -> e.Event:
    kind = chance.random()
    if kind < 0.5:
        return e.Text(text=_words(chance, chance.randint(3, 40)), at=at)
    name = f"toolu_{chance.getrandbits(64):016x}"
    if kind < 0.75:
        return e.ToolStarted(
            tool_use=name, tool="Bash", does="run", title=_words(chance, 4), input={"command": _words(chance, 6)}, at=at
        )
    return e.ToolFinished(tool_use=name, tool="Bash", summary=_words(chance, 8), at=at)


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


if __name__ == "__main__":
    asyncio.run(fill(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
