"""The rig of tests/real, borrowed for the command: real CLIs, offline, as an ordinary user. Holds no rig of its own."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Desk
from tests.real.conftest import (
    cli_env,
    cli_version,
    home,
    model,
    offline,
    place,
    project,
    pytest_configure,
    pytest_generate_tests,
)
from tests.real.rig import Place

__all__ = ["cli_env", "cli_version", "home", "model", "offline", "place", "project", "pytest_configure", "pytest_generate_tests"]

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real)


@pytest.fixture
def real(place: Place, cli_version: str, cli_env: dict[str, str], tmp_path: Path) -> Desk:
    """``ropewalk --cli`` on a real CLI: a program that becomes it, as an ordinary user, at ``place``."""
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(place.argv(cli_version, cli_env))} "$@"\n')
    program.chmod(0o755)
    env = {"PATH": cli_env["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8", "TERM": "xterm", "ROPEWALK_CLI": str(program)}
    env["PYTHONPATH"] = ":".join(word for word in sys.path if word.endswith("src"))
    return Desk(tmp_path, place.project, env, stand_in=False)
