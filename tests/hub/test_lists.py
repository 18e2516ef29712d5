"""Lists and short names with more sessions than fit on a page."""

from __future__ import annotations

import pytest

from ropewalk.errors import Conflict, NotFound
from ropewalk.events import ids
from tests.hub.house import MIA, House, Talk

ASKS = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


async def test_every_session_is_on_one_page_and_those_that_wait_are_on_the_first(house: House, talk: Talk) -> None:
    """ours: none twice, none left out, whatever the size of a page"""
    house.rule("ask", ASKS)
    waiting = await talk.new("ask")
    await talk.question(waiting.id)
    made = {waiting.id, *[(await talk.new(title=f"number {number}")).id for number in range(7)]}
    seen: list[str] = []
    cursor = None
    while True:
        page = await talk.hub.sessions(MIA, limit=3, cursor=cursor)
        if cursor is None:
            assert page.items[0].id == waiting.id
        seen += [view.id for view in page.items]
        cursor = str(page.next) if page.next else None
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) and set(seen) == made
    assert [view.id for view in (await talk.hub.sessions(MIA, status="needs_you", limit=3)).items] == [waiting.id]


async def test_the_start_of_an_id_is_found_among_many_that_hold_it_elsewhere(talk: Talk) -> None:
    """ours: titles and prompts that hold the same letters are no ids"""
    session = await talk.new(title="the first")
    start = session.id[:6]
    for number in range(55):
        await talk.new(title=f"{start} {number}")
    talk.hub.roster.awake.clear()
    assert (await talk.hub.session(MIA, start)).id == session.id
    other = next(letter for letter in ids.ALPHABET if letter != session.id[5])
    with pytest.raises(NotFound):
        await talk.hub.session(MIA, f"{session.id[:5]}{other}")
    with pytest.raises(NotFound):
        await talk.hub.session(MIA, "%%%%")


async def test_a_start_that_several_share_is_refused_with_their_names(talk: Talk) -> None:
    """ours"""
    ids_given = iter(["zzzzzzzzzzzz1"[: ids.LENGTH], "zzzzzzzzzzzz2"[: ids.LENGTH]])
    talk.hub.world.new_id = lambda: next(ids_given)
    first, second = await talk.new(), await talk.new()
    with pytest.raises(Conflict, match=first.id) as refused:
        await talk.hub.session(MIA, "zzzz")
    assert second.id in str(refused.value)
