"""Commands that run until a test lets them end, and what a client is told meanwhile. Refuses to sleep: it asks the CLI."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ropewalk import Client
from tests.real.rig import Place
from tests.real.rig_raw import GUARD


class Pipe:
    """A command that reads ``name`` in ``folder`` (the project's) runs until ``end``; without ``end`` it runs for ever."""

    def __init__(self, here: Place, folder: Path | None = None) -> None:
        self.name = f"pipe-{uuid.uuid4().hex[:8]}"
        self._path = (folder or here.project) / self.name
        self._here = here
        self._writer: int | None = None
        os.mkfifo(self._path)
        self._path.chmod(0o666)

    async def begun(self, client: Client) -> None:
        """Wait until a command reads it."""
        async with asyncio.timeout(GUARD):
            while self._writer is None:
                try:
                    self._writer = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # nobody reads yet
                    await client.mcp_status()

    def end(self, words: bytes = b"") -> None:
        """Let it read ``words`` and end."""
        assert self._writer is not None
        os.write(self._writer, words)
        os.close(self._writer)
        self._writer = None

    @property
    def read(self) -> bool:
        """Does a command with its name in it live?"""
        return any(self.name.encode() in arguments(pid) for pid in self._here.survivors())

    def __del__(self) -> None:
        if self._writer is not None:
            os.close(self._writer)


async def told(client: Client, last: Callable[[Any], bool]) -> list[Any]:
    """What comes out of ``receive`` up to a message like this, within the guard."""
    seen: list[Any] = []
    try:
        async with asyncio.timeout(GUARD):
            async for message in client.receive():
                seen.append(message)
                if last(message):
                    return seen
    except TimeoutError:
        raise AssertionError(f"it did not come; there were {[type(one).__name__ for one in seen]}") from None
    raise AssertionError("the session ended before it came")


def arguments(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
