"""The scripted CLI as a process, with a Client in front of it: real pipes, real exits. Its ledger is the other side's word."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ropewalk import ClientOptions
from ropewalk.sim.claude.ledger import read

VERSIONS = ("2.1.37", "2.1.62", "2.1.326")
CLI = (sys.executable, "-m", "ropewalk.sim.claude")
GUARD = 30.0

Step = dict[str, Any]


class ScriptedCli:
    """Options for clients of a scripted CLI that plays these rules, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.home = folder / "home"
        self.ledger = folder / "ledger.jsonl"
        self._scenario = folder / "scenario.json"
        self.project.mkdir()
        self.home.mkdir()

    def options(self, rules: Mapping[str, Any] | None = None, **more: Any) -> ClientOptions:
        """``rules``: prompt → steps. ``version`` and ``fault`` are for the CLI, the rest for the client."""
        told = [{"prompt": prompt, "steps": steps} for prompt, steps in (rules or {}).items()]
        self._scenario.write_text(json.dumps({"rule": told}))
        env = {
            "ROPEWALK_SIM_SCENARIO": str(self._scenario),
            "ROPEWALK_SIM_VERSION": more.pop("version", "2.1.326"),
            "ROPEWALK_SIM_FAULT": more.pop("fault", ""),
            "ROPEWALK_SIM_LEDGER": str(self.ledger),
            "HOME": str(self.home),
            **more.pop("env", {}),
        }
        return ClientOptions(**{"cli": CLI, "cwd": self.project, "env": env, **more})

    def heard(self, kind: str) -> list[dict[str, Any]]:
        """Lines of this type (or request subtype) that the CLI wrote down as read."""
        return [line for line in self._lines("in") if kind in (line.get("type"), (line.get("request") or {}).get("subtype"))]

    async def has_heard(self, count: int, kind: str) -> None:
        await until(lambda: len(self.heard(kind)) >= count, f"{count} × {kind}")

    async def calls_a_tool(self) -> None:
        """Wait until the model has called a tool."""
        await until(
            lambda: '"tool_use"' in json.dumps([line for line in self._lines("out") if line["type"] == "assistant"]), "a tool"
        )

    def _lines(self, direction: str) -> list[dict[str, Any]]:
        entries = read(self.ledger) if self.ledger.exists() else ()
        return [json.loads(entry.line) for entry in entries if entry.direction == direction and entry.line is not None]


class Gate:
    """A command that runs until the test lets it end: ``cat`` on a pipe in the file system."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        os.mkfifo(self.path)
        self.step: Step = {"tool": "Bash", "run": True, "ask": False, "input": {"command": f"cat {self.path}"}}

    async def open(self) -> None:
        """Waits until the command runs, then lets it go on."""
        async with asyncio.timeout(GUARD):
            while True:
                try:
                    handle = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # nobody reads yet
                    await asyncio.sleep(0.01)
                    continue
                os.close(handle)
                return


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that nobody tells us about."""
    clock = asyncio.get_running_loop()
    end = clock.time() + GUARD
    while not condition():
        assert clock.time() < end, f"waited in vain for {what}"
        await asyncio.sleep(0.005)
