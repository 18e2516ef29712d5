"""The watcher: a session that gives no sign says so, a sleep of our own is no stall, a claude that appears is found."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from ropewalk.hub.watch import Watch
from tests.hub.house import House, until


async def test_a_silent_session_says_so_and_a_sleep_of_ours_is_no_stall(house: House) -> None:
    """ours: the words come from the watcher alone, never from another event"""
    house.settings["stall_after"] = 0.05
    house.rule("hang", {"fault": "hang"})
    async with house.opened() as talk:
        session = await talk.new("hang")
        await talk.told(session.id, "prompt_taken")
        before = (await talk.status(session.id, "thinking")).why
        loaded = talk.hub.roster.awake[session.id]
        assert loaded.wire is not None
        watch = Watch(talk.hub.roster, talk.hub.claude, talk.hub.rules_file)
        now = asyncio.get_running_loop().time() + 600
        watch._look_at(loaded, now, loaded.world.clock() + 600, slept=True)
        assert loaded.row.why == before
        watch._look_at(loaded, now + 1, loaded.world.clock() + 601, slept=False)
        assert loaded.row.status == "thinking" and loaded.row.why != before


async def test_a_person_or_a_tool_may_take_all_night(house: House) -> None:
    """ours: only starting and thinking should give a sign now and then"""
    house.settings["stall_after"] = 0.05
    house.rule("work", {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 6e9})
    house.rule("ask", {"tool": "Bash", "input": {"command": "true"}, "ask": True})
    async with house.opened() as talk:
        for prompt, status in (("work", "running_tool"), ("ask", "waiting")):
            session = await talk.new(prompt)
            why = (await talk.status(session.id, status)).why
            loaded = talk.hub.roster.awake[session.id]
            Watch(talk.hub.roster, talk.hub.claude, talk.hub.rules_file)._look_at(
                loaded, asyncio.get_running_loop().time() + 9e4, 9e9, slept=False
            )
            assert (loaded.row.status, loaded.row.why) == (status, why)


async def test_a_claude_that_was_missing_is_found_and_what_waited_goes_on(house: House, tmp_path: Path) -> None:
    """ours: the hub says so, looks again by itself, and the prompt is kept"""
    claude = tmp_path / "claude"
    house.settings |= {"sim": False, "cli": str(claude)}
    async with house.opened() as talk:
        assert not talk.hub.health().claude_found
        session = await talk.new("hello")
        failed = await talk.told(session.id, "failed")
        assert failed["code"] == "cli_not_found"
        claude.write_text(f'#!/bin/sh\nexec {sys.executable} -m ropewalk.sim.claude "$@"\n')
        os.chmod(claude, 0o755)
        await talk.turns(session.id, 1)

        async def found() -> bool:
            return talk.hub.health().claude_found

        await until(found, "claude")
