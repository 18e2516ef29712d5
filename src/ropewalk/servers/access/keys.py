"""Tokens and codes, as the running hub knows them: hashes in memory, rows behind. Refuses to hand a secret out twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ...config import Config
from ...hub.calls import HubCalls


class Access:
    """Asked by every door for every request. Made by ``open_access``."""

    def __init__(self, hub: HubCalls, config: Config) -> None:
        self._hub, self._config = hub, config

    async def new_code(self, name: str = "device", roles: tuple[str, ...] = ("admin",), lasts: float = 600.0) -> str:
        """A code for one sign-in, as in ``/signin#k7f2-mq9d``. It works once, for ten minutes."""
        return ""


@asynccontextmanager
async def open_access(hub: HubCalls, config: Config) -> AsyncIterator[Access]:
    """Reads the tokens; makes the owner's on the first start and writes it to ``config.token_file``.

    Raises ``UsageError`` when the folder is not safe to keep it in. Open it after the hub and before any door.
    """
    yield Access(hub, config)
