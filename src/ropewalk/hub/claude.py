"""The claude of this machine: which program, which version, what it left on disk. Refuses to change any of it."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..client.transcripts import read_transcript, transcript_path
from ..client.version import cli_version
from ..config import Config
from ..errors import CliNotFound
from ..protocol.messages import User
from ..sessions.launching import stand_in_folder
from ..sessions.world import Program
from ..store.rows import SessionRow
from ..transports.environment import environment_for
from ..transports.launch import find_cli

STAND_IN = (sys.executable, "-m", "ropewalk.sim.claude")
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LOOKED_AT = 200
"""Lines of a record in which its first prompt is looked for."""


class Claude:
    """Asks the program for its version once; looks for it again whenever it is wanted and was not there."""

    def __init__(self, config: Config, environ: Mapping[str, str]) -> None:
        self._config, self._environ = config, environ
        self._known: dict[tuple[str, float], Program] = {}
        self._asking = asyncio.Lock()
        self.found: Program | None = None
        self.why = "not looked for yet"

    async def program(self, sim: bool) -> Program:
        """What to run. Raises ``CliNotFound`` in words."""
        if sim or self._config.sim:
            return Program(STAND_IN, None)
        try:
            words = find_cli(self._config.cli, self._environ)
        except CliNotFound as error:
            self.found, self.why = None, error.looked_for
            raise
        key = (words[-1], _written_at(words[-1]))
        async with self._asking:
            if key not in self._known:
                version = await cli_version(words, environment_for(self._environ, {}))
                self._known[key] = Program(words, version)
        self.found = self._known[key]
        return self.found

    async def look(self) -> bool:
        """Whether there is one now."""
        try:
            await self.program(False)
        except (CliNotFound, OSError):
            return False
        return True

    @property
    def words(self) -> str:
        """For people: its version, or what was looked for."""
        if self._config.sim:
            return "stand-in (scripted, no account)"
        if self.found is None:
            return f"not found ({self.why})"
        return ".".join(map(str, self.found.version)) if self.found.version else "found, its version is not known"


def _written_at(path: str) -> float:
    """An update of the CLI changes it: then its version is asked for again."""
    return os.path.getmtime(path)


def transcript_reader(environ: Mapping[str, str], config: Config) -> Callable[[SessionRow, str], Awaitable[bool | None]]:
    """Whether the CLI's own record of a session knows a prompt; None when there is no record to look at."""
    own = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".claude")

    async def has(row: SessionRow, prompt: str) -> bool | None:
        if row.cli_session is None:
            return None
        path = transcript_path(row.cwd, row.cli_session, stand_in_folder(config) if row.sim else own)
        return await asyncio.to_thread(_holds, str(path), prompt.encode())

    return has


def _holds(path: str, words: bytes) -> bool | None:
    try:
        with open(path, "rb") as file:
            return any(words in line for line in file)
    except OSError:
        return None


def sessions_on_disk(cwd: str) -> list[dict[str, Any]]:
    """The CLI's own records of this folder, newest first: id, when it was last written, its first prompt."""
    folder = transcript_path(cwd, "x").parent
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(".jsonl") and ID.fullmatch(entry.name[:-6])]
    except OSError:
        return []
    entries.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    return [
        {"id": entry.name[:-6], "at": entry.stat().st_mtime, "size": entry.stat().st_size, "prompt": _first_prompt(entry.path)}
        for entry in entries[:200]
    ]


def _first_prompt(path: str) -> str:
    for number, entry in enumerate(read_transcript(path)):
        if isinstance(entry.message, User) and not entry.sidechain:
            words = "".join(getattr(block, "text", "") for block in entry.message.content)
            if words:
                return words[:200]
        if number > LOOKED_AT:
            break
    return ""
