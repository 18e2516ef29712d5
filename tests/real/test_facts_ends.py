"""What ends a real CLI, and with which code. Refuses the product: these are facts to build on, each in a process of its own."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path

import pytest

from ropewalk.sim.model import Rule, SimModel, reply
from tests.real import rig_raw
from tests.real.rig import versions
from tests.real.rig_raw import STREAM, Line, RawCli, RawStart
from tests.real.rig_talk import touch

HELLO = '{"type":"user","message":{"role":"user","content":"hello"}}\n'
CANCEL: Line = {"type": "control_cancel_request", "request_id": "any"}
ODD: dict[str, Line | str] = {
    "unknown type": {"type": "poem", "text": "O line"},
    "no type": {"text": "O line"},
    "blank": "\n",
    "cancel": CANCEL,
}


async def asked(cli: RawCli, model: SimModel) -> Line:
    """Up to an open question."""
    model.add(touch("never.txt"), "Done.")
    cli.prompt("go")
    return await cli.question("Bash")


@pytest.mark.parametrize(
    "line",
    ['{"type":"user","message":{"role":"us\n', '{"type":"user","message":{"role":"assistant","content":"x"}}\n'],
    ids=["half", "bad-role"],
)
async def test_a_bad_line_ends_every_cli(raw_cli: RawStart, line: str) -> None:
    """measured (all): exit 1, and what follows it is not run: a controller that writes half a line kills its session"""
    async with raw_cli() as cli:
        await cli.request("initialize")
        cli.send(line + HELLO)
        assert await cli.exit_code() == 1
        assert not [line for line in cli.lines if line["type"] == "result"]


@pytest.mark.parametrize("name", ODD)
@versions("2.1.37")
async def test_an_odd_line_ends_the_oldest(raw_cli: RawStart, name: str) -> None:
    """measured (2.1.37): exit 1"""
    async with raw_cli() as cli:
        cli.send(ODD[name])
        assert await cli.exit_code() == 1


@versions("2.1.62", "2.1.326")
async def test_odd_lines_are_skipped_by_the_others(raw_cli: RawStart, model: SimModel) -> None:
    """measured (2.1.62, 2.1.326); a cancel of ours does not withdraw their question either"""
    async with raw_cli() as cli:
        cli.send(*ODD.values())
        question = await asked(cli, model)
        cli.send({**CANCEL, "request_id": question["request_id"]})
        assert not [line for line in await cli.fence() if line["type"] in ("user", "result")]
        cli.allow(question)
        assert (await cli.result())["result"] == "Done."


async def test_an_assistant_line_is_never_good(raw_cli: RawStart, model: SimModel, cli_version: str) -> None:
    """measured: ends 2.1.37, breaks the next turn on 2.1.62, is skipped by 2.1.326"""
    async with raw_cli() as cli:
        await cli.turn("hello")
        cli.send({"type": "assistant", "message": {"role": "assistant", "content": "x"}}, HELLO)
        if cli_version == "2.1.37":
            assert await cli.exit_code() == 1
        else:
            wanted = "error_during_execution" if cli_version == "2.1.62" else "success"
            assert (await cli.result())["subtype"] == wanted


async def test_approved_true_ends_older_clis_and_is_ignored_by_the_newest(
    raw_cli: RawStart, model: SimModel, cli_version: str
) -> None:
    """measured: the answer of seed 004: exit 1 on 2.1.37 and 2.1.62; on 2.1.326 the question stays open"""
    async with raw_cli() as cli:
        question = await asked(cli, model)
        cli.send({"type": "control_response", "request_id": question["request_id"], "approved": True})
        if cli_version == "2.1.326":
            assert not [line for line in await cli.fence() if line["type"] in ("user", "result")]
            cli.allow(question)
            assert (await cli.result())["result"] == "Done."
        else:
            assert await cli.exit_code() == 1


async def test_closing_the_input_ends_it_with_the_word_of_the_last_turn(
    raw_cli: RawStart, model: SimModel, cli_version: str
) -> None:
    """measured (all): 1 after a failed one, and after an interrupted one on 2.1.326; a good one gives 0 (next facts)"""
    model.add(Rule([reply(error=400, message="prompt is too long: 9 tokens > 8 maximum")], when="fail", then="last"))
    model.add(Rule([touch("interrupted.txt")], when="interrupt me"))
    async with raw_cli() as cli:
        result = await cli.turn("fail")
        assert result["is_error"] is True
        assert await cli.end() == 1
    async with raw_cli() as cli:
        cli.prompt("interrupt me")
        await cli.question("Bash")
        await cli.request("interrupt")
        await cli.result()
        assert await cli.end() == (1 if cli_version == "2.1.326" else 0)


async def test_closing_the_input_during_a_question_refuses_it_and_finishes_the_turn(raw_cli: RawStart, model: SimModel) -> None:
    """measured (all): the model speaks once more, a normal result, exit 0"""
    async with raw_cli() as cli:
        await asked(cli, model)
        cli.close_input()
        result = await cli.result()
        assert (result["subtype"], result["result"], len(result["permission_denials"])) == ("success", "Done.", 1)
        assert await cli.exit_code() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0), (signal.SIGKILL, -9)])
async def test_a_signal_during_a_question(
    raw_cli: RawStart, model: SimModel, cli_version: str, number: signal.Signals, code: int
) -> None:
    """measured (all): a result is told only by 2.1.326, and only after SIGINT: never SIGINT a turn"""
    async with raw_cli() as cli:
        await asked(cli, model)
        cli.process.send_signal(number)
        assert await cli.exit_code() == code
        await cli.ended()
        told = [line["subtype"] for line in cli.lines if line["type"] == "result"]
        wanted = cli_version == "2.1.326" and number == signal.SIGINT
        assert told == (["error_during_execution"] if wanted else [])


@pytest.mark.parametrize("flag", ["--no-such-flag", "--session-id=no-uuid"])
async def test_a_bad_flag_ends_it_at_once_with_words_on_stderr(raw_cli: RawStart, flag: str) -> None:
    """measured (all): exit 1, no line"""
    async with raw_cli(flag) as cli:
        assert await cli.exit_code() == 1
        await cli.ended()
        assert cli.lines == [] and cli.stderr


async def test_an_unknown_session_is_told_by_a_result_without_a_prompt(raw_cli: RawStart, cli_version: str) -> None:
    """measured (all): error_during_execution with errors, no turns, exit 1; the id is the asked one only on 2.1.326"""
    wanted = str(uuid.uuid4())
    async with raw_cli(f"--resume={wanted}") as cli:
        result = await cli.result()
        assert (result["subtype"], result["is_error"], result["num_turns"]) == ("error_during_execution", True, 0)
        assert result["errors"] and (result["session_id"] == wanted) is (cli_version == "2.1.326")
        assert await cli.exit_code() == 1


async def test_verbose_is_demanded_together_with_stream_json(bare_cli: list[str], cli_env: dict[str, str], project: Path) -> None:
    """measured (all): without it exit 1 at once, words on stderr"""
    words = [word for word in STREAM if word != "--verbose"]
    async with rig_raw.raw_cli([*bare_cli, *words], cwd=project, env=cli_env) as cli:
        assert await cli.exit_code() == 1
        await cli.ended()
        assert cli.lines == [] and "--verbose" in "\n".join(cli.stderr)


async def test_a_prompt_on_the_command_line_is_ignored(raw_cli: RawStart, model: SimModel) -> None:
    """measured (all): with stream-json input only lines count"""
    async with raw_cli("words on the command line") as cli:
        await cli.request("initialize")
        assert await cli.fence() == []
        await cli.turn("words on the wire")
        assert [asked.prompt for asked in model.requests if asked.kind == "main"] == ["words on the wire"]
        assert await cli.end() == 0


async def test_without_the_flag_no_question_is_ever_asked(
    bare_cli: list[str], cli_env: dict[str, str], project: Path, model: SimModel
) -> None:
    """measured (all): the tool is refused locally"""
    model.add(touch("never.txt"), "Refused.")
    async with rig_raw.raw_cli([*bare_cli, *STREAM[:-1]], cwd=project, env=cli_env) as cli:
        cli.prompt("go")
        result = await cli.result()
        assert (result["result"], len(result["permission_denials"])) == ("Refused.", 1)
        assert not [line for line in cli.lines if line["type"] == "control_request"]
