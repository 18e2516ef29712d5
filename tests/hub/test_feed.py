"""How history is read to a listener: by its bytes, so that one who takes nothing costs little, whatever comes next in it."""

from __future__ import annotations

import asyncio

from ropewalk.hub.feed import ROOM, Feed, Told
from ropewalk.store.memory import open_memory
from tests.store.words import begin, facts

LARGE = 60_000


class Deaf:
    """Takes nothing: all that it was told stands before it."""

    def __init__(self) -> None:
        self.backlog, self.heard = 0, 0
        self.full = asyncio.Event()

    def told(self, session: str, events: Told) -> None:
        self.backlog += sum(len(body) for _, body in events)
        self.heard += len(events)
        if self.backlog > ROOM // 2:
            self.full.set()

    def live(self, session: str, events: list[bytes]) -> None: ...

    def cut(self, why: str) -> None: ...


async def test_many_small_events_say_nothing_about_the_size_of_the_next_ones() -> None:
    """ours: G12; a page of five hundred was read after sixteen small ones, 8 MB for each listener."""
    async with open_memory() as store, Feed(store.events) as feed:
        await begin(store)
        for n in range(200):
            store.post(facts("x" if n < 50 else "x" * LARGE))
        await store.settled()
        ear = feed.subscribe("s", 0, deaf := Deaf())
        async with asyncio.timeout(30):
            await deaf.full.wait()
        await asyncio.sleep(0)
        assert deaf.heard > 50 and deaf.backlog < ROOM + 2 * LARGE
        ear.close()
