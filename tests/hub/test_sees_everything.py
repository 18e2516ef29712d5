"""With ``see_everything`` each tool call is judged, also those that the CLI would not have asked about; nothing else changes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ropewalk.events import commands as c
from ropewalk.permissions.request import Context, Request
from ropewalk.sessions.looking import Looking
from tests.demand import demand
from tests.hub.house import MIA, House, Talk

LIST: dict[str, Any] = {"tool": "Bash", "input": {"command": "ls -l"}, "ask": False}
PEEK: dict[str, Any] = {"tool": "Read", "input": {"file_path": "notes.txt"}, "ask": False}
TOUCH: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


@pytest.fixture(autouse=True)
def script(house: House) -> None:
    house.settings["see_everything"] = True
    house.variables["ROPEWALK_SIM_SPEED"] = "1000"  # a day is a minute and a half
    house.rule("list", LIST, PEEK, {"text": "Verdict: {verdict} {reason}"})
    house.rule("touch", TOUCH, {"text": "Verdict: {verdict}"})


async def finished(talk: Talk, session: str) -> list[dict[str, Any]]:
    return [event for event in await talk.events(session) if event["kind"] == "tool_finished"]


@demand("000-23", tag="sim")
async def test_a_rule_denies_what_the_cli_would_have_allowed_and_nothing_else_is_disturbed(talk: Talk) -> None:
    """ours: the denial reaches the model with its reason; other calls run as ever, and are asked as ever"""
    await talk.hub.add_rule(MIA, c.NewRule(text="Bash(ls:*)", behavior="deny", note="not here"))
    session = await talk.new("list")
    await talk.turns(session.id, 1)
    listed, read = await finished(talk, session.id)
    assert listed["failed"] and "not here" in listed["output"]
    assert not read.get("failed")
    lines = (await talk.hub.audit(MIA, c.AuditFilter())).items
    assert [(line.because_kind, line.behavior, line.tool) for line in lines] == [
        ("cli", "allow", "Read"),
        ("rule", "deny", "Bash"),
    ]
    given = await talk.told(session.id, "verdict_given")
    assert (given["behavior"], given["tool_use"]) == ("deny", listed["tool_use"])

    asked = await talk.new("touch")
    question = await talk.question(asked.id)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    [ended] = await talk.turns(asked.id, 1)
    assert ended["text"] == "Verdict: allowed"


async def test_a_call_waits_while_the_hub_is_away_and_is_judged_by_the_next_one(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: a restart delays and never refuses; what was heard and not answered is judged again"""
    heard = asyncio.Event()
    look = Looking.context

    async def never(self: Looking, request: Request) -> Context:
        heard.set()
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    monkeypatch.setattr(Looking, "context", never)
    async with house.opened() as talk:
        await talk.hub.add_rule(MIA, c.NewRule(text="Read(notes.txt)", behavior="deny"))
        session = await talk.new("list")
        async with asyncio.timeout(30):
            await heard.wait()
        assert not await finished(talk, session.id)
    monkeypatch.setattr(Looking, "context", look)
    async with house.opened() as talk:
        await talk.turns(session.id, 1)
        listed, read = await finished(talk, session.id)
        assert not listed.get("failed") and read["failed"]
