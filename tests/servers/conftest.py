"""A web door on a port of its own, with a hub of a few lines behind it; and the ways to knock."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ropewalk.config import Config
from ropewalk.servers.access import Access, open_access
from ropewalk.servers.web import Address, open_web
from ropewalk.servers.web.server import Web

from .standin import StandIn


@dataclass
class Door:
    """What a test holds of an open door."""

    hub: StandIn
    access: Access
    address: Address
    config: Config
    token: str
    web: Web
    """What serves, to look at; never to call."""

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    @property
    def origin(self) -> str:
        return self.address.url

    def client(self, **settings: Any) -> httpx.AsyncClient:
        """With the owner's token unless other headers are given."""
        settings.setdefault("headers", self.bearer)
        return httpx.AsyncClient(base_url=self.address.url, timeout=30, trust_env=False, **settings)

    async def token_for(self, *roles: str) -> dict[str, str]:
        made = await self.access.new_token("a program", roles)
        return {"Authorization": f"Bearer {made.token}"}


@asynccontextmanager
async def open_door(folder: Path, hub: StandIn | None = None, **settings: Any) -> AsyncIterator[Door]:
    config = Config(home=str(folder), **{"port": 0, "name": "Mia", **settings})
    hub = hub or StandIn()
    async with AsyncExitStack() as stack:
        access = await stack.enter_async_context(open_access(hub, config))
        address = await stack.enter_async_context(open_web(hub, access, config))
        web = next(tell.__self__ for tell in access._tell if isinstance(getattr(tell, "__self__", None), Web))  # type: ignore[attr-defined]
        yield Door(hub, access, address, config, config.token_file.read_text().strip(), web)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path / "home") as door:
        yield door
