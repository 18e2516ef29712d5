"""The command line itself: prompts from everywhere, wrong words with the nearest right one, help that is true."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from ropewalk.cli import pages
from ropewalk.cli.app import app
from tests.cli.conftest import Desk

pytestmark = pytest.mark.slow

EXAMPLES = [
    (name, match[1])
    for name, page in pages.PAGES.items()
    if name in ("doctor", "sim", "completion", "version")
    for match in re.finditer(r"^  ((?:\w+=\S+ |git |eval )?.*?ropewalk .*?)(?:   .*)?$", page, re.MULTILINE)
]
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"
EXAMPLES += [
    (name, line[2:])
    for name in ("doctor.md",)
    for line in (HOW_TO / name).read_text("utf-8").splitlines()
    if line.startswith("$ ")
]
ELSEWHERE = "sim model (?!--help)|--salvage"
"""They serve until somebody ends them, or need a damaged database: tests of their own run them."""
EXAMPLES = [(name, example) for name, example in EXAMPLES if not re.search(ELSEWHERE, example)]


# -- the prompt


def test_the_prompt_comes_from_the_argument_stdin_or_both(desk: Desk) -> None:
    """ours: piped words stand behind those of the argument"""
    desk.script({"text": "ok"})
    desk.ropewalk("run", "from the argument")
    desk.ropewalk("run", stdin="from a pipe\n")
    desk.ropewalk("run", "-", stdin="from a dash\nin two lines\n")
    desk.ropewalk("run", "Review this:", stdin="diff --git\n")
    desk.ropewalk("run", "--no-input", "alone", stdin="not read")
    assert desk.prompts == [
        "from the argument",
        "from a pipe",
        "from a dash\nin two lines",
        "Review this:\n\ndiff --git",
        "alone",
    ]


def test_a_prompt_that_begins_with_a_dash_is_a_prompt(desk: Desk) -> None:
    """seed 004: never a flag"""
    desk.script({"text": "ok"})
    assert desk.ropewalk("run", "--", "-x --dangerously-skip-permissions").code == 0
    assert desk.ropewalk("run", stdin="--version").code == 0
    assert desk.prompts == ["-x --dangerously-skip-permissions", "--version"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run",), "the prompt is empty"),
        (("run", "  "), "the prompt is empty"),
        (("rnu", "x"), "did you mean: ropewalk run?"),
        (("fix the bug",), 'a prompt goes to: ropewalk run "fix the bug"'),
        (("run", "--modle", "opus", "x"), "--model"),
        (("run", "--mode", "acceptEdit", "x"), "did you mean acceptEdits?"),
        (("run", "--output", "yaml", "x"), "there are text, json, stream-json"),
        (("run", "--timeout", "soon", "x"), "write 90, 90s, 5m or 1h"),
        (("run", "--max-turns", "0", "x"), "--max-turns"),
        (("run", "--sim", "--cli", "/bin/true", "x"), "choose one"),
        (("run", "--json", "--output", "stream-json", "x"), "choose one"),
        (("run", "--fork", "x"), "fork"),
        (("run", "--cwd", "/nowhere/at/all", "x"), "/nowhere/at/all does not exist"),
        (("sim", "modle"), "did you mean: ropewalk sim model?"),
        (("help", "qestions"), "did you mean: ropewalk help questions?"),
        (("completion", "tcsh"), "there are bash, zsh, fish"),
        (("doctor", "--color", "blue"), "there are auto, always, never"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_wrong_words_are_two_in_one_line_with_what_would_be_right(desk: Desk, words: tuple[str, ...], said: str) -> None:
    """ours: nothing is started"""
    done = desk.ropewalk(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("ropewalk: ") and said in done.err and len(done.err.splitlines()) == 1
    assert desk.ledger == []


def test_closed_streams_are_no_trouble(desk: Desk) -> None:
    """ours: a daemon may start us without any of the three"""
    desk.script({"text": "ok"})
    words = " ".join([sys.executable, "-m", "ropewalk", *desk.words(("run", "go"))])
    for closed in ("<&-", "2>&-", "<&- 2>&-"):
        done = subprocess.run(
            ["bash", "-c", f"{words} {closed}"], cwd=desk.project, env=desk.env, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout) == (0, b"ok\n")


# -- help


@pytest.mark.parametrize("name", sorted(pages.PAGES))
def test_a_page_is_one_screen(name: str) -> None:
    """ours (F-55): 24 by 80"""
    lines = pages.PAGES[name].splitlines()
    assert len(lines) <= 24 and all(len(line) <= 80 for line in lines), max(lines, key=len)


def test_every_option_stands_on_its_page() -> None:
    """ours: and the page names none that does not exist"""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name in ("run", "doctor", "version"):
        page = pages.PAGES[name]
        known = {option for param in commands[name].params for option in param.opts if option.startswith("-")}
        short = {"--quiet", "--verbose"}
        assert [option for option in known - short if not re.search(rf"{option}\b", page)] == []
        examples = {word.split("=")[0] for _, example in EXAMPLES for word in shlex.split(example)}
        named = set(re.findall(r"(?<![\w-])--[a-z-]+", page)) - {"--help"}
        assert named - known - (examples - known) == set()


@pytest.mark.parametrize("words", [("run", "--help"), ("help", "run"), ("run", "-h")])
def test_help_prints_the_page(desk: Desk, words: tuple[str, ...]) -> None:
    """ours"""
    done = desk.ropewalk(*words)
    assert (done.code, done.out, done.err) == (0, pages.RUN, "")


def test_help_and_bare_groups_are_short_helps(desk: Desk) -> None:
    """ours"""
    assert desk.ropewalk("--help").out == desk.ropewalk("help").out == pages.MAIN
    assert desk.ropewalk("sim").out == desk.ropewalk("sim", "--help").out == pages.SIM
    assert desk.ropewalk("token").out == desk.ropewalk("token", "new", "--help").out == pages.PAGES["token"]
    assert desk.ropewalk("runner").out == desk.ropewalk("help", "runner").out == pages.PAGES["runner"]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[f"{name}: {example}" for name, example in EXAMPLES])
def test_the_examples_work_as_typed(desk: Desk, page: str, example: str) -> None:
    """ours: help pages and how-to pages; in bash, with a claude on the PATH that is the stand-in in disguise"""
    shell = re.search(r"completion (zsh|fish)", example)
    if shell and not any(Path(folder, shell[1]).exists() for folder in ("/bin", "/usr/bin")):
        pytest.skip(f"no {shell[1]} here")
    desk.script({"text": "ok"})
    (desk.home / "bin").mkdir()
    scenario = str(desk.home / "scenario.json")
    for name in ("bin/claude", "my.toml"):
        desk.fake_claude(name, ROPEWALK_SIM_SCENARIO=scenario)
    disguise = (desk.home / "bin/claude").read_text().replace("-m ropewalk.sim.claude", '-c "$RUN"')
    run = "import sys, runpy\nname = 'rope' + 'walk.sim.claude'\nrunpy.run_module(name, run_name='__main__', alter_sys=True)"
    (desk.home / "bin/claude").write_text(disguise.replace("exec", f'RUN="{run}"\nexec'))
    (desk.project / "my.toml").write_text('[[rule]]\nsteps = [{ text = "ok" }]\n')
    desk.program("bin/ropewalk", f'#!/bin/sh\nexec {sys.executable} -m ropewalk "$@"\n')
    subprocess.run(["git", "init", "-q"], cwd=desk.project, check=True, env=desk.env)
    env = {**desk.env, "PATH": f"{desk.home}/bin:{desk.env['PATH']}", "EDITOR": "true"}
    done = subprocess.run(
        ["bash", "-c", example], cwd=desk.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, (example, done.stderr.decode())


# -- the small commands


def test_the_program_in_the_page_about_the_doctor_runs(desk: Desk) -> None:
    """ours"""
    (code,) = re.findall(r"```python\n(.*?)```", (HOW_TO / "doctor.md").read_text("utf-8"), re.DOTALL)
    env = {**desk.env, "ROPEWALK_CLI": desk.fake_claude()}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=desk.project, capture_output=True, check=True, timeout=60)
    assert b"\nmcp_status yes \n" in done.stdout


def test_version_says_what_this_is_without_loading_what_it_does_not_need(desk: Desk) -> None:
    """ours: quick; typer, rich, mcp and websockets stay where they are"""
    told = json.loads(desk.ropewalk("version", "--json").out)
    assert desk.ropewalk("version").out.startswith(f"ropewalk {told['ropewalk']}, python 3.")
    assert desk.ropewalk("--version").out == desk.ropewalk("version").out
    listed = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ropewalk", "version"], env=desk.env, capture_output=True, check=True
    ).stderr.decode()
    loaded = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in listed.splitlines()}
    assert "ropewalk" in loaded and not loaded & {"typer", "click", "rich", "mcp", "websockets", "httpx"}


def test_sim_claude_takes_the_flags_of_claude(desk: Desk) -> None:
    """ours: all words behind it are its own"""
    assert desk.ropewalk("sim", "claude", "--version").out == "2.1.326 (Claude Code)\n"
    assert desk.ropewalk("sim", "claude", "--version", env={"ROPEWALK_SIM_VERSION": "2.1.37"}).out == "2.1.37 (Claude Code)\n"
    refused = desk.ropewalk("sim", "claude", "--no-such-flag")
    assert refused.code == 1 and "--no-such-flag" in refused.err


def test_sim_model_serves_and_ends_with_a_signal(desk: Desk) -> None:
    """ours: its first line is the address"""
    words = [sys.executable, "-m", "ropewalk", "sim", "model", "--port", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=desk.env, cwd=desk.project) as served:
        assert served.stdout is not None
        assert re.fullmatch(rb"http://127\.0\.0\.1:\d+\n", served.stdout.readline())
        served.terminate()
        assert served.wait(30) == 0


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ropewalk ", {*typer.main.get_command(app).commands, "--json", "--color", "--ascii", "--help"}),  # type: ignore[attr-defined]
        ("ropewalk ru", {"run", "runner", "rules"}),
        ("ropewalk rules t", {"test", "try"}),
        ("ropewalk answer --c", {"--choose", "--color"}),
        ("ropewalk token ", {"new", "ls", "revoke", "--help"}),
        ("ropewalk sim ", {"claude", "model", "--help"}),
        ("ropewalk run --mo", {"--model", "--mode"}),
        ("ropewalk run --mode a", {"acceptEdits", "auto"}),
        ("ropewalk run --output ", {"text", "json", "stream-json"}),
        ("ropewalk completion ", {"bash", "zsh", "fish"}),
        ("ropewalk help q", {"questions"}),
    ],
)
def test_bash_completes_commands_options_and_values(desk: Desk, typed: str, offered: set[str]) -> None:
    """ours: in a real bash, without starting Python for a press of Tab"""
    words = typed.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{desk.ropewalk('completion', 'bash').out}\nPATH=\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _ropewalk\n"
    done = subprocess.run(
        ["bash", "-c", f'{script}printf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True, check=True, cwd=desk.project
    )
    assert set(done.stdout.decode().split()) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_get_every_word_too(desk: Desk, shell: str) -> None:
    """ours: their scripts come from the same commands"""
    script = desk.ropewalk("completion", shell).out
    for word in ("run", "doctor", "acceptEdits", "stream-json", "on-question", "claude", "questions"):
        assert word in script
