"""Lines that came together are one entry; one of them that can't be kept does not take the others with it."""

from __future__ import annotations

from ropewalk.events import events as e
from ropewalk.sessions.wire import Run
from ropewalk.store.base import Line, put
from tests.hub.house import House, Talk, until


async def test_a_run_that_can_not_be_kept_as_one_is_kept_line_by_line(house: House, talk: Talk) -> None:
    """ours: what is wrong with one of them fails alone"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    loaded = talk.hub.roster.awake[session.id]
    wire = loaded.wire
    assert wire is not None
    texts = ["one", "two", "three"]
    events: list[e.Event] = [
        e.Text(text=text, session=session.id, at=1.0, process=wire.process, line=9000 + at) for at, text in enumerate(texts)
    ]
    lines = [Line(wire.process, "out", 9000 + at, 1.0, text.encode()) for at, text in enumerate(texts)]
    run = Run(events=events, rows=[put(loaded.row)], lines=lines, parts=[1, 1, 1])
    loaded.post_run(run, wire.process, loaded.told_and(lambda stored: None))

    async def kept() -> bool:
        told = [event.get("text") for event in await talk.events(session.id) if event["kind"] == "text"]
        return told[-3:] == texts

    await until(kept, "the three lines")
