"""The examples of the README and of the how-to pages about the library run as printed, and print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = (
    "README.md",
    *(f"docs/how-to/{name}.md" for name in (
        "library", "questions", "hooks", "mcp", "resume", "structured-output", "images", "transports", "testing-your-bot",
    )),
)  # fmt: skip
FENCE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
"""A program, and what it prints, where the page says so right below it."""


class Example(NamedTuple):
    name: str
    program: str
    prints: str


def examples() -> list[Example]:
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        for block in FENCE.finditer(text):
            line = text[: block.start()].count("\n") + 1
            found.append(Example(f"{page}:{line}", block[1], block[2] or ""))
    return found


def scripted_claude(folder: Path) -> Path:
    """A ``claude`` that answers the pages' prompts; our variables do not reach it, so it brings its own."""
    path = folder / "claude"
    words = f"ROPEWALK_SIM_SCENARIO={Path(__file__).with_name('docs.toml')} ROPEWALK_SIM_SPEED=100"
    path.write_text(f'#!/bin/sh\n{words} exec {sys.executable} -m ropewalk.sim.claude "$@"\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_an_example_runs_as_printed(example: Example, tmp_path: Path) -> None:
    """ours"""
    folder, home = tmp_path / "project", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    program = tmp_path / "program.py"
    program.write_text(example.program)
    env = {**os.environ, "ROPEWALK_CLI": str(scripted_claude(tmp_path)), "HOME": str(home), "PYTHONWARNINGS": "error"}
    ran = subprocess.run([sys.executable, program], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip(), "an example shows something"
    if example.prints:
        assert ran.stdout == example.prints


def test_every_page_about_the_library_has_examples() -> None:
    """ours"""
    assert {example.name.partition(":")[0] for example in examples()} == set(PAGES)
