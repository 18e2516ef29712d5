"""What the CLI says besides words and tools, on its way to people: progress, summaries, logins, limits, errors, the unknown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ropewalk.errors import NotFound
from tests.demand import demand
from tests.hub.house import MIA, House, Talk, until


def said(**fields: Any) -> dict[str, Any]:
    return {"line": fields}


class Ear:
    """A listener that keeps up."""

    def __init__(self) -> None:
        self.events: list[tuple[int, dict[str, Any]]] = []
        self.lively: list[dict[str, Any]] = []
        self.why = ""

    @property
    def backlog(self) -> int:
        return 0

    def told(self, session: str, events: list[tuple[int, bytes]]) -> None:
        self.events += [(seq, json.loads(body)) for seq, body in events]

    def live(self, session: str, events: list[bytes]) -> None:
        self.lively += [json.loads(body) for body in events]

    def cut(self, why: str) -> None:
        self.why = why


@demand("001-29", tag="sim")
async def test_a_running_tool_tells_its_seconds_live_also_a_sub_agents(house: House, talk: Talk) -> None:
    """seed: tool_progress; measured: the real id of the tool is in parent_tool_use_id"""
    progress = said(
        type="tool_progress",
        tool_use_id="bash-progress-0",
        tool_name="Bash",
        elapsed_time_seconds=3.5,
        parent_tool_use_id="toolu_9",
    )
    house.rule("work", {"text": "Go."}, progress, {"tool": "Bash", "input": {"command": "true"}, "ask": True})
    session = await talk.new()
    ear = Ear()
    await talk.hub.subscribe(MIA, session.id, 0, ear)
    await talk.prompt(session.id, "work")
    await talk.question(session.id)

    async def heard() -> dict[str, Any] | None:
        return next((event for event in ear.lively if event["kind"] == "tool_progressed"), None)

    told = await until(heard, "progress")
    assert (told["tool_use"], told["tool"], told["seconds"]) == ("toolu_9", "Bash", 3.5)


@demand("001-30", tag="sim")
@demand("001-31", tag="sim")
@demand("001-33", tag="sim")
async def test_summaries_logins_and_saved_files_are_told(house: House, talk: Talk) -> None:
    """seed: shown with the tools they sum up; a login with its output and error; files saved and files that failed"""
    house.rule(
        "work",
        said(type="tool_use_summary", summary="Read two files", preceding_tool_use_ids=["toolu_1", "toolu_2"]),
        said(type="auth_status", isAuthenticating=True, output=["Open the page"], error="no browser"),
        said(
            type="system", subtype="files_persisted", files=[{"filename": "a.txt", "file_id": "f1"}],
            failed=[{"filename": "b.txt", "error": "full"}],
        ),
        {"text": "Done."},
    )  # fmt: skip
    session = await talk.new("work")
    await talk.turns(session.id, 1)
    summary = await talk.told(session.id, "tools_summarised")
    assert summary["text"] == "Read two files" and summary["tool_uses"] == ["toolu_1", "toolu_2"]
    login = await talk.told(session.id, "sign_in_changed")
    assert login["under_way"] and login["output"] == ["Open the page"] and login["error"] == "no browser"
    saved = await talk.told(session.id, "files_saved")
    assert "a.txt" in str(saved["files"]) and "b.txt" in str(saved["failed"])


@demand("002-44", tag="sim")
@demand("002-45", tag="sim")
async def test_errors_and_limits_are_told_with_their_kind_and_the_session_lives(house: House, talk: Talk) -> None:
    """seed: an error line with its type; a limit with all that is said of it"""
    limit = {
        "status": "allowed_warning", "resetsAt": 1795010000, "rateLimitType": "five_hour", "utilization": 0.9,
        "isUsingOverage": False, "overageStatus": "rejected", "overageDisabledReason": "org_level_disabled",
    }  # fmt: skip
    house.rule(
        "work",
        said(type="error", error={"type": "overloaded_error", "message": "Overloaded"}),
        said(type="rate_limit_event", rate_limit_info=limit),
        {"text": "Done."},
    )
    session = await talk.new("work")
    assert (await talk.turns(session.id, 1))[0]["text"] == "Done."
    kinds = await talk.events(session.id)
    error = next(event for event in kinds if "overloaded" in json.dumps(event).lower())
    assert error["kind"] in ("warning", "failed", "noted")
    told = await talk.told(session.id, "rate_limit_changed")
    assert (told["status"], told["limit"], told["utilization"], told["resets_at"]) == (
        "allowed_warning",
        "five_hour",
        0.9,
        1795010000,
    )
    assert (
        told["overage_status"] == "rejected" and told["overage_reason"] == "org_level_disabled" and told["using_overage"] is False
    )
    await talk.prompt(session.id, "more")
    await talk.turns(session.id, 2)


async def test_what_nobody_knows_is_kept_and_shown(house: House, talk: Talk) -> None:
    """ours: never hidden, never an error; verbatim in the wire log"""
    house.rule("work", said(type="novelty", subtype="brand_new", thing=[1, 2]), {"fault": "garbage"}, {"text": "Done."})
    session = await talk.new("work")
    await talk.turns(session.id, 1)
    unknown = [event for event in await talk.events(session.id) if event["kind"] == "unrecognised"]
    assert any("novelty" in event["what"] for event in unknown)
    raws = [line[5] for line in await talk.hub.lines(MIA, session.id, limit=1000)]
    assert any(b'"novelty"' in raw for raw in raws)


@demand("001-03", tag="sim")
async def test_a_cli_that_exits_over_its_flags_is_told_in_its_own_words(house: House) -> None:
    """seed: our launcher always gives the format flags; what the CLI says of others reaches the person"""
    house.variables["ROPEWALK_SIM_FAULT"] = "noise count=1; crash code=1"
    async with house.opened() as talk:
        session = await talk.new("hello")
        started = await talk.told(session.id, "process_ended")
        assert started["code"] == 1 and started["stderr"]
        argv = next(event["argv"] for event in await talk.events(session.id) if event["kind"] == "process_started")
        assert {"--output-format=stream-json", "--input-format=stream-json"} <= set(argv)


@pytest.mark.slow
@demand("004-34", tag="sim")
async def test_nothing_leaks_over_a_thousand_turns(house: House, talk: Talk) -> None:
    """seed: registries are emptied when a run ends"""
    house.rule("ask", {"tool": "Bash", "input": {"command": "true"}, "ask": False}, {"text": "Done."})
    sessions = [await talk.new() for _ in range(20)]

    async def run(session: str) -> None:
        for _ in range(50):
            await talk.prompt(session, "ask")
        await until(lambda: finished(talk, session, 50), "50 turns")

    await asyncio.gather(*(run(session.id) for session in sessions))
    for session in sessions:
        loaded = talk.hub.roster.awake[session.id]
        assert loaded.wire is not None
        assert not loaded.queue and not loaded.queue.sent and not loaded.desk.open and not loaded.wire.unconfirmed
        assert len(loaded.wire.connection.pending) == 0 and len(loaded.wire.connection.questions) == 0
        assert loaded.wire.live.partials() == [] and loaded.known.tasks == {}
    assert talk.hub.once._under_way == {} and talk.hub.world.slots.running == 0


async def finished(talk: Talk, session: str, count: int) -> bool:
    events = await talk.hub.store.events(session, 0, 1000, kinds=["turn_ended"])
    return len(events) >= count


async def test_a_listener_comes_back_with_its_last_number_and_misses_nothing(house: House, talk: Talk) -> None:
    """ours: history first, then what happens, each event once and in order"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    ear = Ear()
    ending = await talk.hub.subscribe(MIA, session.id, 3, ear)
    await talk.prompt(session.id, "again")
    await talk.turns(session.id, 2)
    last = (await talk.events(session.id))[-1]["seq"]

    async def caught_up() -> bool:
        return bool(ear.events) and ear.events[-1][0] >= last

    await until(caught_up, "all events")
    assert [seq for seq, _ in ear.events] == list(range(4, ear.events[-1][0] + 1))
    ending.close()
    with pytest.raises(NotFound):
        await talk.hub.subscribe(MIA, "0000000000000", 0, ear)


async def test_whoever_watches_the_list_hears_what_changes_it(house: House, talk: Talk) -> None:
    """ours: one subscription for list and inbox"""
    house.rule("ask", {"tool": "Bash", "input": {"command": "true"}, "ask": True})
    ear = Ear()
    await talk.hub.subscribe_all(MIA, ear)
    session = await talk.new("ask")
    await talk.question(session.id)

    async def heard() -> bool:
        return {"session_created", "status_changed", "question_opened"} <= {event["kind"] for _, event in ear.events}

    await until(heard, "the list's events")
    assert not {"tool_started", "text"} & {event["kind"] for _, event in ear.events}
