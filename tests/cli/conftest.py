"""A place of its own for each test of the command: home, project, ledger, scenario. Refuses the machine's own settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ropewalk.sim.claude import ledger
from tests.cli.terminal import GUARD, Terminal

Json = dict[str, Any]


@dataclass
class Done:
    """A command that ran without a terminal."""

    code: int
    out: str
    err: str

    @property
    def object(self) -> Json:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass
class Desk:
    """Runs ``ropewalk`` in a project folder, with the stand-in's ledger."""

    home: Path
    project: Path
    env: dict[str, str] = field(default_factory=dict)
    stand_in: bool = True
    _scenario: Path | None = None

    def script(self, *steps: Json, **more: Any) -> None:
        """What the stand-in says to any prompt. ``rules=[…]`` for several, ``version=`` for another one."""
        rules = more.pop("rules", None) or [{"steps": list(steps)}]
        self._scenario = self.home / "scenario.json"
        self._scenario.write_text(json.dumps({"rule": rules, **more}))

    def words(self, words: Sequence[str]) -> list[str]:
        """``run`` goes without a hub, and to the stand-in unless another program is named."""
        if words[:1] != ("run",):
            return list(words)
        if not self.stand_in or any(word.startswith(("--cli", "--sim")) for word in words):
            return ["run", "--no-hub", *words[1:]]
        return ["run", "--no-hub", f"--sim={self._scenario or 'demo'}", *words[1:]]

    def ropewalk(self, *words: str, stdin: str | bytes | None = None, env: dict[str, str] | None = None) -> Done:
        """Without a terminal: stdout and stderr are pipes, stdin is ``stdin`` or empty."""
        given = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [sys.executable, "-m", "ropewalk", *self.words(words)],
            input=given, stdin=subprocess.DEVNULL if given is None else None, capture_output=True, timeout=GUARD * 2,
            cwd=self.project, env={**self.env, **(env or {})}, check=False,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    @contextmanager
    def terminal(self, *words: str, columns: int = 100, rows: int = 40, **env: str) -> Iterator[Terminal]:
        """At a terminal."""
        with Terminal(self.words(words), self.project, {**self.env, **env}, columns, rows) as terminal:
            yield terminal

    @property
    def ledger(self) -> list[ledger.Entry]:
        """Every line in and out of the stand-in, as itself noted it."""
        path = Path(self.env["ROPEWALK_SIM_LEDGER"])
        return list(ledger.read(path)) if path.exists() else []

    def said(self, **wanted: Any) -> list[Json]:
        """The lines that the stand-in got, those with these fields."""
        lines = [json.loads(entry.line or b"{}") for entry in self.ledger if entry.direction == "in"]
        return [line for line in lines if all(line.get(key) == value for key, value in wanted.items())]

    @property
    def answers(self) -> list[Json]:
        """What was answered to its questions: the inner response of each."""
        return [line["response"].get("response") or line["response"] for line in self.said(type="control_response")]

    @property
    def prompts(self) -> list[str]:
        return [line["message"]["content"] for line in self.said(type="user")]

    @property
    def pids(self) -> list[int]:
        """Of the stand-ins that were started."""
        return list(dict.fromkeys(entry.pid for entry in self.ledger))

    def program(self, name: str, text: str) -> str:
        """A program in the home folder."""
        path = self.home / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def fake_claude(self, name: str = "claude", before: str = "", **settings: str) -> str:
        """A ``claude`` to be named with --cli: the stand-in, with these settings."""
        chosen = {"ROPEWALK_SIM_SPEED": "0", **settings}
        exports = "".join(f"export {key}='{value}'\n" for key, value in chosen.items())
        return self.program(name, f'#!/bin/sh\n{exports}{before}exec {sys.executable} -m ropewalk.sim.claude "$@"\n')


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    env = {
        **kept,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "PYTHONWARNINGS": "error",
        "ROPEWALK_SIM_SPEED": "0",
        "ROPEWALK_SIM_LEDGER": str(tmp_path / "ledger.jsonl"),
    }
    return Desk(home, project, env)
