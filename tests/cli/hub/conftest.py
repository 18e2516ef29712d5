"""A hub of its own for each test, with the stand-in behind it: started, killed, started again. Refuses to leave a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.cli.conftest import Desk, Done
from tests.cli.terminal import GUARD, Terminal

Json = dict[str, Any]
T = TypeVar("T")


def until(look: Callable[[], T | None], what: str) -> T:
    """The first true answer. Fails after 30 s."""
    end = time.monotonic() + GUARD
    while not (found := look()):
        assert time.monotonic() < end, f"no {what} within {GUARD:.0f} s"
        time.sleep(0.02)
    return found


@dataclass
class HubDesk(Desk):
    """A terminal with a hub: ``start``, ``kill``, ``ropewalk(…)``."""

    serving: subprocess.Popen[bytes] | None = None

    @property
    def state(self) -> Path:
        return Path(self.env["ROPEWALK_HOME"])

    def words(self, words: Any) -> list[str]:
        return list(words)

    def configure(self, **settings: Any) -> None:
        """Write config.toml: the stand-in for every session, any free port, these settings."""
        chosen = {"port": 0, "sim": True, "idle_after": 0, **settings}
        lines = [f"{name} = {json.dumps(value)}" for name, value in chosen.items()]
        names = ("ROPEWALK_SIM_LEDGER", "ROPEWALK_SIM_SPEED", "ROPEWALK_SIM_SCENARIO", "CLAUDE_CONFIG_DIR")
        kept = {name: self.env[name] for name in names if name in self.env}
        table = [f"{name} = {json.dumps(value)}" for name, value in kept.items()]
        (self.state / "config.toml").write_text("\n".join([*lines, "[environment]", *table]) + "\n")

    def script(self, *steps: Json, **more: Any) -> None:
        """What the stand-in says; read when its process starts."""
        super().script(*steps, **more)
        assert self._scenario is not None
        assert str(self._scenario) == self.env["ROPEWALK_SIM_SCENARIO"]

    def start(self, *words: str) -> str:
        """Serve in the background of the test; what it printed."""
        with open(self.home / "serve.log", "ab") as log:
            self.serving = subprocess.Popen(
                [sys.executable, "-m", "ropewalk", "serve", *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd=self.project, env=self.env,
            )  # fmt: skip
        assert self.serving.stdout is not None
        said = [self.serving.stdout.readline().decode() for _ in range(4)]
        assert said[-1], (self.home / "serve.log").read_text()
        return "".join(said)

    def kill(self) -> None:
        """-9: nothing is said, nothing is tidied up."""
        assert self.serving is not None and self.serving.stdout is not None
        self.serving.kill()
        self.serving.wait()
        self.serving.stdout.close()
        self.serving = None

    def stop(self) -> None:
        if self.serving is not None:
            self.serving.terminate()
            assert self.serving.wait(GUARD) == 0
            assert self.serving.stdout is not None
            self.serving.stdout.close()
            self.serving = None

    @contextlib.contextmanager
    def background(self, *words: str) -> Iterator[subprocess.Popen[bytes]]:
        """A command that goes on beside the test, with pipes; ended with it."""
        with subprocess.Popen(
            [sys.executable, "-m", "ropewalk", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.project, env=self.env,
        ) as running:  # fmt: skip
            try:
                yield running
            finally:
                if running.poll() is None:
                    running.kill()

    def new(self, *words: str) -> str:
        """A session; its whole id."""
        done = self.ropewalk("new", "-q", *words)
        assert done.code == 0, done.err
        return done.out.strip()

    def status(self, session: str, *wanted: str) -> Json:
        """Wait for one of these statuses."""

        def look() -> Json | None:
            found = self.json("show", session)["session"]
            return found if found["status"] in wanted else None

        return until(look, f"{wanted} of {session}: {self.json('show', session)['session']}")

    def json(self, *words: str) -> Json:
        done = self.ropewalk(*words, "--json")
        assert done.code == 0, done.err
        return done.object

    def question(self, session: str) -> Json:
        """Wait until it asks something."""

        def look() -> Json | None:
            return next((one for one in self.json("inbox")["items"] if one["session"] == session), None)

        return until(look, "question")

    def events(self, session: str) -> list[Json]:
        done = self.ropewalk("logs", session, "--json")
        assert done.code == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    def end(self) -> None:
        """Everything that lives in this place: the hub first (it would start another runner), then the runner with its CLIs."""
        if self.serving is not None:
            self.serving.terminate()
            self.serving.wait(GUARD)
            assert self.serving.stdout is not None
            self.serving.stdout.close()

        def ended() -> bool:
            left = self.alive()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            return not left

        until(ended, f"end of {self.alive()}")

    def alive(self) -> list[int]:
        """Processes that were started for this place, by what their environment or their words say."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    told = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                    if str(self.state).encode() in told and (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found


def desk_at(folder: Path) -> HubDesk:
    home, project, state = folder / "home", folder / "project", folder / "state"
    for made in (home, project, state):
        made.mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH")}
    env = {
        **kept,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "PYTHONWARNINGS": "error",
        "ROPEWALK_HOME": str(state),
        "ROPEWALK_SIM_SPEED": "0",
        "ROPEWALK_SIM_LEDGER": str(folder / "ledger.jsonl"),
        "ROPEWALK_SIM_SCENARIO": str(home / "scenario.json"),
        "CLAUDE_CONFIG_DIR": str(home / "sim"),
    }
    desk = HubDesk(home, project, env)
    desk.script({"text": "ok"})
    desk.configure()
    return desk


@pytest.fixture
def place(tmp_path: Path) -> Iterator[HubDesk]:
    """No hub runs yet."""
    desk = desk_at(tmp_path)
    try:
        yield desk
    finally:
        desk.end()


@pytest.fixture
def hub(place: HubDesk) -> HubDesk:
    """One runs."""
    place.start()
    return place


__all__ = ["Done", "HubDesk", "Terminal", "until"]
