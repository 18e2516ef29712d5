"""One hub with its runner and scripted CLIs, as real processes in folders of their own. Refuses to end what is not recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from .processes import Found, files, listening_at, of_house, send, start_time
from .script import RULES, TURNS

ROOT = Path(__file__).resolve().parent.parent
GUARD = 30.0
SERVE = ("-m", "ropewalk", "serve", "--json")
WITH_POINTS = ("-m", "prove.serve")
RUNNER_ORDER = "PYTHON_PROVE_ORDER"


class HouseError(Exception):
    """The rig itself did not do what it should; the sentence says where."""


class House:
    """``state`` is ROPEWALK_HOME, ``home`` the user's, ``work`` where sessions work, ``ledger`` what the CLIs note."""

    def __init__(
        self, *, scenario: str = TURNS, version: str = "2.1.326", sim: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None, wrap: Sequence[str] = (), folder: Path | None = None,
        before: Sequence[Callable[[House], None]] = (),
    ) -> None:  # fmt: skip
        self.folder = folder or Path(tempfile.mkdtemp(prefix="rwp-"))
        self.state, self.home, self.work = self.folder / "state", self.folder / "home", self.folder / "work"
        for path in (self.state, self.home, self.work, self.folder / "tmp"):
            path.mkdir(mode=0o700, exist_ok=True)
        self.ledger, self.log = self.folder / "cli.ledger", self.folder / "hub.log"
        self.wrap = tuple(wrap)
        for prepare in before:
            prepare(self)
        self.hub: subprocess.Popen[bytes] | None = None
        self.url = self.token = ""
        self.runner: Found | None = None
        self.served_in = 0.0
        self.files_at_first = 0
        self.exit_words = ""
        (self.folder / "scenario.toml").write_text(scenario)
        (self.state / "rules.toml").write_text(RULES)
        environment = {
            "ROPEWALK_SIM_LEDGER": str(self.ledger), "ROPEWALK_SIM_SCENARIO": str(self.folder / "scenario.toml"),
            "ROPEWALK_SIM_VERSION": version, **(sim or {}),
        }  # fmt: skip
        self.configure({"port": 0, "sim": True, **(settings or {})}, environment)

    def configure(self, settings: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self.settings, self.environment = dict(settings), dict(environment)
        rows = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
        rows += ["[environment]", *(f"{name} = {json.dumps(value)}" for name, value in environment.items())]
        (self.state / "config.toml").write_text("\n".join(rows) + "\n")

    @property
    def database(self) -> Path:
        return self.state / "ropewalk.db"

    @property
    def order(self) -> Path:
        """Where the next runner finds at which point to end."""
        return self.folder / "runner.order"

    @property
    def socket(self) -> Path:
        return self.state / "runner" / "runner.sock"

    @property
    def runner_log(self) -> Path:
        return self.state / "runner" / "runner.log"

    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV") if name in os.environ}
        own = {"ROPEWALK_HOME": str(self.state), "HOME": str(self.home), "TMPDIR": str(self.folder / "tmp")}
        return {**kept, **own, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONUNBUFFERED": "1"}

    # -- the hub

    async def start(self, *, blow: str | None = None, within: float = GUARD) -> Self:
        """Serving when this returns. ``blow``: ``<point>@<n>``, where it kills itself (empty: only its runner has points).

        Raises ``HouseError`` when it refuses.
        """
        words = [*self.wrap, sys.executable, *(SERVE if blow is None else WITH_POINTS)]
        environ = self.environ()
        if blow is not None:
            environ |= {"PROVE_BLOW": blow, RUNNER_ORDER: str(self.order)}
        began = time.monotonic()
        with open(self.log, "ab") as log:
            self.hub = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, env=environ, cwd=self.folder,
                start_new_session=True,
            )  # fmt: skip
        try:
            line = await asyncio.wait_for(asyncio.to_thread(self.hub.stdout.readline), within)  # type: ignore[union-attr]
        except TimeoutError:
            self.kill_hub()
            raise HouseError(f"the hub does not serve after {within:g} s: {self.last_words()}") from None
        self.served_in = time.monotonic() - began
        if not line:
            code = await self.gone()
            raise HouseError(f"the hub ended with {code}: {self.last_words()}")
        ready = json.loads(line)
        self.url = ready["url"]
        self.token = (self.state / "token").read_text().strip()
        self.note_runner()
        self.files_at_first = files(self.hub.pid)
        return self

    def note_runner(self) -> Found | None:
        """Who is the runner now."""
        pid = listening_at(self.socket)
        started = start_time(pid) if pid else None
        if pid and started is not None:
            self.runner = Found(pid, started, (), "")
        return self.runner

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""

    @property
    def up(self) -> bool:
        return self.hub is not None and self.hub.poll() is None

    def signal_hub(self, number: signal.Signals) -> None:
        """By the id that we recorded; under a wrapper the hub is its child and found by its folder."""
        if self.hub is not None and not self.wrap:
            self.hub.send_signal(number)
            return
        for found in self.hubs():
            send(found, number)

    def hubs(self) -> list[Found]:
        return [one for one in of_house(self.folder) if "serve" in one.words or "prove.serve" in one.words]

    def kill_hub(self) -> None:
        self.signal_hub(signal.SIGKILL)
        if self.hub is not None:
            self.hub.wait(GUARD)
            if self.hub.stdout:
                self.hub.stdout.close()

    async def gone(self, within: float = GUARD) -> int:
        assert self.hub is not None
        code = await asyncio.wait_for(asyncio.to_thread(self.hub.wait), within)
        if self.hub.stdout:
            self.hub.stdout.close()
        return code

    # -- runner and CLIs

    def kill_runner(self) -> bool:
        found = self.note_runner()
        return found is not None and send(found, signal.SIGKILL)

    def clis(self) -> list[Found]:
        """The scripted CLIs themselves, not what they started."""
        return [one for one in of_house(self.folder) if one.marker and "ropewalk.sim.claude" in one.words]

    def folder_for(self, name: str) -> Path:
        path = self.work / name
        path.mkdir(exist_ok=True)
        return path

    # -- the end

    async def close(self, *, keep: bool = False) -> list[str]:
        """Ends everything that belongs to it. Returns what was wrong with the end: processes that outlived a stop by 10 s."""
        wrong: list[str] = []
        if self.up:
            self.signal_hub(signal.SIGTERM)
            try:
                await self.gone(15.0)
            except TimeoutError:
                wrong.append("the hub did not stop within 15 s of SIGTERM")
                self.kill_hub()
        runner = self.note_runner()
        if runner is not None and start_time(runner.pid) == runner.started:
            send(runner, signal.SIGCONT)
            send(runner, signal.SIGTERM)
        left = await self.emptied(20.0)
        wrong += [f"left after the end: {one.pid} {' '.join(one.words)[:200]}" for one in left]
        for one in left:
            send(one, signal.SIGCONT)
            send(one, signal.SIGKILL)
        if self.hub is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.hub.wait(5.0)
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
        return wrong

    async def emptied(self, within: float) -> list[Found]:
        """Who is still there after this time."""
        until = time.monotonic() + within
        while (left := of_house(self.folder)) and time.monotonic() < until:
            await asyncio.sleep(0.1)
        return left
