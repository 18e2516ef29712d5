"""The stores that the contract suite runs over, and how each is opened."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import pytest

from ropewalk.store.base import Store
from ropewalk.store.memory import open_memory
from ropewalk.store.sqlite import open_store
from tests.store.words import SEARCHED


class Opener(Protocol):
    def __call__(self, *, queue_bytes: int = ...) -> AbstractAsyncContextManager[Store]: ...


@pytest.fixture(params=["memory", "sqlite"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens one with a setting of its own."""

    def open_one(*, queue_bytes: int = 1 << 26) -> AbstractAsyncContextManager[Store]:
        if request.param == "memory":
            return open_memory(searched=SEARCHED, queue_bytes=queue_bytes)
        return open_store(tmp_path / "home" / "ropewalk.db", searched=SEARCHED, queue_bytes=queue_bytes)

    return open_one


@pytest.fixture
async def store(opener: Opener) -> AsyncIterator[Store]:
    async with opener() as opened:
        yield opened
