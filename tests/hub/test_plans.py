"""Plans on a whole hub: four ways on, fresh starts that survive a kill, dead processes, plan files, the outline's cooldown."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ropewalk.errors import AlreadyAnswered, Conflict, NotAllowed, UsageError
from ropewalk.events import commands as c
from ropewalk.events import views as v
from ropewalk.store.rows import QuestionRow, VerdictRow
from tests.demand import demand
from tests.hub.house import JO, MIA, House, Talk, until

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE: dict[str, Any] = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
WISHES = [{"tool": "Bash", "prompt": "npm test"}, {"tool": "Bash", "prompt": "run the linter"}]
TEST: dict[str, Any] = {"tool": "Bash", "input": {"command": "npm test"}, "ask": True}
AGAIN: dict[str, Any] = {"plan": "# Plan\n1. One", "write": False}


@pytest.fixture(autouse=True)
def script(house: House) -> Iterator[None]:
    house.rule("draw it up", {"plan": "# Plan\n1. One\n2. Two"}, {"text": "Mode {mode}"})
    house.rule("wish", {"plan": "# Plan\n1. Test", "allowed_prompts": WISHES}, TEST, {"text": "Mode {mode}"})
    house.rule("insist", {"plan": "# Plan\n1. One"}, AGAIN, AGAIN, {"text": "Said."})
    house.rule("1. Test", TEST, {"text": "Mode {mode}, prompts known: {prompts}"})
    house.rule("1. One", {"text": "Mode {mode}, prompts known: {prompts}"})
    yield


class Clock:
    def __init__(self, talk: Talk) -> None:
        self.ahead, self._real = 0.0, talk.hub.world.clock
        talk.hub.world.clock = lambda: self._real() + self.ahead


def plans_folder(house: House) -> Path:
    """Of the stand-in."""
    return house.home / "stand-in" / "plans"


async def lost(talk: Talk, prompt: str) -> tuple[v.SessionView, v.QuestionView]:
    """A plan whose process was killed while it was asked."""
    session = await talk.new(prompt)
    question = await talk.question(session.id)
    os.kill(await talk.pid(session.id), signal.SIGKILL)
    await talk.told(session.id, "question_closed", fate="lost")
    await talk.status(session.id, "failed")
    return session, question


async def answer(talk: Talk, question: str, behavior: Any, plan: Any = None, who: Any = MIA, **more: Any) -> v.QuestionView:
    return await talk.hub.answer(who, question, c.Answer(behavior=behavior, plan=plan, **more))


# -- what is granted with it


@pytest.mark.parametrize("plan", ["keep_ask", "fresh"])
async def test_what_a_person_ticks_is_a_rule_for_this_session_and_nothing_else_is(house: House, talk: Talk, plan: str) -> None:
    """seed 003: allowedPrompts become allow rules for the session, and go along into a fresh conversation"""
    session = await talk.new("wish")
    question = await talk.question(session.id)
    assert question.plan and [one["rule"] for one in question.plan["requested"]] == ["Bash(npm test)", None]
    for wrong in (c.AllowedPrompt(tool="Bash", prompt="rm -r x"), c.AllowedPrompt(tool="Bash", prompt="run the linter")):
        with pytest.raises(UsageError):
            await answer(talk, question.id, "allow", plan, allowed_prompts=[wrong])
    lint = c.AllowedPrompt(tool="Bash", prompt="run the linter", rule="Bash(npx eslint:*)")
    ticked = [c.AllowedPrompt(tool="Bash", prompt="npm test"), lint]
    await answer(talk, question.id, "allow", plan, allowed_prompts=ticked, who=JO)
    await until_idle(talk, session.id)
    kinds = await talk.kinds(session.id)
    assert kinds.count("question_opened") == 1 and "verdict_given" in kinds
    made = [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]
    assert {(rule.text, rule.scope, rule.place, rule.by) for rule in made} == {
        ("Bash(npm test)", "session", session.id, "Jo"), ("Bash(npx eslint:*)", "session", session.id, "Jo"),
    }  # fmt: skip
    assert (await talk.told(session.id, "question_closed"))["rules"] == ["Bash(npm test)", "Bash(npx eslint:*)"]
    other = await talk.new("1. Test")
    assert (await talk.question(other.id)).tool == "Bash"


async def until_idle(talk: Talk, session: str) -> None:
    async def done() -> bool:
        view = await talk.hub.session(MIA, session)
        texts = [str(event.get("text")) for event in await talk.events(session) if event["kind"] == "turn_ended"]
        return view.status == "idle" and any(text.startswith("Mode") for text in texts)

    await until(done, "the end of the work")


async def test_nothing_is_granted_by_going_on(talk: Talk) -> None:
    """ours: what is not ticked is asked"""
    session = await talk.new("wish")
    await answer(talk, (await talk.question(session.id)).id, "allow", "keep_ask")
    assert (await talk.question(session.id)).line == "Run: npm test"


# -- the mode


async def test_a_fresh_start_in_another_mode(talk: Talk) -> None:
    """ours: acceptEdits unless another is named"""
    session = await talk.new("draw it up")
    await answer(talk, (await talk.question(session.id)).id, "allow", "fresh", mode="default")
    await until_idle(talk, session.id)
    assert (await talk.turns(session.id, 2))[-1]["text"] == "Mode default, prompts known: 1"
    assert (await talk.hub.session(MIA, session.id)).mode == "default"


AS_ROOT = pytest.mark.skipif(os.geteuid() == 0, reason="a CLI does not start in it as root; shown on real ones as somebody else")


@pytest.mark.parametrize("plan", [pytest.param("fresh", marks=AS_ROOT), "keep_edits"])
async def test_bypass_by_name_has_a_length_and_ends(house: House, plan: str) -> None:
    """seed 003 (bypass where it is available); ours: by an admin, with a length, ended by the hub"""
    house.settings["allow_bypass"] = True
    async with house.opened() as talk:
        session = await talk.new("draw it up", options=c.SessionOptions(allow_bypass=True))
        question = await talk.question(session.id)
        assert question.plan and any(way["mode"] == "bypassPermissions" for way in question.plan["ways"])
        with pytest.raises(NotAllowed):
            await answer(talk, question.id, "allow", plan, mode="bypassPermissions", for_seconds=60, who=JO)
        clock = Clock(talk)
        await answer(talk, question.id, "allow", plan, mode="bypassPermissions", for_seconds=60)
        await until_idle(talk, session.id)
        assert (await talk.turns(session.id, 1))[-1]["text"].startswith("Mode bypassPermissions")
        assert (await talk.hub.session(MIA, session.id)).mode == "bypassPermissions"
        clock.ahead = 61.0
        await talk.told(session.id, "mode_changed", by="its time is over")
        assert (await talk.hub.session(MIA, session.id)).mode == "acceptEdits"


async def test_bypass_is_not_to_be_had_where_the_configuration_refuses_it(talk: Talk) -> None:
    """ours"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    assert question.plan and not any(way["mode"] == "bypassPermissions" for way in question.plan["ways"])
    with pytest.raises(NotAllowed):
        await answer(talk, question.id, "allow", "fresh", mode="bypassPermissions", for_seconds=60)


async def test_a_compaction_follows_when_answer_and_mode_have_settled(house: House, talk: Talk) -> None:
    """seed 003: /compact as a prompt of its own, after the turn, before what waits"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    await talk.prompt(session.id, "afterwards")
    await answer(talk, question.id, "allow", "keep_edits", compact=True)
    await talk.turns(session.id, 2)

    async def heard() -> list[Any] | None:
        said = [line["message"]["content"] for line in house.heard_by_cli() if line["type"] == "user"]
        return said if len(said) == 3 else None

    assert (await until(heard, "three prompts"))[1:] == ["/compact", "afterwards"]
    assert (await talk.turns(session.id, 1))[0]["text"] == "Mode acceptEdits"


# -- kept planning


async def test_pictures_reach_the_cli_before_the_words_that_send_the_plan_back(house: House, talk: Talk) -> None:
    """seed 003 (choice 4 takes images); measured (all): the model's next call has both"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    await answer(talk, question.id, "deny", "revise", message="Like this.", content=[PICTURE])

    async def both() -> list[dict[str, Any]] | None:
        lines = [line for line in house.heard_by_cli() if line["type"] in ("user", "control_response")]
        return lines if len(lines) == 3 else None

    _, picture, denial = await until(both, "picture and denial")
    assert picture["message"]["content"][1] == PICTURE
    assert denial["response"]["response"] == {
        "behavior": "deny", "message": "Like this.", "toolUseID": denial["response"]["response"]["toolUseID"],
    }  # fmt: skip


# -- the process that asked is gone


@demand("003-17", tag="sim")
async def test_a_fresh_start_without_the_process_that_asked(house: House, talk: Talk) -> None:
    """seed 003: also when the old process is already gone"""
    session, question = await lost(talk, "draw it up")
    before = (await talk.hub.session(MIA, session.id)).cli_session
    answered = await answer(talk, question.id, "allow", "fresh")
    assert answered.state == "answered" and answered.by == "Mia"
    await until_idle(talk, session.id)
    assert (await talk.turns(session.id, 1))[-1]["text"] == "Mode acceptEdits, prompts known: 1"
    view = await talk.hub.session(MIA, session.id)
    assert view.cli_session != before and view.mode == "acceptEdits"
    assert (await talk.kinds(session.id)).count("context_cleared") == 1
    started = [event for event in await talk.events(session.id) if event["kind"] == "process_started"]
    assert len(started) == 2 and not started[-1].get("resumed")
    with pytest.raises(AlreadyAnswered, match="Mia"):
        await answer(talk, question.id, "allow", "keep_ask", who=JO)


@demand("003-27", tag="sim")
async def test_feedback_without_the_process_that_asked_resumes_it(house: House, talk: Talk) -> None:
    """seed 003: sent as a prompt that resumes the conversation"""
    house.rule("Use one table", {"text": "Mode {mode}, prompts known: {prompts}"})
    session, question = await lost(talk, "draw it up")
    before = (await talk.hub.session(MIA, session.id)).cli_session
    await answer(talk, question.id, "deny", "revise", message="Use one table", content=[PICTURE])
    await until_idle(talk, session.id)
    assert (await talk.turns(session.id, 1))[-1]["text"] == "Mode plan, prompts known: 2"
    started = [event for event in await talk.events(session.id) if event["kind"] == "process_started"]
    assert started[-1]["resumed"] == before
    content = [line["message"]["content"] for line in house.heard_by_cli() if line["type"] == "user"][-1]
    assert "Use one table" in content[0]["text"] and content[1] == PICTURE


@demand("003-43", tag="sim")
async def test_going_on_without_process_and_without_a_plan_says_so_to_both(house: House, talk: Talk) -> None:
    """seed 003: a general prompt to continue with the plan, and the person is told"""
    house.rule("no words", {"tool": "ExitPlanMode"}, {"text": "Mode {mode}"})
    house.rule("Continue with it", {"text": "Mode {mode}"})
    session, question = await lost(talk, "no words")
    assert question.plan and question.plan["text"] is None
    with pytest.raises(Conflict, match="no plan text"):
        await answer(talk, question.id, "allow", "fresh")
    await answer(talk, question.id, "allow", "keep_edits")
    await until_idle(talk, session.id)
    assert (await talk.turns(session.id, 1))[-1]["text"] == "Mode acceptEdits"
    assert "no text of the plan was found" in (await talk.told(session.id, "warning", code="no_plan_text"))["text"]


async def test_a_plan_is_not_answered_over_a_conversation_that_went_on(talk: Talk) -> None:
    """ours: a later plan takes its place, and a living process has other questions"""
    session, question = await lost(talk, "draw it up")
    await talk.prompt(session.id, "draw it up again")
    later = await talk.question(session.id)
    with pytest.raises(AlreadyAnswered, match="has ended"):
        await answer(talk, question.id, "allow", "fresh")
    os.kill(await talk.pid(session.id), signal.SIGKILL)
    await talk.told(session.id, "question_closed", question=later.id)
    await talk.status(session.id, "failed")
    with pytest.raises(Conflict, match="later plan"):
        await answer(talk, question.id, "allow", "fresh")
    with pytest.raises(Conflict, match="nothing goes on"):
        await answer(talk, later.id, "deny", "stop")


@demand("003-48", tag="sim")
async def test_a_fresh_start_whose_old_process_dies_by_itself_is_no_failure(house: House, talk: Talk) -> None:
    """seed 003: killed between the answer and its end by us"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    pid = await talk.pid(session.id)
    await answer(talk, question.id, "allow", "fresh")
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    await until_idle(talk, session.id)
    assert (await talk.turns(session.id, 1))[-1]["text"] == "Mode acceptEdits, prompts known: 1"
    ended = [event for event in await talk.events(session.id) if event["kind"] == "process_ended"]
    assert [event["wanted"] for event in ended] == [True]


# -- where the plan is


def written(house: House, name: str, text: str) -> list[dict[str, Any]]:
    """A model that writes a plan where the CLI will not look for it, and asks."""
    given = {"file_path": str(plans_folder(house) / name), "content": text}
    return [{"tool": "EnterPlanMode"}, {"tool": "Write", "input": given, "run": True, "ask": False}, {"tool": "ExitPlanMode"}]


async def test_a_plan_that_the_question_lacks_is_read_from_the_file_that_this_session_wrote(house: House, talk: Talk) -> None:
    """seed 003: two sessions at once; neither the newest file nor a sub-agent's is taken"""
    plans_folder(house).mkdir(parents=True)
    house.rule("left", *written(house, "left.md", "# Left\n1. One"), {"text": "Mode {mode}"})
    house.rule("right", *written(house, "right.md", "# Right\n1. One\n2. Two"), {"text": "Mode {mode}"})
    house.rule("small", *written(house, "left-agent-a1b2c3.md", "# Small"), {"text": "Mode {mode}"})
    sessions = {name: await talk.new(name) for name in ("left", "right", "small")}
    plans = {name: (await talk.question(session.id)).plan or {} for name, session in sessions.items()}
    assert [plans[name]["text"] for name in plans] == ["# Left\n1. One", "# Right\n1. One\n2. Two", None]
    assert plans["right"]["file"] == str(plans_folder(house) / "right.md") and plans["right"]["steps"] == 2
    asked = await talk.question(sessions["left"].id)
    (plans_folder(house) / "left.md").write_text("# Somebody else's")
    await answer(talk, asked.id, "allow", "fresh")
    await until_idle(talk, sessions["left"].id)
    assert [line["message"]["content"] for line in house.heard_by_cli() if line["type"] == "user"][-1].endswith("# Left\n1. One")


@demand("003-44", tag="unit")
async def test_a_captured_plan_is_a_row_of_a_store_that_only_its_owner_reads(house: House, talk: Talk) -> None:
    """seed 003: not a temporary file that others can read"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    row = await talk.hub.store.get(QuestionRow, question.id)
    assert row is not None and b"1. One" in row.asked
    files = [path for path in house.home.rglob("*") if path.is_file() and "stand-in" not in path.parts]
    holding = [path for path in files if b"# Plan" in path.read_bytes() and path.name != "scenario.json"]
    assert holding and all(not stat.S_IMODE(path.stat().st_mode) & 0o077 for path in holding)


# -- entering plan mode


@demand("003-32", tag="sim")
@pytest.mark.parametrize(("behavior", "told"), [("allow", "Mode plan"), ("deny", "Start implementing now")])
async def test_entering_plan_mode_is_a_question_where_a_cli_asks_it(house: House, talk: Talk, behavior: str, told: str) -> None:
    """seed 003: enter plan mode, or start implementing now (real CLIs do not ask it)"""
    house.rule("may I plan", {"tool": "EnterPlanMode", "ask": True}, {"text": "Mode {mode} {reason}"})
    session = await talk.new("may I plan")
    question = await talk.question(session.id)
    assert question.title_words == "Plan first?" and question.only_people and not question.offers
    await answer(talk, question.id, behavior)
    assert told in (await talk.turns(session.id, 1))[0]["text"]


# -- an outline first


@demand("004-43", tag="sim")
@demand("004-46", "004-47", tag="unit")
async def test_a_plan_that_comes_back_too_soon_is_sent_back_by_the_hub(house: House, talk: Talk) -> None:
    """seed 004: denied by itself within the cooldown, no card; the next press holds longer; another answer sets it back"""
    session, other = await talk.new("insist"), await talk.new("draw it up")
    question = await talk.question(session.id)
    clock = Clock(talk)
    answered = await answer(talk, question.id, "deny", "outline")
    assert answered.verdict and answered.verdict["held_until"] - answered.closed_at == pytest.approx(30.0, abs=1)
    await talk.turns(session.id, 1)
    rows = await talk.hub.store.find(VerdictRow, {"session": session.id, "because_kind": "policy"})
    assert [(row.behavior, row.tool) for row in rows] == [("deny", "ExitPlanMode")] * 2
    assert (await talk.kinds(session.id)).count("question_opened") == 1
    denials = [line for line in house.heard_by_cli() if line["type"] == "control_response"]
    assert "step by step" in denials[-1]["response"]["response"]["message"]
    assert (await talk.question(other.id)).state == "open"  # another session is not held back

    clock.ahead = 31.0
    await talk.prompt(session.id, "insist more")
    answered = await answer(talk, (await talk.question(session.id)).id, "deny", "outline")
    assert answered.verdict and answered.verdict["held_until"] - answered.closed_at == pytest.approx(60.0, abs=1)
    await talk.turns(session.id, 2)
    clock.ahead = 200.0
    await talk.prompt(session.id, "draw it up")
    await answer(talk, (await talk.question(session.id)).id, "allow", "keep_ask")
    await talk.turns(session.id, 3)
    await talk.prompt(session.id, "draw it up")
    answered = await answer(talk, (await talk.question(session.id)).id, "deny", "outline")
    assert answered.verdict and answered.verdict["held_until"] - answered.closed_at == pytest.approx(30.0, abs=1)


async def test_the_count_of_outlines_outlives_the_hub(house: House) -> None:
    """ours: kept with the session"""
    async with house.opened() as talk:
        session = await talk.new("insist")
        await answer(talk, (await talk.question(session.id)).id, "deny", "outline")
        await talk.turns(session.id, 1)
    async with house.opened() as talk:
        clock = Clock(talk)
        clock.ahead = 40.0
        await talk.prompt(session.id, "insist")
        answered = await answer(talk, (await talk.question(session.id)).id, "deny", "outline")
        assert answered.verdict and answered.verdict["held_until"] - answered.closed_at == pytest.approx(60.0, abs=1)


async def test_without_a_cooldown_each_plan_is_asked(house: House) -> None:
    """seed 004: only some CLI versions ask again at once, so it can be switched off"""
    house.settings["outline_cooldown"] = False
    async with house.opened() as talk:
        session = await talk.new("insist")
        for _ in range(3):
            question = await talk.question(session.id)
            answered = await answer(talk, question.id, "deny", "outline")
            assert answered.verdict and "held_until" not in answered.verdict
        assert (await talk.turns(session.id, 1))[0]["text"] == "Said."
