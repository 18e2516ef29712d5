"""What nobody needs any more is removed: old commands, files that no prompt names. Refuses haste: a few at a time, once a day."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from ..config import Config
from ..errors import RopewalkError
from ..sessions.tasks import Tasks
from ..store.base import Condition, Entry, Less, More, Remove, Store
from ..store.rows import AttachmentRow, CommandRow, PromptRow

DAY = 24 * 3600.0
KEPT = 30 * DAY
"""How long a repeated command is known as such, and a file that was sent may wait for its prompt."""
BATCH = 200
PAUSE = 0.05
"""Seconds between two batches: whoever works meanwhile is not held up."""


class Sweep:
    def __init__(self, store: Store, config: Config, clock: Callable[[], float], tasks: Tasks) -> None:
        self._store, self._clock, self._tasks = store, clock, tasks
        self._folder = os.path.join(config.home, "attachments")

    async def run(self) -> None:
        while True:
            try:
                await self.commands()
                await self.attachments()
            except (RopewalkError, OSError) as error:  # tomorrow again
                self._tasks.failed(error)
            await asyncio.sleep(DAY)

    async def commands(self) -> int:
        """Those that ended long ago: a client that repeats one after a month means a new one."""
        before, removed = self._clock() - KEPT, 0
        states = ("done", "failed", "unknown")
        while rows := await self._store.find(CommandRow, {"at": Less(before), "state": states}, order="at", limit=BATCH):
            gone = [Remove("command", {"principal": row.principal, "client_id": row.client_id}) for row in rows]
            await self._store.append(Entry(rows=gone))
            removed += len(rows)
            await asyncio.sleep(PAUSE)
        return removed

    async def attachments(self) -> int:
        """Old files that no prompt names: never sent, withdrawn, or a picture that went into its prompt as it is."""
        before, last, removed = self._clock() - KEPT, "", 0
        while rows := await self._store.find(AttachmentRow, {"at": Less(before), "id": More(last)}, order="id", limit=BATCH):
            last = rows[-1].id
            for row in rows:
                if not await self._named(row):
                    await self._remove(row)
                    removed += 1
            await asyncio.sleep(PAUSE)
        return removed

    async def _named(self, row: AttachmentRow) -> bool:
        """Whether a prompt that waits, or that Claude has heard, names it: the conversation may come back to it."""
        last = ""
        where: dict[str, Condition] = {"session": row.session}
        while prompts := await self._store.find(PromptRow, where | {"id": More(last)}, order="id", limit=BATCH):
            if any(row.id.encode() in one.content for one in prompts if one.state not in ("withdrawn", "failed")):
                return True
            last = prompts[-1].id
        return False

    async def _remove(self, row: AttachmentRow) -> None:
        """The row first: a file without one is only a file too many."""
        await self._store.append(Entry(rows=[Remove("attachment", {"id": row.id})]))
        await asyncio.to_thread(_unlink, row.path, self._folder)


def _unlink(path: str, folder: str) -> None:
    if os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
