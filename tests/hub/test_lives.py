"""Processes that come and go under a session: kills of hub, runner and CLI, stop, wake, fork, sleep, limits."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from ropewalk.errors import Conflict, FolderMissing, NotAllowed, UsageError
from ropewalk.events import commands as c
from tests.demand import demand
from tests.hub.house import MIA, House, Talk, gone, until

ASKS: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
LONG: dict[str, Any] = {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 6e9}
"""Delays are divided by the speed that tests run at."""


async def test_a_turn_goes_on_while_the_hub_is_away(house: House) -> None:
    """ours: the runner holds the lines until they are stored; nothing is missing, nothing is there twice"""
    house.variables["ROPEWALK_SIM_SPEED"] = "1"
    house.rule(
        "count",
        {"text": "One "},
        *[{"tool": "Read", "input": {"file_path": f"/x/{n}"}, "result": "x", "ask": False} for n in range(20)],
    )
    async with house.opened() as talk:
        session = await talk.new("count")
        await talk.told(session.id, "turn_started")
    async with house.opened() as talk:
        await talk.turns(session.id, 1)
        kinds = await talk.kinds(session.id)
        assert kinds.count("tool_started") == kinds.count("tool_finished") == 20
        assert kinds.count("process_started") == 1 and kinds.count("turn_started") == 1
        lines = [line for line in await talk.hub.lines(MIA, session.id, limit=1000) if line[2] == "out"]
        assert len({line[3] for line in lines}) == len(lines)


async def test_a_queue_outlives_the_hub_and_goes_on(house: House) -> None:
    """ours: prompts are rows; handed over by the next life of the hub"""
    house.rule("first", ASKS, {"text": "One."})
    async with house.opened() as talk:
        session = await talk.new("first")
        await talk.question(session.id)
        queued = await talk.prompt(session.id, "second")
    async with house.opened() as talk:
        question = await talk.question(session.id)
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
        turns = await talk.turns(session.id, 2)
        assert turns[1]["prompts"] == [queued.id]
    assert house.prompts_heard().count(queued.id) == 1


async def test_a_database_that_forgot_its_lives_takes_its_runner_back(house: House) -> None:
    """ours: salvaged, or brought back from a backup; its lock says that no other hub is there, and the process goes on"""
    house.rule("first", ASKS, {"text": "One."})
    async with house.opened() as talk:
        session = await talk.new("first")
        await talk.question(session.id)
    async with house.opened():
        pass
    with closing(sqlite3.connect(house.config.database)) as database, database:
        database.execute("DELETE FROM setting WHERE name = 'epoch'")
    async with house.opened() as talk:
        question = await talk.question(session.id)
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
        await talk.turns(session.id, 1)
        assert talk.hub.world.link.epoch == 3
    async with house.opened() as talk:
        assert talk.hub.world.link.epoch == 4
        assert (await talk.kinds(session.id)).count("process_started") == 1


@demand("000-29", tag="sim")
async def test_what_a_turn_came_to_is_there_after_a_restart(house: House) -> None:
    """seed: the result's summary is kept and readable after a restart"""
    async with house.opened() as talk:
        session = await talk.new("hello")
        before = (await talk.turns(session.id, 1))[0]
    async with house.opened() as talk:
        assert (await talk.turns(session.id, 1))[0] == before
        assert (await talk.hub.session(MIA, session.id)).cost_usd == pytest.approx(before["cost_usd"])


async def test_a_killed_cli_is_told_with_its_code_and_its_last_words(house: House, talk: Talk) -> None:
    """ours: pending prompts end visibly and are never sent again by themselves; a prompt of a person goes on"""
    house.rule("crash", {"stderr": "out of memory"}, {"fault": "kill"})
    session = await talk.new("crash")
    ended = await talk.told(session.id, "process_ended")
    assert ended["code"] == -9 and "out of memory" in " ".join(ended["stderr"])
    view = await talk.status(session.id, "failed")
    assert view.why and view.fix
    lost = await talk.told(session.id, "prompt_lost")
    assert house.prompts_heard() == [lost["prompt"]]
    await talk.prompt(session.id, "go on")
    assert (await talk.turns(session.id, 1))[0]["text"] == "Yes: go on"
    assert house.prompts_heard().count(lost["prompt"]) == 1


async def test_a_cli_that_never_starts_is_tried_three_times_and_then_a_person_is_asked(house: House) -> None:
    """ours: a durable counter; no endless respawning"""
    house.variables["ROPEWALK_SIM_FAULT"] = "crash code=7"
    async with house.opened() as talk:
        session = await talk.new("hello")
        failed = await talk.told(session.id, "failed")
        assert "3 times" in failed["text"]
        kinds = await talk.kinds(session.id)
        assert kinds.count("process_ended") == 3
        assert (await talk.status(session.id, "failed")).fix
        queue = (await talk.hub.snapshot(MIA, session.id)).queue
        assert [prompt.state for prompt in queue] == ["queued"]


async def test_a_killed_runner_is_replaced_and_its_sessions_say_what_happened(house: House, talk: Talk) -> None:
    """ours: known within a second, its CLIs are ended, the session can be woken"""
    house.rule("work", LONG)
    session = await talk.new("work")
    await talk.told(session.id, "tool_started")
    pid = await talk.pid(session.id)
    os.kill(next(iter(house.runners)), signal.SIGKILL)
    ended = await talk.told(session.id, "process_ended")
    assert ended["why"]
    assert "link_lost" in await talk.kinds(session.id)
    await until(lambda: gone(pid), "end of the CLI")
    await talk.prompt(session.id, "go on")
    assert (await talk.turns(session.id, 1))[-1]["text"] == "Yes: go on"
    house.met(talk.hub)


async def test_hub_and_runner_killed_the_next_start_tells_and_goes_on(house: House) -> None:
    """ours: what the runner had spooled is there; the rest is named in one event"""
    house.rule("work", {"text": "Before."}, LONG)
    async with house.opened() as talk:
        session = await talk.new("work")
        await talk.told(session.id, "tool_started")
        pid = await talk.pid(session.id)
        pids = list(house.runners)
    os.kill(pids[0], signal.SIGKILL)
    await until(lambda: gone(*pids), "end of the runner")
    async with house.opened() as talk:
        await talk.told(session.id, "process_ended")
        assert "text" in await talk.kinds(session.id)
        await until(lambda: gone(pid), "end of the CLI")
        await talk.prompt(session.id, "go on")
        assert (await talk.turns(session.id, 1))[-1]["text"] == "Yes: go on"


async def test_a_stop_is_told_rung_by_rung_and_leaves_nothing(house: House, talk: Talk) -> None:
    """ours: interrupt, tasks, input closed; TERM and KILL only where that is not enough"""
    house.rule("work", LONG)
    session = await talk.new("work")
    await talk.told(session.id, "tool_started")
    pid = await talk.pid(session.id)
    await talk.hub.stop(MIA, session.id, c.Stop(patience=5))
    assert await gone(pid)
    rungs = [event["rung"] for event in await talk.events(session.id) if event["kind"] == "stop_rung"]
    assert rungs[0] == "interrupt" and len(rungs) >= 2
    view = await talk.hub.session(MIA, session.id)
    assert (view.status, view.fix) == ("stopped", "wake") and "Mia" in view.why
    await talk.hub.wake(MIA, session.id, c.Wake())
    await talk.status(session.id, "idle")


async def test_a_cli_that_ignores_everything_is_ended_all_the_same(house: House) -> None:
    """ours: each rung bounded"""
    house.variables["ROPEWALK_SIM_FAULT"] = "ignore_term"
    house.rule("hang", {"fault": "hang"})
    async with house.opened() as talk:
        session = await talk.new("hang")
        await talk.told(session.id, "prompt_taken")
        pid = await talk.pid(session.id)
        await talk.hub.stop(MIA, session.id, c.Stop(patience=0.2))
        assert await gone(pid)


async def test_queued_prompts_wait_while_a_session_is_stopped(house: House, talk: Talk) -> None:
    """ours: what a person stopped is not resurrected; waking goes on with the queue"""
    house.rule("first", ASKS)
    session = await talk.new("first")
    await talk.question(session.id)
    await talk.prompt(session.id, "second")
    await talk.hub.stop(MIA, session.id, c.Stop(patience=1))
    assert (await talk.hub.session(MIA, session.id)).queued == 1
    await talk.hub.wake(MIA, session.id, c.Wake())
    texts = [turn.get("text") for turn in await talk.turns(session.id, 2)]
    assert texts[-1] == "Yes: second"


async def test_a_fork_knows_what_came_before_and_the_old_one_stays(house: House, talk: Talk) -> None:
    """measured (all): --fork-session, a new id with the whole history"""
    house.rule("how many", {"text": "{prompts}"})
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    fork = await talk.hub.fork(MIA, session.id, c.Fork(prompt="how many"))
    assert (await talk.turns(fork.id, 1))[0]["text"] == "2"
    view = await talk.hub.session(MIA, fork.id)
    assert view.fork_of == session.id and view.cli_session != session.cli_session
    await talk.prompt(session.id, "how many")
    assert (await talk.turns(session.id, 2))[1]["text"] == "2"


async def test_a_rewind_tells_first_and_forks_the_conversation(house: House, talk: Talk) -> None:
    """measured (all): rewind_files by the prompt's uuid; the conversation as a fork before it"""
    house.rule("how many", {"text": "{prompts}"})
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    second = await talk.prompt(session.id, "second")
    await talk.turns(session.id, 2)
    back = await talk.hub.rewind(MIA, session.id, c.Rewind(prompt=second.id, files=False, conversation=True))
    assert back.session and back.session != session.id
    await talk.prompt(back.session, "how many")
    assert (await talk.turns(back.session, 1))[0]["text"] == "2"


async def test_an_earlier_cli_session_is_gone_on_with(house: House, talk: Talk) -> None:
    """ours: resume by the CLI's own id"""
    house.rule("how many", {"text": "{prompts}"})
    first = await talk.new("hello")
    await talk.turns(first.id, 1)
    await talk.hub.stop(MIA, first.id, c.Stop())
    cli = (await talk.hub.session(MIA, first.id)).cli_session
    again = await talk.new("how many", resume=cli)
    assert (await talk.turns(again.id, 1))[0]["text"] == "2"


async def test_one_process_a_cli_session_whoever_asks(house: House, talk: Talk) -> None:
    """measured (all): nobody else guards it"""
    house.rule("work", LONG)
    first = await talk.new("work")
    await talk.told(first.id, "tool_started")
    cli = (await talk.hub.session(MIA, first.id)).cli_session
    second = await talk.new("hello", resume=cli)
    failed = await talk.told(second.id, "failed")
    assert failed["text"]
    assert (await talk.kinds(second.id)).count("process_started") == 0


async def test_mode_model_and_any_request_reach_the_cli(talk: Talk) -> None:
    """ours: the mode shown is the one that the CLI confirmed"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="plan"))
    await talk.hub.set_model(MIA, session.id, c.SetModel(model="sonnet"))
    await talk.hub.set_thinking(MIA, session.id, c.SetThinking(max_thinking_tokens=1000))
    reply = await talk.hub.control(MIA, session.id, c.Control(subtype="mcp_status"))
    assert reply.reply == {"mcpServers": []}
    view = await talk.hub.session(MIA, session.id)
    assert (view.mode, view.model) == ("plan", "sonnet")
    with pytest.raises(Conflict, match="Claude said no"):
        await talk.hub.control(MIA, session.id, c.Control(subtype="no_such_thing"))
    with pytest.raises(NotAllowed, match="allow_bypass"):
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions"))


async def test_what_a_client_may_not_name_is_refused(house: House, talk: Talk) -> None:
    """ours: program, variables, hooks and bypass are the configuration's"""
    for options in (
        c.SessionOptions(env={"LD_PRELOAD": "x"}),
        c.SessionOptions(mcp_config="/x"),
        c.SessionOptions(allow_bypass=True),
    ):
        with pytest.raises(NotAllowed):
            await talk.new(options=options)
    with pytest.raises(FolderMissing):
        await talk.hub.create(MIA, c.CreateSession(cwd=str(house.project / "nowhere")))
    with pytest.raises(UsageError):
        await talk.hub.create(MIA, c.CreateSession(cwd="relative/path"))
    assert (await talk.hub.sessions(MIA)).items == []


async def test_only_so_many_turns_run_at_once_and_a_persons_wait_holds_no_place(house: House) -> None:
    """ours: limits are counted where turns begin; the next one goes on by itself"""
    house.settings["max_turns"] = 1
    house.variables["ROPEWALK_SIM_SPEED"] = "1"
    house.rule("short", {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 0.5}, {"text": "Short."})
    house.rule("ask", ASKS, {"text": "Asked."})
    async with house.opened() as talk:
        asking = await talk.new("ask")
        await talk.question(asking.id)
        one, two = await talk.new("short"), await talk.new("short")
        await talk.turns(one.id, 1)
        await talk.turns(two.id, 1)
        times = [(await talk.told(name, "turn_started"))["at"] for name in (one.id, two.id)]
        ends = [(await talk.told(name, "turn_ended"))["at"] for name in (one.id, two.id)]
        assert max(times) >= min(ends)


async def test_a_folder_that_went_away_is_named(house: House, talk: Talk) -> None:
    """ours: words, no fallback to another folder; the prompt is kept"""
    session = await talk.new()
    house.project.rmdir()
    await talk.prompt(session.id, "hello")
    failed = await talk.told(session.id, "failed")
    assert failed["code"] == "folder_missing"
    view = await talk.status(session.id, "failed")
    assert "older" in view.why and view.fix
    assert (await talk.hub.snapshot(MIA, session.id)).queue[0].state == "queued"
    house.project.mkdir()
    await talk.hub.wake(MIA, session.id, c.Wake())
    await talk.turns(session.id, 1)


async def test_titles_tags_and_archive_are_kept(talk: Talk) -> None:
    """ours: archived ones are under a filter"""
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    await talk.hub.change(MIA, session.id, c.ChangeSession(title="Other", tags=["a", "b"]))
    assert [(one.title, one.tags) for one in (await talk.hub.sessions(MIA, text="othe")).items] == [("Other", ["a", "b"])]
    await talk.hub.change(MIA, session.id, c.ChangeSession(archived=True))
    assert (await talk.hub.sessions(MIA)).items == []
    assert len((await talk.hub.sessions(MIA, archived=True)).items) == 1


async def test_search_finds_the_words_of_prompts_answers_and_commands(house: House, talk: Talk) -> None:
    """ours: lands on the event"""
    house.rule("ask", ASKS, {"text": "Quicksilver."})
    session = await talk.new("ask about mercury")
    question = await talk.question(session.id)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    await talk.turns(session.id, 1)
    for words, kind in (("mercury", "prompt_queued"), ("quicksilver", "text"), ("touch it", "tool_started")):

        async def look(words: str = words, kind: str = kind) -> bool:
            return kind in {hit.kind for hit in await talk.hub.search(MIA, words)}

        await until(look, words)
    assert await talk.hub.search(MIA, 'nothing" OR "*') == []


async def test_a_prompt_that_the_killed_cli_never_noted_is_named(house: House, talk: Talk) -> None:
    """measured (all): a kill within a second of a prompt can leave it out of the CLI's own record; our log has it"""
    house.rule("crash", {"fault": "kill"})
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    lost = (await talk.prompt(session.id, "crash")).id
    await talk.told(session.id, "prompt_lost", prompt=lost)
    record = next((house.home / "stand-in" / "projects").glob("*/*.jsonl"))
    record.write_bytes(b"".join(line for line in record.read_bytes().splitlines(keepends=True) if lost.encode() not in line))
    await talk.prompt(session.id, "go on")
    warned = await talk.told(session.id, "warning", code="prompt_not_known")
    assert warned["prompt"] == lost
    assert house.prompts_heard().count(lost) == 1


async def test_a_prompt_takes_a_session_out_of_the_archive(house: House, talk: Talk) -> None:
    """ours: nothing runs out of sight; an event says who brought it back"""
    session = await talk.new()
    await talk.hub.change(MIA, session.id, c.ChangeSession(archived=True))
    await talk.prompt(session.id, "hello")
    await talk.turns(session.id, 1)
    assert not (await talk.hub.session(MIA, session.id)).archived
    back = [event for event in await talk.events(session.id) if event["kind"] == "session_changed" and "archived" in event]
    assert [(event["archived"], event["by"]) for event in back] == [(True, "Mia"), (False, "Mia")]


async def test_a_sleeping_session_says_the_same_of_itself_after_a_restart(house: House) -> None:
    """ours: how it stands, why, and what it meant to do"""
    house.variables["ROPEWALK_SIM_VERSION"] = "2.1.62"  # later ones have other tools for it
    todos = [{"content": "Sew", "status": "in_progress", "activeForm": "Sewing"}]
    house.rule("work", {"todos": todos}, {"tool": "Write", "input": {"file_path": "{cwd}/a", "content": "a"}, "ask": False})
    async with house.opened() as talk:
        session = (await talk.new("work")).id
        await talk.turns(session, 1)
        await talk.hub.stop(MIA, session, c.Stop(patience=5))
        before = await talk.hub.snapshot(MIA, session)
    assert before.todos
    async with house.opened() as talk:
        after = await talk.hub.snapshot(MIA, session)
        assert (after.session.status, after.session.why, after.todos) == (before.session.status, before.session.why, before.todos)
        assert after.last_seq == before.last_seq
