"""What an asker may not reach by a side door: folders outside of the roots, verdicts without the right to answer, bypass."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropewalk.errors import NotAllowed, UsageError
from ropewalk.events import commands as c
from ropewalk.events.commands import Principal
from tests.hub.house import MIA, House, Talk

PIA = Principal("Pia", frozenset({"prompt"}), "the page", "t-pia")


async def test_no_folder_outside_of_the_roots_is_reached(house: House, tmp_path: Path) -> None:
    """ours: S30, by cwd, by further folders, by links, by what is listed of them"""
    outside = tmp_path / "outside"
    outside.mkdir()
    (house.project / "link").symlink_to(outside)
    house.settings["roots"] = (str(house.project),)
    async with house.opened() as talk:
        for cwd in (str(outside), str(house.project / "link"), str(house.project / ".." / "outside")):
            with pytest.raises(NotAllowed, match="outside"):
                await talk.hub.create(MIA, c.CreateSession(cwd=cwd))
        for folder in (str(outside), str(house.project / "link"), "~"):
            with pytest.raises(NotAllowed, match="outside"):
                await talk.new(options=c.SessionOptions(add_dirs=[folder]))
        with pytest.raises(UsageError, match="absolute"):
            await talk.new(options=c.SessionOptions(add_dirs=["../outside"]))
        with pytest.raises(NotAllowed, match="outside"):
            await talk.hub.found(MIA, "local", str(outside))
        await talk.new(options=c.SessionOptions(add_dirs=[str(house.project)]))


async def test_a_session_whose_folder_is_no_longer_inside_the_roots_is_not_started(house: House, tmp_path: Path) -> None:
    """ours: S30; what was allowed when it was made may be no more"""
    async with house.opened() as talk:
        session = await talk.new()
    house.settings["roots"] = (str(tmp_path / "elsewhere"),)
    async with house.opened() as talk:
        await talk.prompt(session.id, "hello")
        assert "outside" in (await talk.told(session.id, "failed"))["text"]
        assert (await talk.kinds(session.id)).count("process_started") == 0


BYPASS = c.SessionOptions(allow_bypass=True)


async def test_a_session_in_bypass_is_not_started_where_bypass_is_switched_off(house: House) -> None:
    """ours: S29"""
    house.settings["allow_bypass"] = True
    house.variables["ROPEWALK_SIM_ROOT"] = "1"
    async with house.opened() as talk:
        session = await talk.new("hello", permission_mode="bypassPermissions", for_seconds=600, options=BYPASS)
        await talk.turns(session.id, 1)
        with pytest.raises(NotAllowed, match="admin"):
            await talk.hub.create(PIA, c.CreateSession(cwd=str(house.project), permission_mode="bypassPermissions"))
        assert (await talk.hub.fork(PIA, session.id, c.Fork())).mode == "default"
        with pytest.raises(NotAllowed, match="admin"):
            await talk.hub.set_mode(PIA, session.id, c.SetMode(mode="bypassPermissions"))
        await talk.hub.stop(MIA, session.id, c.Stop())
    house.settings["allow_bypass"] = False
    async with house.opened() as talk:
        await talk.prompt(session.id, "hello")
        assert "bypass" in (await talk.told(session.id, "failed"))["text"]
        assert (await talk.kinds(session.id)).count("process_started") == 1


async def test_who_may_not_answer_may_not_answer_in_advance(talk: Talk) -> None:
    """ours: tools that are allowed beforehand and modes that accept by themselves are verdicts"""
    cwd = str(talk.house.project)
    with pytest.raises(NotAllowed, match="answer"):
        await talk.hub.create(PIA, c.CreateSession(cwd=cwd, options=c.SessionOptions(allowed_tools=["Bash"])))
    for mode in ("acceptEdits", "auto"):
        with pytest.raises(NotAllowed, match="answer"):
            await talk.hub.create(PIA, c.CreateSession(cwd=cwd, permission_mode=mode))
    session = await talk.hub.create(PIA, c.CreateSession(cwd=cwd, permission_mode="plan"))
    with pytest.raises(NotAllowed, match="answer"):
        await talk.hub.set_mode(PIA, session.id, c.SetMode(mode="acceptEdits"))
    await talk.hub.set_mode(PIA, session.id, c.SetMode(mode="default"))
    assert len((await talk.hub.sessions(MIA)).items) == 1


async def test_a_scripted_session_takes_no_script_from_its_asker(house: House) -> None:
    """ours: S29; a scenario can run commands, so it is a program that a client would name"""
    house.settings["sim"] = False
    async with house.opened() as talk:
        for scenario in ("/tmp/any.json", "../any.json", "any.toml"):
            with pytest.raises(NotAllowed, match="scenario"):
                await talk.new(options=c.SessionOptions(sim=True, env={"ROPEWALK_SIM_SCENARIO": scenario}))
        await talk.new(options=c.SessionOptions(sim=True, env={"ROPEWALK_SIM_SCENARIO": "long-work"}))
