"""A session as one file, of any length: given in pieces, never held as a whole."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from ropewalk.errors import UsageError
from ropewalk.events import views as v
from ropewalk.hub.exported import exported
from tests.hub.house import MIA, House, Talk

MANY = 200_000
BODY = json.dumps({"kind": "text", "text": "x" * 400, "at": 1.0}).encode()


class Long:
    """A log that is made as it is read: each body is an object of its own."""

    async def events(self, session: str, after: int, limit: int) -> list[tuple[int, bytes]]:
        return [(seq, b"%b" % BODY) for seq in range(after + 1, min(after + limit, MANY) + 1)]


def view_of(last_seq: int) -> v.SessionView:
    return v.SessionView(
        id="s", title="long", status="asleep", why="", status_at=0.0, group="quiet", cwd="/", last_seq=last_seq, created_at=0.0,
        changed_at=0.0,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["jsonl", "json", "md"])
async def test_a_long_session_is_exported_in_pieces_and_never_held_at_once(form: str) -> None:
    """ours: eighty megabytes go through less than eight"""
    view = view_of(MANY)
    tracemalloc.start()
    try:
        _, _, pieces = await exported(Long(), view, form)
        size = sum([len(piece) async for piece in pieces])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > MANY * 400
    assert peak < 8_000_000


async def test_what_happens_after_it_was_asked_for_is_not_in_it() -> None:
    """ours: a session that talks on has an end in its file"""
    _, _, pieces = await exported(Long(), view_of(1500), "jsonl")
    assert b"".join([piece async for piece in pieces]).count(b"\n") == 1500


async def test_each_form_holds_the_whole_session(house: House, talk: Talk) -> None:
    """ours"""
    session = await talk.new("hello there", title="A talk")
    await talk.turns(session.id, 1)
    await talk.status(session.id, "idle")
    events = await talk.events(session.id)
    found = {}
    for form in ("jsonl", "json", "md"):
        name, _, pieces = await talk.hub.export(MIA, session.id, form)
        assert name == f"ropewalk-{session.id}.{form}"
        found[form] = b"".join([piece async for piece in pieces]).decode()
    assert [json.loads(line) for line in found["jsonl"].splitlines()] == events
    whole = json.loads(found["json"])
    assert whole["events"] == events and whole["session"]["id"] == session.id
    assert found["md"].startswith("# A talk\n") and "## Mia" in found["md"] and "Yes: hello there" in found["md"]
    with pytest.raises(UsageError, match="jsonl, json, md"):
        await talk.hub.export(MIA, session.id, "pdf")
