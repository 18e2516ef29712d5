"""What nobody needs any more goes; what a prompt still needs stays."""

from __future__ import annotations

import os
from typing import Any

from ropewalk.events import commands as c
from ropewalk.hub.sweep import BATCH, KEPT, Sweep
from ropewalk.store.base import Change, Entry, put
from ropewalk.store.rows import AttachmentRow, CommandRow
from tests.hub.house import MIA, House, Talk

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


def sweep_of(talk: Talk) -> Sweep:
    world = talk.hub.world
    return Sweep(world.store, world.config, world.clock, world.tasks)


async def test_commands_are_forgotten_after_a_month_and_not_before(house: House, talk: Talk) -> None:
    """ours: also more than one batch of them; one under way is not touched"""
    store, now = talk.hub.store, talk.hub.world.clock()

    def row(name: str, at: float, state: str = "done") -> CommandRow:
        return CommandRow(principal="Mia", client_id=name, state=state, at=at)

    old = [row(f"old-{number}", now - KEPT - 10) for number in range(BATCH + 5)]
    young = [row("young", now - KEPT + 3600), row("under way", now - KEPT - 10, "accepted")]
    await store.append(Entry(rows=[put(one) for one in [*old, *young]]))
    assert await sweep_of(talk).commands() == BATCH + 5
    left = await store.find(CommandRow, {"principal": "Mia"}, limit=1000)
    assert {one.client_id for one in left} == {"young", "under way"}


async def attached(talk: Talk, session: str, name: str) -> AttachmentRow:
    told = await talk.hub.attach_file(MIA, session, name, b"words", "text/plain")
    row = await talk.hub.store.get(AttachmentRow, told["id"])
    assert row is not None
    long_ago = talk.hub.world.clock() - KEPT - 10
    await talk.hub.store.append(Entry(rows=[Change("attachment", {"id": row.id}, {"at": long_ago})]))
    return row


async def test_a_file_that_no_prompt_names_is_removed_and_one_that_a_prompt_needs_is_not(house: House, talk: Talk) -> None:
    """ours: one never sent, one whose prompt was withdrawn; one that waits, one that Claude has heard of, a young one"""
    house.rule("work", ASKS)
    session = (await talk.new("work")).id
    await talk.question(session)
    unsent, withdrawn, waiting = [await attached(talk, session, name) for name in ("a.txt", "b.txt", "c.txt")]

    async def prompt(row: AttachmentRow) -> str:
        blocks = [{"type": "text", "text": "look"}, {"type": "attachment", "id": row.id}]
        return (await talk.hub.prompt(MIA, session, c.Prompt(content=blocks))).id

    await talk.hub.withdraw(MIA, session, await prompt(withdrawn), c.Withdraw())
    await prompt(waiting)
    young = await talk.hub.attach_file(MIA, session, "d.txt", b"words", "text/plain")
    assert await sweep_of(talk).attachments() == 2
    left = {row.id for row in await talk.hub.store.find(AttachmentRow, {"session": session})}
    assert left == {waiting.id, young["id"]}
    assert [os.path.exists(row.path) for row in (unsent, withdrawn, waiting)] == [False, False, True]
