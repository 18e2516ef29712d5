"""``ropewalk run`` and ``ropewalk doctor`` on real CLIs, offline: what a person would see and do."""

from __future__ import annotations

import json
from asyncio import to_thread as aside  # the scripted model answers from this test's own loop meanwhile
from pathlib import Path

from ropewalk.client.probe import NO_SUCH
from ropewalk.sim.model import SimModel, reply, tool
from tests.cli.conftest import Desk
from tests.cli.terminal import CTRL_C, ENTER
from tests.demand import demand
from tests.real.rig import versions

KNOWN_BY = {"2.1.37": {"get_plan": "silent", "stop_task": "silent"}, "2.1.62": {"get_plan": "no", "stop_task": "yes"}}


@demand("003-56", tag="real")
@demand("002-51", tag="real")
@versions("2.1.37", "2.1.62", "2.1.120", "2.1.326")
async def test_the_doctor_says_what_this_version_knows_without_calling_the_model(
    real: Desk, model: SimModel, cli_version: str
) -> None:
    """seed 003, seed 002; measured: 2.1.37 is silent on what it does not know, 2.1.62 says so in words, 2.1.326 by a code"""
    told = (await aside(real.ropewalk, "doctor", "--json")).object
    assert (told["ok"], told["claude"]["version"]) == (True, cli_version)
    assert told["claude"]["advisories"] is (cli_version != "2.1.326") and told["claude"]["tested"] is True
    knows = {one["subtype"]: one["knows"] for one in told["requests"]}
    classic = (
        "interrupt",
        "set_permission_mode",
        "set_model",
        "set_max_thinking_tokens",
        "mcp_status",
        "mcp_set_servers",
        "rewind_files",
    )
    assert {name: knows[name] for name in classic} == dict.fromkeys(classic, "yes")
    expected = KNOWN_BY.get(cli_version, {"stop_task": "yes"})
    assert {name: knows[name] for name in expected} == expected
    assert knows[NO_SUCH] == ("silent" if cli_version == "2.1.37" else "no")
    assert bool(told["claude"]["capabilities"]) is (cli_version == "2.1.326")
    assert [check["words"] for check in told["checks"] if check["name"] == "login"] == ["uses the key of ANTHROPIC_API_KEY"]
    assert not model.requests


async def test_a_question_is_answered_with_a_key(real: Desk, model: SimModel, project: Path) -> None:
    """ours: card, allow, deny with a reason that the model reads"""
    made = reply(tool("Bash", command="touch one.txt", description="make a file"))
    model.add(made, reply(tool("Bash", command="touch two.txt", description="another")), "Both done.")
    with real.terminal("run", "make two files") as terminal:
        card = await aside(terminal.until, "/d › ")
        terminal.press("a")
        await aside(terminal.until, "/d › ")
        terminal.press("d")
        await aside(terminal.until, "reason for Claude")
        terminal.press(f"one is enough{ENTER}")
        assert await aside(terminal.end) == 0
    assert "◆ Run a command?   make a file\n    touch one.txt\n" in card
    assert (project / "one.txt").exists() and not (project / "two.txt").exists()
    assert (
        "✓ Bash   touch one.txt" in terminal.text and "✕ Bash   touch two.txt" in terminal.text and "Both done." in terminal.text
    )
    (last,) = [asked for asked in model.requests if asked.kind == "main"][-1:]
    assert "one is enough" in json.dumps(last.body)


async def test_a_grant_for_the_session_is_the_clis_own_and_holds(real: Desk, model: SimModel, project: Path) -> None:
    """measured (all): setMode acceptEdits for the session; the next file command is not asked"""
    steps = [reply(tool("Bash", command=f"touch {name}.txt", description="make")) for name in ("one", "two")]
    model.add(*steps, "Done.")
    with real.terminal("run", "make two files") as terminal:
        card = await aside(terminal.until, "/d › ")
        terminal.press("s")
        if "2 switch to accept edits" in card:
            await aside(terminal.until, "which one? 1/2, Esc: none › ")
            terminal.press("2")
        await aside(terminal.until, "Grant: switch to accept edits   (this session)? y/n › ")
        terminal.press("y")
        assert await aside(terminal.end) == 0
    assert (project / "one.txt").exists() and (project / "two.txt").exists()


async def test_ctrl_c_interrupts_a_real_turn(real: Desk, model: SimModel) -> None:
    """ours: the process is left in order, and its exit is ours"""
    model.add(reply("Thinking about it for long.", hold="never"))
    with real.terminal("run", "think") as terminal:
        await model.asked(lambda asked: "think" in asked.prompt)
        terminal.press(CTRL_C)
        await aside(terminal.until, "interrupted in ")
        assert await aside(terminal.end) == 130


@demand("004-02", tag="real")
async def test_a_prompt_that_begins_with_a_dash_reaches_the_model_as_it_is(real: Desk, model: SimModel) -> None:
    """seed 004"""
    model.add("Heard.")
    done = await aside(real.ropewalk, "run", "--", "-p --version")
    assert (done.code, done.out) == (0, "Heard.\n")
    assert [asked.prompt for asked in model.requests if asked.kind == "main"] == ["-p --version"]


async def test_the_cli_that_nobody_signed_in_to_is_told_from_one_that_failed(
    real: Desk, model: SimModel, cli_version: str
) -> None:
    """measured (all): error authentication_failed on the assistant line"""
    model.add(*[reply(error=401)] * 12)
    done = await aside(real.ropewalk, "run", "go")
    assert done.code == 8 and "/login" in done.err


async def test_stream_json_is_the_wire(real: Desk, model: SimModel) -> None:
    """ours: every line an object, the first our initialize's answer, the result among them"""
    model.add("Hello.")
    done = await aside(real.ropewalk, "run", "--output", "stream-json", "go")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0 and lines[0]["type"] == "control_response"
    assert [line["result"] for line in lines if line.get("type") == "result"] == ["Hello."]
