"""What every command to a hub needs: configuration, screen, a connection, an exit code. Refuses to catch what it can't say."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from ...client.remote import Remote
from ...config import Config, load
from ...events.views import SessionView
from ..asked import COLORS, check_choice
from ..found import Found, find_hub
from ..screen import Screen, look_around
from ..which import session_meant, short_ids

PATIENCE = 10.0
"""Seconds that a command waits for a hub that is being restarted; one that does not run at all is noticed at once."""


@dataclass
class Asking:
    """A command's connection to the hub, and how it draws."""

    config: Config
    screen: Screen
    remote: Remote
    found: Found
    as_json: bool = False
    ids_only: bool = False

    async def session(self, word: str) -> SessionView:
        return await session_meant(self.remote, self.config, word)

    async def short(self, session: str) -> str:
        """The shortest start of this id that is unique now."""
        return short_ids([session, *(one.id for one in await self.remote.list(limit=1000))])[session]

    def object(self, told: Any) -> None:
        """The API's own shape, on one line."""
        self.screen.object(msgspec.json.encode(told).decode())


Work = Callable[[Asking], Awaitable[int]]


def ask_hub(work: Work, *, as_json: bool, ids_only: bool = False, color: str = "auto", ascii_only: bool = False) -> int:
    """Do it against the hub of this user; its exit code. Raises what goes wrong, for ``main`` to say."""
    check_choice("color", color, COLORS)
    quiet_logs()
    screen = Screen(look_around(color, ascii_only=ascii_only, answer=True))
    return asyncio.run(_asked(work, screen, as_json, ids_only))


async def _asked(work: Work, screen: Screen, as_json: bool, ids_only: bool) -> int:
    config = load()
    found = find_hub(config)
    async with connected(config, found) as remote:
        return await work(Asking(config, screen, remote, found, as_json, ids_only))


def connected(config: Config, found: Found, patience: float = PATIENCE) -> Remote:
    """Follows the hub to another port, should it come back there."""

    def again() -> tuple[str, str]:
        there = find_hub(config)
        return there.url, there.token

    return Remote(found.url, found.token, patience=patience, find=again)


def quiet_logs() -> None:
    """Libraries' logs are for programs; a person reads the screen."""
    for name in ("ropewalk", "httpx", "httpcore", "websockets"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
