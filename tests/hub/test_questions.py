"""Questions as rows: opened, answered once, withdrawn, lost; they survive the hub and go to the session that asked."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest

from ropewalk.errors import AlreadyAnswered, NotAllowed, NotFound, UsageError
from ropewalk.events import commands as c
from tests.demand import demand
from tests.hub.house import EVE, JO, MIA, House, Talk, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it", "description": "Make it"}, "ask": True}


@pytest.fixture(autouse=True)
def script(house: House) -> None:
    house.rule("ask", ASKS, {"text": "Verdict: {verdict} {reason}"})
    house.rule("choose", {"ask": [{"question": "Which?", "options": ["A", "B"]}]}, {"text": "{answer}"})
    house.rule("draw it up", {"plan": "# Plan\n1. One\n2. Two"}, {"text": "Mode {mode}"})


@demand("000-26", tag="sim")
@demand("004-33", tag="sim")
async def test_an_answer_goes_to_the_session_that_asked(talk: Talk) -> None:
    """seed: many sessions at once, each open question listed with its age and session, found by the request"""
    sessions = [await talk.new("ask") for _ in range(4)]
    questions = [await talk.question(session.id) for session in sessions]
    listed = await talk.hub.questions(MIA)
    assert {question.id for question in listed} == {question.id for question in questions}
    assert [question.opened_at for question in listed] == sorted(question.opened_at for question in listed)
    assert {question.session for question in listed} == {session.id for session in sessions}
    for number, question in enumerate(questions):
        allow = c.Answer(behavior="allow") if number % 2 else c.Answer(behavior="deny", message=f"no {number}")
        await talk.hub.answer(MIA, question.id, allow)
    texts = [(await talk.turns(session.id, 1))[0]["text"] for session in sessions]
    assert [text.startswith("Verdict: denied no") for text in texts] == [True, False, True, False]


async def test_a_waiting_session_says_what_it_wants_and_holds_no_place(house: House, talk: Talk) -> None:
    """ours: waiting comes from the table of open questions alone"""
    session = await talk.new("ask")
    await talk.question(session.id)
    view = await talk.status(session.id, "waiting")
    assert (view.why, view.group, view.open_questions) == ("Run: touch it", "needs_you", 1)
    assert talk.hub.world.slots.running == 0


async def test_the_first_answer_wins_and_the_second_reads_who_was_first(house: House, talk: Talk) -> None:
    """ours: eight at once, one verdict, one response on the CLI's input"""
    session = await talk.new("ask")
    question = await talk.question(session.id)
    tries = [talk.hub.answer(who, question.id, c.Answer(behavior="allow")) for who in (MIA, JO) * 4]
    ends = await asyncio.gather(*tries, return_exceptions=True)
    won = [end for end in ends if not isinstance(end, BaseException)]
    lost = [end for end in ends if isinstance(end, AlreadyAnswered)]
    assert len(won) == 1 and len(lost) == 7
    await talk.turns(session.id, 1)
    with pytest.raises(AlreadyAnswered, match=f"already answered by {won[0].by}: allowed|already answered by"):
        await talk.hub.answer(JO, question.id, c.Answer(behavior="deny"))
    responses = [line for line in house.heard_by_cli() if line["type"] == "control_response"]
    assert len(responses) == 1


async def test_who_may_only_watch_answers_nothing(talk: Talk) -> None:
    """ours: roles come from the token"""
    session = await talk.new("ask")
    question = await talk.question(session.id)
    with pytest.raises(NotAllowed):
        await talk.hub.answer(EVE, question.id, c.Answer(behavior="allow"))
    assert not (await talk.hub.question(EVE, question.id)).may_answer
    with pytest.raises(NotFound):
        await talk.hub.answer(MIA, "nothing", c.Answer(behavior="allow"))


async def test_an_edited_input_is_what_runs_and_both_are_kept(house: House, talk: Talk) -> None:
    """ours: the audit has the input as asked and as run"""
    session = await talk.new("ask")
    question = await talk.question(session.id)
    changed = {"command": "touch other", "description": "Make it"}
    answered = await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", updated_input=changed))
    assert answered.verdict is not None and answered.verdict["updated_input"] == changed
    await talk.turns(session.id, 1)
    response = next(line for line in house.heard_by_cli() if line["type"] == "control_response")
    assert response["response"]["response"]["updatedInput"] == changed
    closed = await talk.told(session.id, "question_closed")
    assert closed["edited"] and closed["by"] == "Mia" and closed["door"] == "the page"


async def test_a_choice_is_answered_with_its_words(talk: Talk) -> None:
    """measured (all): answers by the exact text of the question"""
    session = await talk.new("choose")
    question = await talk.question(session.id)
    assert question.asks == "choice" and question.choices
    with pytest.raises(UsageError):
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", answers={"Which?": "B"}))
    assert "B" in (await talk.turns(session.id, 1))[0]["text"]


@pytest.mark.parametrize(("choice", "mode"), [("keep_edits", "acceptEdits"), ("keep_ask", "default")])
async def test_a_plan_goes_on_as_it_was_chosen(talk: Talk, choice: Any, mode: str) -> None:
    """measured (all): setMode in the answer, atomically"""
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    assert question.asks == "plan" and question.plan and "One" in question.plan["text"]
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", plan=choice))
    assert (await talk.turns(session.id, 1))[0]["text"] == f"Mode {mode}"
    assert (await talk.hub.session(MIA, session.id)).mode == mode


@demand("003-47", tag="sim")
async def test_a_fresh_start_forgets_the_talk_and_keeps_the_plan(house: House, talk: Talk) -> None:
    """seed: the process ends, a new conversation begins with the plan, accepting edits; no failure is shown"""
    house.rule("One", {"text": "Prompts known: {prompts}"})
    session = await talk.new("draw it up")
    question = await talk.question(session.id)
    before = (await talk.hub.session(MIA, session.id)).cli_session
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", plan="fresh"))
    turns = await talk.turns(session.id, 2)
    assert turns[-1]["text"] == "Prompts known: 1"
    view = await talk.hub.session(MIA, session.id)
    assert view.cli_session != before and view.mode == "acceptEdits"
    events = await talk.events(session.id)
    assert [event["wanted"] for event in events if event["kind"] == "process_ended"] == [True]
    assert "failed" not in {event.get("status") for event in events} and "context_cleared" in {event["kind"] for event in events}


@pytest.mark.slow
@demand("003-48", tag="sim")
@pytest.mark.parametrize("seen", range(1, 9))
async def test_a_fresh_start_that_is_cut_off_anywhere_is_finished_by_the_next_life(house: House, seen: int) -> None:
    """seed: answer, plan and new state are stored as one; a hub that ends after any event that follows loses nothing of it"""
    house.rule("One", {"text": "Prompts known: {prompts}"})
    async with house.opened() as talk:
        session = await talk.new("draw it up")
        question = await talk.question(session.id)
        last = len(await talk.events(session.id))
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", plan="fresh"))

        async def later() -> bool:
            return len(await talk.events(session.id)) >= last + seen

        await until(later, f"{seen} more events")
    async with house.opened() as talk:

        async def begun() -> bool:
            return "Prompts known: 1" in [event.get("text") for event in await talk.events(session.id)]

        await until(begun, "the new conversation")
        view = await talk.status(session.id, "idle")
        assert view.mode == "acceptEdits" and not view.queued and not view.open_questions


async def test_an_open_question_outlives_the_hub_and_can_be_answered_then(house: House) -> None:
    """ours: the process lives on in the runner, the question is a row; the same id"""
    async with house.opened() as talk:
        session = await talk.new("ask")
        before = await talk.question(session.id)
    async with house.opened() as talk:
        after = await talk.question(session.id)
        assert after.id == before.id
        await talk.hub.answer(JO, after.id, c.Answer(behavior="allow"))
        assert (await talk.turns(session.id, 1))[0]["text"].startswith("Verdict: allowed")
        assert (await talk.kinds(session.id)).count("question_opened") == 1


async def test_a_question_whose_process_was_killed_is_lost_and_says_so_once(house: House, talk: Talk) -> None:
    """measured (all): after a kill, a resume never asks it again"""
    session = await talk.new("ask")
    question = await talk.question(session.id)
    os.kill(await talk.pid(session.id), signal.SIGKILL)
    closed = await talk.told(session.id, "question_closed", question=question.id)
    assert closed["fate"] == "lost"
    with pytest.raises(AlreadyAnswered, match="has ended"):
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    view = await talk.status(session.id, "failed")
    assert view.why and view.fix
    lost = await talk.told(session.id, "prompt_lost")
    assert lost["prompt"]
    responses = [line for line in house.heard_by_cli() if line["type"] == "control_response"]
    assert responses == []
