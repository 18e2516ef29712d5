"""A disk that takes its time: nothing is told before it is kept, and nothing overtakes what was said before it."""

from __future__ import annotations

import functools
import json
import time
from typing import Any

import pytest

from ropewalk import daemon
from ropewalk.store.sqlite import open_store
from tests.hub.house import MIA, House, until

SLOW = 0.3
"""Seconds that each commit takes: ten times as long as deltas are gathered."""


class Ear:
    """Everything in the order in which it was told: (kind, the block it names)."""

    backlog = 0

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def told(self, session: str, events: list[tuple[int, bytes]]) -> None:
        self.live(session, [body for _, body in events])

    def live(self, session: str, events: list[bytes]) -> None:
        told: list[dict[str, Any]] = [json.loads(body) for body in events]
        self.heard += [(one["kind"], one.get("block", "")) for one in told]

    def cut(self, why: str) -> None:
        raise AssertionError(why)


async def test_a_live_delta_never_overtakes_what_was_said_before_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: the second block's pieces come while the first, finished, is on its way to a slow disk"""

    def at_point(name: str) -> None:
        if name == "store: before commit":
            time.sleep(SLOW)

    monkeypatch.setattr(daemon, "open_store", functools.partial(open_store, at_point=at_point))
    house.rule("work", {"text": "first"}, {"text": "second " * 30, "pace": 5e6})  # fifty milliseconds a word
    async with house.opened() as talk:
        session = await talk.new()
        ear = Ear()
        listening = await talk.hub.subscribe(MIA, session.id, 0, ear)
        await talk.prompt(session.id, "work")

        async def finished() -> bool:
            return "turn_ended" in [kind for kind, _ in ear.heard]

        await until(finished, "turn_ended")
        listening.close()
    first, second = (block for kind, block in ear.heard if kind == "text")
    pieces = [at for at, told in enumerate(ear.heard) if told == ("text_delta", second)]
    assert pieces, "the pieces of the second block are told while it is said"
    assert ear.heard.index(("text", first)) < pieces[0]
    assert pieces[-1] < ear.heard.index(("text", second))
