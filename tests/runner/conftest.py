"""One runner a test, in a folder of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.contract.listening import Belongings
from tests.runner.world import World, world_in


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """Also a test: descriptors, tasks and children are afterwards what they were before."""
    before = Belongings.now()
    async with world_in(tmp_path) as world:
        yield world
    await before.are_all()
