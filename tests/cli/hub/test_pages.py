"""Help and docs of the hub's commands are true: every example works as typed, every option is named where it should be."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ropewalk.cli import pages
from ropewalk.cli.app import app
from ropewalk.cli.audit_pages import AUDIT_PAGES
from ropewalk.cli.hub_pages import HUB_PAGES
from ropewalk.cli.rulings_pages import RULINGS_PAGES
from tests.cli.hub.conftest import HubDesk, desk_at

ROOT = Path(__file__).resolve().parents[3]
HOW_TO, REFERENCE = ROOT / "docs" / "how-to", ROOT / "docs" / "reference" / "cli.md"
EXAMPLE = re.compile(r"^  (?=\S)((?:git |echo )?.*?ropewalk\b.*?)(?:   .*)?$", re.MULTILINE)
PAGES = {**HUB_PAGES, **RULINGS_PAGES, **AUDIT_PAGES, "": pages.MAIN, "run": pages.RUN, "questions": pages.QUESTIONS}
TWICE = ("stop", "wake", "rules ls", "rules on", "rules off")
EXAMPLES = [(name, match[1]) for name, page in PAGES.items() if name not in TWICE for match in EXAMPLE.finditer(page)]
EXAMPLES = [(name, example) for name, example in EXAMPLES if "my.toml" not in example]
EXAMPLES += [
    (name, line[2:])
    for name in ("hub.md", "rules.md", "terminal.md")
    for line in (HOW_TO / name).read_text("utf-8").splitlines()
    if line.startswith("$ ") and "completion" not in line
]
ENDLESS = ("ropewalk serve", "ropewalk logs -f .", "ropewalk answer .", "ropewalk claude")
"""They go on until somebody ends them, or ask; elsewhere they are tested."""
EXAMPLES = [(name, example) for name, example in EXAMPLES if example not in ENDLESS and "7k2f" not in example]

COMMON = {"--json", "--quiet", "--color", "--ascii"}
"""Said once for all commands."""

ASK: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch a"}, "ask": True}
TWO = [{"question": "Which?", "options": ["A", "B"]}, {"question": "Reports?", "options": ["VAT", "Revenue"], "multi": True}]
RULES = [
    {"prompt": "asks", "steps": [ASK, {"text": "ok"}]},
    {"prompt": "chooses", "steps": [{"ask": TWO}, {"text": "ok"}]},
    {"prompt": "plans", "steps": [{"plan": "# Plan"}, {"text": "ok"}]},
    {"prompt": "lists", "steps": [{"tool": "Bash", "input": {"command": "ls"}}, {"text": "ok"}]},
    {"steps": [{"text": "ok"}]},
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubDesk]:
    """One hub for all examples, each with a newest session that is as the example needs it."""
    desk = desk_at(tmp_path_factory.mktemp("pages"))
    desk.script(rules=RULES)
    (desk.home / "bin").mkdir()
    desk.program("bin/ropewalk", f'#!/bin/sh\nexec {sys.executable} -m ropewalk "$@"\n')
    desk.fake_claude("bin/claude", ROPEWALK_SIM_SCENARIO=desk.env["ROPEWALK_SIM_SCENARIO"])
    desk.env["PATH"] = f"{desk.home}/bin:{desk.env['PATH']}"
    subprocess.run(["git", "init", "-q"], cwd=desk.project, check=True, env=desk.env)
    try:
        yield desk
    finally:
        desk.end()


def prepare(desk: HubDesk, example: str) -> None:
    """The session that ``.`` and ``-`` name, in the state that the example speaks of."""
    if "serve" in example:
        desk.ropewalk("serve", "--stop")
        return
    assert desk.ropewalk("serve", "--detach").code == 0
    if "answer" in example or "rules rm" in example:
        forget_rules(desk)
    if (taken := re.search(r"rules rm '([^']+)'", example)) and "rules add" not in example:
        assert desk.ropewalk("rules", "add", "allow", taken[1]).code == 0
    if "answer" in example:
        kind = "chooses" if "--choose" in example else "plans" if "--plan" in example else "asks"
        desk.question(desk.new("--mode", "plan" if kind == "plans" else "default", kind))
    else:
        desk.status(desk.new("lists" if re.search(r"\b(audit|why)\b", example) else "hello"), "idle")


def forget_rules(desk: HubDesk) -> None:
    """Those of examples before it: they would answer what this one is to be asked, or be meant in its place."""
    for rule in desk.json("rules")["items"]:
        if rule["source"] == "store":
            assert desk.ropewalk("rules", "rm", rule["id"]).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("page", "example"), EXAMPLES, ids=[f"{name}: {example}" for name, example in EXAMPLES])
def test_the_examples_work_as_typed(shared: HubDesk, page: str, example: str) -> None:
    """ours: help pages and how-to pages, in bash"""
    prepare(shared, example)
    done = subprocess.run(
        ["bash", "-c", example], cwd=shared.project, env=shared.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, (example, done.stdout.decode(), done.stderr.decode())


def commands() -> dict[str, Any]:
    """Every command by its words."""
    found: dict[str, Any] = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        below = getattr(command, "commands", {})
        found |= {f"{name} {inner}": one for inner, one in below.items()} or {name: command}
    return found


@pytest.mark.parametrize(
    "name",
    [name for name in HUB_PAGES if name not in ("token", "runner")]
    + ["token new", "token ls", "runner ls", *(name for name in RULINGS_PAGES if name != "rules")],
)
def test_every_option_stands_on_its_page_and_no_other(name: str) -> None:
    """ours (F-55)"""
    page = pages.PAGES.get(name) or pages.PAGES[name.split()[0]]
    group = [one for words, one in commands().items() if words.split()[0] == name.split()[0]] + [commands()[name]]
    if name in ("interrupt", "stop", "wake"):
        group = [commands()[one] for one in ("interrupt", "stop", "wake")]
    known = {option for one in group for param in one.params for option in param.opts if option.startswith("--")}
    own = {option for param in commands()[name].params for option in param.opts if option.startswith("--")}
    assert [option for option in own - {"--quiet"} if not re.search(rf"{option}\b", page)] == []
    assert set(re.findall(r"(?<![\w-])--[a-z-]+", page)) - known - {"--help"} == set()


@pytest.mark.parametrize("name", sorted({**HUB_PAGES, **RULINGS_PAGES}))
def test_a_page_has_five_examples_and_its_exit_codes(name: str) -> None:
    """ours"""
    page = PAGES[name]
    assert len(EXAMPLE.findall(page)) >= 5 and "\nexit: 0" in page


def test_the_reference_names_every_command_with_every_option() -> None:
    """ours: docs/reference/cli.md and the commands can't drift apart"""
    text = REFERENCE.read_text("utf-8")
    sections = dict(re.findall(r"^## `ropewalk ?([^`]*)`\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    known = {**commands(), "": typer.main.get_command(app)}
    assert set(sections) == set(known)
    for name, section in sections.items():
        options = {max(param.opts, key=len) for param in known[name].params if param.param_type_name == "option"} - COMMON
        named = set(re.findall(r"^\| `(--[a-z-]+)", section, re.MULTILINE))
        assert named == options, name
    assert all(f"`{option}" in text or f", `{option}" in text for option in COMMON)
    for word in ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130", "141"):
        assert re.search(rf"^\| {word}\b", text, re.MULTILINE), word


@pytest.mark.slow
def test_a_misspelt_word_of_the_hubs_commands_suggests_the_nearest() -> None:
    """ours: the same for groups"""
    for words, said in ((["inbx"], "did you mean: ropewalk inbox?"), (["token", "nwe"], "did you mean: ropewalk token new?")):
        done = subprocess.run([sys.executable, "-m", "ropewalk", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and said in done.stderr, shlex.join(words)


@pytest.mark.slow
def test_the_program_in_the_page_about_the_hub_runs(shared: HubDesk) -> None:
    """ours: Remote by the variables, an event a line"""
    (code,) = re.findall(r"```python\n(.*?)```", (HOW_TO / "hub.md").read_text("utf-8"), re.DOTALL)
    url = shared.json("serve", "--detach")["url"]
    env = {**shared.env, "ROPEWALK_URL": url, "ROPEWALK_TOKEN": (shared.state / "token").read_text().strip()}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=shared.project, capture_output=True, timeout=60, check=True)
    lines = done.stdout.decode().splitlines()
    assert lines[0] == "1 SessionCreated" and lines[-1].endswith(" TurnEnded")
