"""Prompts and their receipts: queue, edit, move, withdraw, now, instead; each reaches the CLI once or ends visibly."""

from __future__ import annotations

import asyncio

import pytest

from ropewalk.errors import CommandReused, Conflict, NotAllowed, NotFound, UsageError
from ropewalk.events import commands as c
from tests.hub.house import EVE, MIA, House, Talk, until

ASKS = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}


async def test_a_session_created_with_a_prompt_runs_it_as_its_first_turn(talk: Talk) -> None:
    """seed: created together with its first prompt; the receipt goes queued, sent, taken, done"""
    session = await talk.new("hello")
    turn = (await talk.turns(session.id, 1))[0]
    kinds = await talk.kinds(session.id)
    receipts = [kind for kind in kinds if kind.startswith("prompt_")]
    assert receipts == ["prompt_queued", "prompt_sent", "prompt_taken"]
    queued = await talk.told(session.id, "prompt_queued")
    assert turn["prompts"] == [queued["prompt"]] and turn["text"] == "Yes: hello"
    assert session.title == "hello"


async def test_two_queued_prompts_are_two_turns_with_two_ends(house: House, talk: Talk) -> None:
    """ours: one prompt a turn; 2.1.326 would merge prompts that wait at its side (measured)"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    second = await talk.prompt(session.id, "second")
    third = await talk.prompt(session.id, "third")
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    turns = await talk.turns(session.id, 3)
    assert [turn["prompts"] for turn in turns[1:]] == [[second.id], [third.id]]
    assert house.prompts_heard()[1:] == [second.id, third.id]


async def test_a_queued_prompt_can_be_edited_moved_and_withdrawn(house: House, talk: Talk) -> None:
    """ours: until it is handed over; then it says so"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    one, two, three = [await talk.prompt(session.id, name) for name in ("one", "two", "three")]
    await talk.hub.edit_prompt(MIA, session.id, one.id, c.EditPrompt(text="one, better"))
    await talk.hub.edit_prompt(MIA, session.id, three.id, c.EditPrompt(before=one.id))
    await talk.hub.withdraw(MIA, session.id, two.id, c.Withdraw())
    queue = (await talk.hub.snapshot(MIA, session.id)).queue
    assert [prompt.text for prompt in queue if prompt.state == "queued"] == ["three", "one, better"]
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    turns = await talk.turns(session.id, 3)
    assert [turn["text"] for turn in turns] == ["One.", "Yes: three", "Yes: one, better"]
    assert two.id not in house.prompts_heard()
    with pytest.raises(Conflict, match="done already"):
        await talk.hub.withdraw(MIA, session.id, one.id, c.Withdraw())
    with pytest.raises(NotFound):
        await talk.hub.withdraw(MIA, session.id, "no-such", c.Withdraw())


async def test_now_is_handed_over_in_the_running_turn(house: House, talk: Talk) -> None:
    """ours: folded into this turn by the CLI (measured, all), without an end of its own"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    now = await talk.prompt(session.id, "and this", "now")
    await talk.told(session.id, "prompt_sent", prompt=now.id)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    turn = (await talk.turns(session.id, 1))[0]
    assert now.id in turn["prompts"]


@pytest.mark.parametrize("version", ["2.1.326", "2.1.62"])
async def test_instead_stops_what_runs_and_goes_first(house: House, version: str) -> None:
    """ours: wire priority where the CLI has it, an interrupt where it has not"""
    house.variables["ROPEWALK_SIM_VERSION"] = version
    house.rule("first", {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 2.0}, {"text": "One."})
    house.variables["ROPEWALK_SIM_SPEED"] = "1"
    async with house.opened() as talk:
        session = await talk.new("first")
        await talk.told(session.id, "tool_started")
        later = await talk.prompt(session.id, "later")
        instead = await talk.prompt(session.id, "instead", "instead")
        turns = await talk.turns(session.id, 3)
        assert [turn["prompts"] for turn in turns[1:]] == [[instead.id], [later.id]]


async def test_a_repeated_command_is_one_command_and_another_body_is_refused(house: House, talk: Talk) -> None:
    """ours: every action has the asker's own id; over retries it is the same action"""
    session = await talk.new()
    asked = [talk.prompt(session.id, "once", client_id="c1") for _ in range(5)]
    told = await asyncio.gather(*asked)
    assert len({prompt.id for prompt in told}) == 1
    await talk.turns(session.id, 1)
    assert (await talk.prompt(session.id, "once", client_id="c1")).id == told[0].id
    with pytest.raises(CommandReused):
        await talk.prompt(session.id, "another", client_id="c1")
    assert house.prompts_heard() == [told[0].id]


async def test_a_repeated_command_is_the_same_after_a_restart_of_the_hub(house: House) -> None:
    """ours: the command is a row, stored with its effect"""
    async with house.opened() as talk:
        session = await talk.new(client_id="new-1")
        first = await talk.prompt(session.id, "once", client_id="c1")
        await talk.turns(session.id, 1)
    async with house.opened() as talk:
        assert (await talk.new(client_id="new-1")).id == session.id
        assert (await talk.prompt(session.id, "once", client_id="c1")).id == first.id
        assert len((await talk.hub.sessions(MIA)).items) == 1
    assert house.prompts_heard() == [first.id]


async def test_bad_input_gets_a_sentence_and_changes_nothing(talk: Talk) -> None:
    """ours: refused before anything is stored"""
    session = await talk.new()
    before = await talk.kinds(session.id)
    for bad in (c.Prompt(text="   "), c.Prompt(), c.Prompt(text="a", content=[]), c.Prompt(content=[{"type": "text"}])):
        with pytest.raises(UsageError):
            await talk.hub.prompt(MIA, session.id, bad)
    with pytest.raises(NotAllowed, match="role prompt"):
        await talk.hub.prompt(EVE, session.id, c.Prompt(text="hi"))
    with pytest.raises(NotFound):
        await talk.hub.prompt(MIA, "0000000000000", c.Prompt(text="hi"))
    assert await talk.kinds(session.id) == before


async def test_a_session_is_found_by_any_unique_start_of_its_id(talk: Talk) -> None:
    """ours: at least four letters"""
    session = await talk.new()
    assert (await talk.hub.session(MIA, session.id[:5])).id == session.id
    with pytest.raises(NotFound, match="at least 4"):
        await talk.hub.session(MIA, session.id[:3])


async def test_an_interrupt_ends_the_turn_and_the_next_prompt_runs(house: House, talk: Talk) -> None:
    """ours: harmless when nothing runs"""
    house.rule("first", ASKS, {"text": "One."})
    session = await talk.new("first")
    question = await talk.question(session.id)
    await talk.hub.interrupt(MIA, session.id, c.Interrupt())
    assert (await talk.turns(session.id, 1))[0]["interrupted"]
    closed = await talk.told(session.id, "question_closed", question=question.id)
    assert closed["fate"] == "withdrawn"
    await talk.prompt(session.id, "again")
    assert (await talk.turns(session.id, 2))[1]["text"] == "Yes: again"
    await talk.hub.interrupt(MIA, session.id, c.Interrupt())


async def test_a_picture_goes_as_a_block_and_is_in_the_prompt_afterwards(house: House, talk: Talk) -> None:
    """ours: attachments are kept in our own folder, never in the project's"""
    session = await talk.new()
    picture = await talk.hub.attach_file(MIA, session.id, "dot.png", b"\x89PNG....", "image/png")
    other = await talk.hub.attach_file(MIA, session.id, "../../notes.txt", b"words", "text/plain")
    await talk.hub.prompt(MIA, session.id, c.Prompt(content=[{"type": "text", "text": "look"}, picture, other]))
    await talk.turns(session.id, 1)
    sent = next(line for line in house.heard_by_cli() if line["type"] == "user")["message"]["content"]
    assert [block["type"] for block in sent] == ["text", "image", "text"]
    assert str(house.home) in sent[2]["text"] and ".." not in sent[2]["text"]
    assert list(house.project.iterdir()) == []


async def test_a_prompt_to_a_sleeping_session_wakes_it_unnoticed(house: House) -> None:
    """ours: idle processes are closed after a time that the user sets, and resumed"""
    house.settings["idle_after"] = 0.2
    house.rule("how many", {"text": "{prompts}"})
    async with house.opened() as talk:
        session = await talk.new("hello")
        await talk.status(session.id, "asleep")
        await talk.prompt(session.id, "how many")
        assert (await talk.turns(session.id, 2))[1]["text"] == "2"

        async def started() -> bool:
            return (await talk.kinds(session.id)).count("process_started") == 2

        await until(started, "second process")
