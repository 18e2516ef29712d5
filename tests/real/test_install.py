"""The installer of real CLIs, with a stand-in for npm: once, whole or not at all. Refuses the network."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.rig import open_folder
from tools.install_clis import STAMP

INSTALLER = Path(__file__).parents[2] / "tools" / "install_clis.py"
NODE = """#!/bin/sh
[ "$1" = --version ] && echo v22.0.0 || echo "$(cat "$(dirname "$1")/says") (Claude Code)"
"""
NPM = """#!/bin/sh
echo "$@" >> "$LOG"
mkdir -p node_modules/@anthropic-ai/claude-code
[ -n "$FAIL" ] && { echo "npm has no luck" >&2; exit 1; }
touch node_modules/@anthropic-ai/claude-code/cli.js
echo "${SAYS:-2.1.37}" > node_modules/@anthropic-ai/claude-code/says
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ropewalk-install-", dir=open_folder()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        for program, words in [("node", NODE), ("npm", NPM)]:
            (folder / program).write_text(words)
            (folder / program).chmod(0o755)
        yield folder


def start(folder: Path, **env: str) -> subprocess.Popen[str]:
    given = {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(folder / "cache"), "LOG": str(folder / "log"), **env}
    words = [sys.executable, str(INSTALLER), "2.1.37"]
    return subprocess.Popen(words, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def home(folder: Path) -> Path:
    return folder / "cache" / "ropewalk" / "cli" / "2.1.37"


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in home(folder).parent.iterdir() if path.name != ".lock")


def test_two_runs_at_once_install_once_and_a_third_does_nothing(folder: Path) -> None:
    """ours: clones share the cache; install scripts are never run; any user can read what was installed"""
    both = [start(folder), start(folder)]
    assert [run.communicate(timeout=30) and run.returncode for run in both] == [0, 0]
    third = start(folder)
    assert (third.communicate(timeout=30), third.returncode) == (("", ""), 0)
    calls = (folder / "log").read_text().splitlines()
    assert len(calls) == 1 and "--ignore-scripts" in calls[0] and calls[0].endswith("@2.1.37")
    assert left(folder) == ["2.1.37"] and (home(folder) / STAMP).stat().st_mode & 0o777 == 0o644
    assert home(folder).stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("env", "words"), [({"FAIL": "1"}, "npm has no luck"), ({"SAYS": "9.9.9"}, "calls itself '9.9.9")])
def test_a_failed_install_is_told_and_leaves_nothing_that_counts(folder: Path, env: dict[str, str], words: str) -> None:
    """ours: and the next run tries again"""
    failed = start(folder, **env)
    assert words in failed.communicate(timeout=30)[1] and failed.returncode == 1
    assert left(folder) == []
    again = start(folder)
    again.communicate(timeout=30)
    assert again.returncode == 0 and left(folder) == ["2.1.37"]


def test_what_a_killed_run_left_is_swept_away(folder: Path) -> None:
    """ours"""
    half = home(folder).parent / ".half-old"
    half.mkdir(parents=True)
    run = start(folder)
    run.communicate(timeout=30)
    assert run.returncode == 0 and left(folder) == ["2.1.37"]
