"""A runner as a real process in a folder of its own, hubs that talk to it, and an ear for one CLI's lines. Tests nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from ropewalk.transports.base import End
from ropewalk.transports.frames import ProcessReport
from ropewalk.transports.launch import Launch
from ropewalk.transports.runner import LocalRunner, RunnerLink
from tests.contract.listening import GUARD, until
from tests.transports.families import QUICK, python

SIM = (sys.executable, "-m", "ropewalk.sim.claude")
STREAMING = ("-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose", "--permission-prompt-tool=stdio")


class LineEar:
    """Remembers what it heard of one CLI, and complains about gaps, repeats and anything after the end."""

    def __init__(self, after: int = 0) -> None:
        self.heard = bytearray()
        self.next = after + 1
        self.frames = 0
        self.drops: list[tuple[int, int, int, bytes, str]] = []
        self.keys: list[str] = []
        self.refused: dict[str, str] = {}
        self.rungs: list[str] = []
        self.holds: list[str] = []
        self.ends: list[tuple[End, int]] = []
        self.wrong: list[object] = []

    def lines(self, first: int, data: bytes) -> None:
        if first != self.next or not data.endswith(b"\n") or self.ends:
            self.wrong.append((first, self.next, data[-20:]))
        self.heard += data
        self.next = first + data.count(b"\n")
        self.frames += 1

    def dropped(self, first: int, count: int, size: int, beginning: bytes, why: str) -> None:
        if first != self.next:
            self.wrong.append((first, self.next, why))
        self.next = first + count
        self.drops.append((first, count, size, beginning, why))

    def written(self, key: str) -> None:
        self.keys.append(key)

    def unwritten(self, key: str, why: str) -> None:
        self.refused[key] = why

    def rung(self, name: str) -> None:
        self.rungs.append(name)

    def held(self, why: str) -> None:
        self.holds.append(why)

    def ended(self, end: End, last: int) -> None:
        self.ends.append((end, last))

    @property
    def all(self) -> list[bytes]:
        return bytes(self.heard).split(b"\n")[:-1]

    async def hears(self, count: int) -> list[bytes]:
        await until(lambda: self.next > count, f"line {count}; {self.next - 1} came, wrong: {self.wrong}")
        assert not self.wrong
        return self.all

    async def hears_the_end(self) -> End:
        await until(lambda: self.ends, "the end")
        assert not self.wrong
        assert len(self.ends) == 1
        return self.ends[0][0]


class World:
    """One folder with its runner. Ended with everything in it, by the ids that it started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = LocalRunner.at(folder / "state")
        self.runner: subprocess.Popen[bytes] | None = None
        self.links: list[RunnerLink] = []
        self.downs: list[str] = []
        self.ups: list[list[ProcessReport]] = []

    async def start(self, *options: str) -> subprocess.Popen[bytes]:
        """Not detached: a child of the test, so that nothing is left of it."""
        Path(self.place.folder).mkdir(mode=0o700, exist_ok=True)
        words = [
            sys.executable,
            "-m",
            "ropewalk.runner",
            f"--socket={self.place.socket}",
            f"--spool={self.place.spool}",
            *options,
        ]
        with open(self.place.log, "ab") as log:
            self.runner = runner = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/")
        said = Path(self.place.log)
        mark = f"listening at {self.place.socket} (pid {runner.pid})"
        await until(lambda: mark in said.read_text() or runner.poll() is not None, "the runner to listen")
        assert runner.poll() is None, said.read_text()
        return runner

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.runner is not None
        self.runner.send_signal(number)
        if number == signal.SIGKILL:
            self.runner.wait(GUARD)

    async def hub(self, epoch: int = 1) -> RunnerLink:
        link = RunnerLink(self.place.socket, epoch, on_up=self.ups.append, on_down=self.downs.append, version="test")
        self.links.append(link)
        await link.open(GUARD)
        return link

    def cli(self, program: str, **variables: str) -> Launch:
        """A small program in the CLI's place; ``families.PRELUDE``'s words may be used in it."""
        return python(self.folder, program, **variables)

    def sim(self, ledger: Path, environment: Mapping[str, str] | None = None, words: int = 200, pace: float = 0.0) -> Launch:
        """The scripted CLI, which says so many words to any prompt, each in a line of its own."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        scenario = self.folder / f"{words}.toml"
        text = " ".join(f"word{number}" for number in range(words))
        scenario.write_text(f'pace = {pace}\n[[rule]]\nsteps = [ {{ text = "{text}" }} ]\n')
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        env = {**kept, "HOME": str(home), "ROPEWALK_SIM_LEDGER": str(ledger), **(environment or {})}
        env["ROPEWALK_SIM_SCENARIO"] = str(scenario)
        return Launch(SIM, (*STREAMING, "--include-partial-messages"), str(self.folder), env)

    async def close(self) -> None:
        for link in self.links:
            await link.close()
        if self.runner is not None and self.runner.poll() is None:
            self.runner.send_signal(signal.SIGCONT)
            self.runner.terminate()
            await asyncio.to_thread(self.runner.wait, GUARD)


@asynccontextmanager
async def world_in(folder: Path, *options: str) -> AsyncIterator[World]:
    world = World(folder)
    try:
        await world.start(*options)
        yield world
    finally:
        await world.close()


__all__ = ["GUARD", "QUICK", "LineEar", "World", "until", "world_in"]
