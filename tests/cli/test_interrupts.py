"""^C, time limits, and a claude that is gone: a run always ends, and says how. On the stand-in, told to misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Desk
from tests.cli.terminal import CTRL_C, GUARD

pytestmark = pytest.mark.slow


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_ctrl_c_interrupts_the_turn_and_says_so(desk: Desk) -> None:
    """ours: the turn ends with its result, the process ends by itself"""
    desk.script({"text": "Working."}, {"wait": 60}, {"text": "never said"})
    with desk.terminal("run", "go", ROPEWALK_SIM_SPEED="1") as terminal:
        terminal.until("Working.")
        terminal.press(CTRL_C)
        terminal.until("interrupting the turn; ^C again stops claude")
        terminal.until("interrupted in ")
        assert terminal.end() == 130
    assert [line["request"]["subtype"] for line in desk.said(type="control_request")] == ["initialize", "interrupt"]
    assert gone(desk.pids[0])


def test_a_second_ctrl_c_stops_a_claude_that_does_not_listen(desk: Desk) -> None:
    """ours: nothing survives it"""
    desk.script({"text": "Working."}, {"fault": "hang"})
    with desk.terminal("run", "go") as terminal:
        terminal.until("Working.")
        terminal.press(CTRL_C)
        terminal.until("interrupting the turn")
        terminal.press(CTRL_C)
        terminal.until("stopping claude")
        assert terminal.end() == 130
    assert gone(desk.pids[0])


def test_ctrl_c_before_claude_has_answered_stops_it(desk: Desk) -> None:
    """ours"""
    with desk.terminal("run", "--sim", "go", ROPEWALK_SIM_FAULT="hang") as terminal:
        terminal.until("starting claude")
        terminal.press(CTRL_C)
        assert terminal.end() == 130


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_stops_claude_too(desk: Desk, number: signal.Signals, code: int) -> None:
    """ours: whoever ends ropewalk ends what it started"""
    desk.script({"text": "Working."}, {"wait": 60})
    with desk.terminal("run", "go", ROPEWALK_SIM_SPEED="1") as terminal:
        terminal.until("Working.")
        os.kill(terminal.process.pid, number)
        assert terminal.end() == code
    assert gone(desk.pids[0])


def test_the_time_limit_ends_the_run_with_nine(desk: Desk) -> None:
    """ours"""
    desk.script({"text": "Working."}, {"wait": 60})
    done = desk.ropewalk("run", "--timeout", "1.5s", "go", env={"ROPEWALK_SIM_SPEED": "1"})
    assert done.code == 9 and done.out == "Working.\n"
    assert "ropewalk: timed out after 1.5 s (--timeout)." in done.err
    assert gone(desk.pids[0])


def test_an_open_question_waits_on_request_and_the_time_limit_ends_that_too(desk: Desk) -> None:
    """ours: --on-question wait"""
    done = desk.ropewalk("run", "--on-question", "wait", "--timeout", "2", "go")
    assert done.code == 9 and "Run a command?" in done.err and desk.answers == []


@pytest.mark.parametrize("output", ["text", "json", "stream-json"])
def test_a_claude_that_dies_is_told_with_its_code_and_last_words(desk: Desk, output: str) -> None:
    """lesson 15, 25: a dead process fails every waiter at once, with exit code and stderr"""
    desk.script({"text": "Working."}, {"stderr": "out of \x1b[31mmemory"}, {"fault": "crash", "code": 7})
    began = time.monotonic()
    done = desk.ropewalk("run", "--output", output, "go")
    assert done.code == 1 and time.monotonic() - began < GUARD
    (line,) = [line for line in done.err.splitlines() if line.startswith("ropewalk:")]
    assert "7" in line and "out of ␛[31mmemory" in line
    if output == "json":
        assert done.object["exit_code"] == 1 and "out of" in done.object["error"]


def test_a_claude_that_dies_at_the_start_is_told_and_v_shows_all_of_its_words(desk: Desk) -> None:
    """ours"""
    broken = desk.program("broken", "#!/bin/sh\necho first words >&2\necho last words >&2\nexit 5\n")
    done = desk.ropewalk("run", "--cli", broken, "-v", "go")
    assert done.code == 1 and "5" in done.err and "Its last words: last words" in done.err and "\n  first words\n" in done.err
    assert "first words" not in desk.ropewalk("run", "--cli", broken, "go").err


def test_a_missing_claude_is_eight_with_what_to_do(desk: Desk) -> None:
    """ours"""
    desk.env["PATH"] = "/nowhere"
    done = desk.ropewalk("run", "--cli", "claude-of-nobody", "go")
    assert done.code == 8 and done.out == ""
    assert "ropewalk: Claude Code was not found" in done.err and "npm install -g" in done.err and "--sim" in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(("words", "hint"), [((), "--api-billing to pay by it"), (("--api-billing",), "Check ANTHROPIC_API_KEY")])
def test_nobody_signed_in_is_eight_and_a_key_that_was_not_handed_on_is_named(
    desk: Desk, words: tuple[str, ...], hint: str
) -> None:
    """ours: the key stays with us unless asked for, which must not be a riddle"""
    desk.script({"fail": "no_key"})
    done = desk.ropewalk("run", *words, "go", env={"ANTHROPIC_API_KEY": "sk-made-up"})
    assert done.code == 8 and hint in done.err and "sk-made-up" not in done.err
    plain = desk.ropewalk("run", "go")
    assert plain.code == 8 and "/login" in plain.err and "ANTHROPIC_API_KEY" not in plain.err


def test_a_failed_turn_is_one_with_the_reason_and_what_to_do(desk: Desk) -> None:
    """ours: failed is is_error or a subtype other than success"""
    desk.script({"fail": 500}, {"text": "never said"})
    done = desk.ropewalk("run", "go", env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    assert done.code == 1 and done.out == ""
    assert "ropewalk: the turn failed: API Error: 500" in done.err and "failed in " in done.err


def test_a_reader_that_leaves_ends_the_run(desk: Desk) -> None:
    """ours: `ropewalk run … | head -1` does not go on for nobody"""
    desk.script({"fault": "flood", "count": 5000}, {"text": "never said"}, {"wait": 60})
    words = [sys.executable, "-m", "ropewalk", *desk.words(("run", "--output", "stream-json", "go"))]
    env = {**desk.env, "ROPEWALK_SIM_SPEED": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=desk.project, env=env
    ) as run:
        assert run.stdout is not None
        run.stdout.readline()
        run.stdout.close()
        assert run.wait(GUARD * 2) == 141
    assert gone(desk.pids[0])
