"""What the machine says about the names in a request, asked of the runner before anything is judged. Refuses to judge.

Whatever can't be found out is left unknown, and what is unknown is asked: a runner that is away allows nothing.
"""

from __future__ import annotations

import os
from typing import Any

from ..errors import LinkBroken, RopewalkError, UsageError
from ..permissions.policy import needs
from ..permissions.request import Context, Request
from .clean import harmless, is_clean
from .world import World

MOST_NAMES = 500
"""A request with more names is asked: nobody would read them."""
SHOWN = 256 * 1024
"""Bytes of a file that a card shows whole before an edit."""


class Looking:
    """For one session. ``folders``: those that were added to its own."""

    def __init__(self, world: World, session: str, cwd: str, folders: tuple[str, ...]) -> None:
        self._world, self._session, self._cwd, self._folders = world, session, cwd, folders
        self._root: str | None = None

    async def context(self, request: Request) -> Context:
        home = self._world.environ.get("HOME", "")
        root = await self._project()
        paths = needs(request, home, root, self._folders).paths
        return Context(root=root, home=home, resolved=await self._resolved(paths), folders=self._folders, session=self._session)

    async def _resolved(self, paths: tuple[str, ...]) -> dict[str, str | None]:
        unknown: dict[str, str | None] = dict.fromkeys(paths)
        if len(paths) > MOST_NAMES:
            return unknown
        named = [path for path in paths if path.isprintable()]
        try:
            return {**unknown, **dict(zip(named, await self._world.link.files.realpaths(named), strict=True))}
        except (RopewalkError, ValueError):
            return unknown

    async def _project(self) -> str:
        """The folder with the repository that the session works in; its own where there is none."""
        folder, above = self._cwd, os.path.dirname(self._cwd)
        try:
            while self._root is None and folder != above:
                if await self._world.link.files.stat(os.path.join(folder, ".git")) is not None:
                    self._root = folder
                folder, above = above, os.path.dirname(above)
        except LinkBroken:
            return self._cwd  # looked for again at the next request
        except UsageError:
            pass  # above lie folders that the runner shows to nobody
        self._root = self._root or self._cwd
        return self._root

    async def before(self, path: str) -> dict[str, Any]:
        """The file as it stands, for a card: its text, or why there is none."""
        told: dict[str, Any] = {"path": path}
        try:
            stat = await self._world.link.files.stat(path)
            if stat is None:
                return told | {"exists": False}
            found = await self._world.link.files.read(path, SHOWN)
        except RopewalkError as error:
            return told | {"why": f"the file can't be read now: {error}"}
        told |= {"exists": True, "size": found.size}
        if found.binary:
            return told | {"why": "it is no text"}
        if found.size > SHOWN:
            return told | {"why": f"it is longer than {SHOWN // 1024} KiB"}
        text = found.data.decode("utf-8", "replace")
        return told | {"text": text if is_clean(found.data) else harmless(text)}
