"""Which permission modes real CLIs know, take and guard, and what each asks. Refuses the product: these are facts to build on."""

from __future__ import annotations

import pytest

from ropewalk.sim.model import Reply, SimModel, reply, tool
from tests.real.rig_raw import Line, RawStart
from tests.real.rig_talk import LOOP, Talk, touch

KNOWN = ["default", "acceptEdits", "plan", "dontAsk"]


def write(talk: Talk, name: str) -> Reply:
    return reply(tool("Write", file_path=str(talk.place.project / name), content="words"))


def question_or_result(line: Line) -> bool:
    return line["type"] in ("control_request", "result")


async def set_mode(talk: Talk, mode: str) -> list[Line]:
    """Every answer to the request, in order."""
    name = f"mode-{mode}-{len(talk.cli.lines)}"
    request = {"subtype": "set_permission_mode", "mode": mode}
    talk.cli.send({"type": "control_request", "request_id": name, "request": request})
    await talk.cli.fence()
    answers = [line["response"] for line in talk.cli.lines if line["type"] == "control_response"]
    return [answer for answer in answers if answer["request_id"] == name]


async def mode_now(talk: Talk) -> str:
    talk.cli.prompt(talk.script("Yes."))
    init = await talk.cli.expect(lambda line: line.get("subtype") == "init", "init")
    await talk.cli.result()
    return str(init["permissionMode"])


@LOOP
@pytest.mark.parametrize("mode", KNOWN)
async def test_a_known_mode_is_taken_and_told_by_the_next_init(talk: Talk, mode: str) -> None:
    """measured (all): 2.1.37 answers twice, first with the mode, then with nothing"""
    answers = await set_mode(talk, mode)
    assert [answer["subtype"] for answer in answers] == ["success"] * (2 if talk.version == "2.1.37" else 1)
    assert answers[0]["response"]["mode"] == mode
    assert await mode_now(talk) == mode


@LOOP
async def test_a_mode_that_does_not_exist_is_refused_by_the_newest_only(talk: Talk) -> None:
    """measured: 2.1.37 and 2.1.62 take any word and report it: we must check names ourselves"""
    answer = (await set_mode(talk, "nonsense"))[0]
    assert (answer["subtype"], answer.get("error_code")) == (("error", "invalid_mode") if talk.newest else ("success", None))
    await set_mode(talk, "default")
    assert await mode_now(talk) == "default"


@LOOP
async def test_bypass_is_guarded_by_the_newest_only(talk: Talk) -> None:
    """measured: 2.1.37 and 2.1.62 go there without any flag"""
    answer = (await set_mode(talk, "bypassPermissions"))[0]
    wanted = ("error", "bypass_not_launched") if talk.newest else ("success", None)
    assert (answer["subtype"], answer.get("error_code")) == wanted
    await set_mode(talk, "default")


@LOOP
async def test_the_newest_tells_a_change_of_mode_by_a_status_line(talk: Talk) -> None:
    """measured: 2.1.326 only; the others tell it in the answer and the next init"""
    talk.cli.skip()
    await set_mode(talk, "acceptEdits")
    told = [line["permissionMode"] for line in await talk.cli.fence() if line.get("subtype") == "status"]
    assert told == (["acceptEdits"] if talk.newest else [])
    await set_mode(talk, "default")


@LOOP
@pytest.mark.parametrize(
    ("mode", "asked", "made"), [("default", True, False), ("acceptEdits", False, True), ("dontAsk", False, False)]
)
async def test_what_a_mode_asks(talk: Talk, mode: str, asked: bool, made: bool) -> None:
    """measured (all): acceptEdits runs a Write unasked, dontAsk refuses it unasked (seed 003 has it the other way round)"""
    await set_mode(talk, mode)
    talk.cli.prompt(talk.script(write(talk, f"{mode}.txt"), "Done."))
    line = await talk.cli.expect(question_or_result, "a question or a result")
    assert (line["type"] == "control_request") is asked
    assert talk.made(f"{mode}.txt") is made
    assert asked or len(line["permission_denials"]) == (0 if made else 1)
    await talk.cli.request("interrupt")
    await talk.cli.quiet()
    await set_mode(talk, "default")


@LOOP
async def test_in_plan_mode_a_write_can_still_be_asked_for(talk: Talk) -> None:
    """measured (all): plan mode is an instruction to the model, a person may allow a write"""
    await set_mode(talk, "plan")
    talk.cli.prompt(talk.script(write(talk, "planned.txt"), "Done."))
    talk.cli.allow(await talk.cli.question("Write"))
    await talk.cli.result()
    assert talk.made("planned.txt")
    await set_mode(talk, "default")


@LOOP
async def test_entering_plan_mode_is_never_asked(talk: Talk) -> None:
    """measured (all): a status line tells the change; seed 003 describes a dialog"""
    talk.cli.prompt(talk.script(reply(tool("EnterPlanMode")), "Planning."))
    line = await talk.cli.expect(lambda line: question_or_result(line) or line.get("subtype") == "status", "a status line")
    assert line.get("permissionMode") == "plan"
    await talk.cli.result()
    assert await mode_now(talk) == "plan"
    await set_mode(talk, "default")


async def test_bypass_by_flag_asks_nothing_of_an_ordinary_user(raw_cli: RawStart, model: SimModel) -> None:
    """measured (all): no further flag is needed at the start"""
    model.add(touch("bypassed.txt"), "Done.")
    async with raw_cli("--permission-mode=bypassPermissions") as cli:
        cli.prompt("go")
        init = await cli.expect(lambda line: line.get("subtype") == "init", "init")
        assert init["permissionMode"] == "bypassPermissions"
        assert (await cli.expect(question_or_result, "a question or a result"))["permission_denials"] == []


async def test_bypass_can_be_switched_on_later_when_launched_for_it(raw_cli: RawStart, cli_version: str) -> None:
    """measured (all)"""
    async with raw_cli("--allow-dangerously-skip-permissions") as cli:
        assert (await cli.request("set_permission_mode", mode="bypassPermissions"))["subtype"] == "success"


@pytest.mark.parametrize("mode", ["delegate", "auto"])
async def test_modes_of_one_version_only(raw_cli: RawStart, cli_version: str, mode: str) -> None:
    """measured: delegate is taken by 2.1.37 alone (and runs as default), auto by 2.1.326 alone; else exit 1 before any line"""
    async with raw_cli(f"--permission-mode={mode}") as cli:
        if (mode, cli_version) in {("delegate", "2.1.37"), ("auto", "2.1.326")}:
            cli.prompt("go")
            init = await cli.expect(lambda line: line.get("subtype") == "init", "init")
            assert init["permissionMode"] == ("default" if mode == "delegate" else "auto")
        else:
            assert await cli.exit_code() == 1
            assert cli.lines == [] and "--permission-mode" in "\n".join(cli.stderr)
