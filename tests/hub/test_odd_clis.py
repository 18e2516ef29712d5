"""CLIs that do what no CLI should: half-closed pipes, a refused greeting, a silent start, an exit without a word."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ropewalk.events import commands as c
from tests.hub.house import MIA, House, Talk

BEGINNING = """#!{python}
import json, os, sys, time
if "--version" in sys.argv:
    print("2.1.326 (Claude Code)")
    sys.exit(0)
def say(line):
    sys.stdout.write(json.dumps(line) + chr(10))
    sys.stdout.flush()
def heard():
    return json.loads(sys.stdin.readline() or '{{"type": "end"}}')
def greet():
    asked = heard()
    response = {{"subtype": "success", "request_id": asked["request_id"], "response": {{"commands": []}}}}
    say({{"type": "control_response", "response": response}})
"""


@asynccontextmanager
async def driven(house: House, program: str) -> AsyncIterator[Talk]:
    """A hub whose claude is this program."""
    cli = house.home / "claude"
    cli.write_text(BEGINNING.format(python=sys.executable) + program)
    cli.chmod(0o755)
    house.settings |= {"sim": False, "cli": str(cli)}
    async with house.opened() as talk:
        yield talk


async def usable(talk: Talk, session: str) -> None:
    """Whatever it did, a person can stop it, and nothing of it is left."""
    await talk.hub.stop(MIA, session, c.Stop(patience=0.2))
    view = await talk.hub.session(MIA, session)
    assert view.status == "stopped" and view.process is None
    assert talk.hub.world.slots.alive == 0 and talk.hub.world.slots.running == 0


async def test_one_that_closes_its_output_and_lives_can_be_stopped(house: House) -> None:
    """ours: nothing more can come of it; its prompt is lost, and that is told"""
    async with driven(house, "greet()\nheard()\nos.close(1)\ntime.sleep(600)\n") as talk:
        session = await talk.new("hello")
        await talk.told(session.id, "prompt_sent")
        await usable(talk, session.id)
        await talk.told(session.id, "prompt_lost")


async def test_one_that_closes_its_output_and_lives_is_ended_after_a_while(house: House) -> None:
    """ours: nobody has to notice it; how it stands says why, and its prompt is lost visibly"""
    async with driven(house, "greet()\nheard()\nos.close(1)\ntime.sleep(600)\n") as talk:
        session = await talk.new("hello")
        await talk.told(session.id, "prompt_lost")
        view = await talk.status(session.id, "failed")
        assert view.why == "It closed its output, and was ended"
        await usable(talk, session.id)


async def test_one_that_closes_its_input_and_lives_can_be_stopped(house: House) -> None:
    """ours: what can't be written fails or is lost, visibly; the person is not stuck with it"""
    async with driven(house, "greet()\nos.close(0)\ntime.sleep(600)\n") as talk:
        session = await talk.new()
        await talk.hub.wake(MIA, session.id, c.Wake())
        await talk.status(session.id, "idle")
        await talk.prompt(session.id, "hello")
        await talk.prompt(session.id, "and this")
        await usable(talk, session.id)


async def test_one_that_refuses_the_greeting_is_driven_all_the_same(house: House) -> None:
    """ours: it is told; the first prompt goes to it"""
    program = """
asked = heard()
response = {"subtype": "error", "request_id": asked["request_id"], "error": "not today"}
say({"type": "control_response", "response": response})
prompt = heard()
say({"type": "user", "message": prompt["message"], "uuid": prompt["uuid"], "isReplay": True})
heard()
"""
    async with driven(house, program) as talk:
        session = await talk.new("hello")
        assert "not today" in (await talk.told(session.id, "warning", code="greeting"))["text"]
        await talk.told(session.id, "prompt_taken")
        await usable(talk, session.id)


async def test_one_that_leaves_at_once_without_a_word_is_tried_three_times(house: House) -> None:
    """ours: exit 0 is no start either"""
    async with driven(house, "sys.exit(0)\n") as talk:
        session = await talk.new("hello")
        await talk.told(session.id, "failed", code="start")
        assert (await talk.kinds(session.id)).count("process_ended") == 3
        assert (await talk.status(session.id, "failed")).fix
        await usable(talk, session.id)


async def test_one_that_says_nothing_at_all_can_be_stopped_while_it_starts(house: House) -> None:
    """ours: a person need not wait for our patience to end"""
    async with driven(house, "time.sleep(600)\n") as talk:
        session = await talk.new("hello")
        await talk.told(session.id, "process_started")
        assert (await talk.hub.session(MIA, session.id)).status == "starting"
        await usable(talk, session.id)
        assert (await talk.hub.session(MIA, session.id)).queued == 1


async def test_one_whose_program_can_not_be_run_is_named(house: House) -> None:
    """ours: words, and the prompt waits"""
    async with driven(house, "") as talk:
        (house.home / "claude").write_text("#!/no/such/interpreter\n")
        session = await talk.new("hello")
        failed = await talk.told(session.id, "failed")
        assert failed["text"]
        assert (await talk.hub.session(MIA, session.id)).queued == 1
        assert talk.hub.world.slots.alive == 0


async def test_one_that_ends_at_once_says_how(house: House) -> None:
    """ours: a broken installation; its own words are the best explanation"""
    async with driven(house, "sys.stderr.write('no such module: cli.js')\nsys.exit(3)\n") as talk:
        session = await talk.new("hello")
        failed = await talk.told(session.id, "failed")
        assert failed["text"].startswith("Ended with exit code 3: no such module: cli.js, 3 times in a row")
        kinds = [kind for kind in await talk.kinds(session.id) if kind.startswith("process_")]
        assert kinds == ["process_started", "process_ended"] * 3
        assert (await talk.hub.session(MIA, session.id)).queued == 1
        await usable(talk, session.id)


async def test_an_answer_on_the_input_of_one_that_dies_unread_is_told_as_not_heard(house: House) -> None:
    """ours: the pipe has taken it, so it was told as delivered; who allowed it must know that nothing came of it"""
    ask = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "t1"}
    line = {"type": "control_request", "request_id": "r1", "request": ask}
    async with driven(house, f"greet()\nheard()\nsay({line!r})\ntime.sleep(600)\n") as talk:
        session = await talk.new("hello")
        question = await talk.question(session.id)
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
        await talk.told(session.id, "question_delivered")
        os.kill((await talk.told(session.id, "process_started"))["pid"], signal.SIGKILL)
        unheard = await talk.told(session.id, "question_delivered", delivered=False)
        assert unheard["question"] == question.id and "without a sign" in unheard["why"]
