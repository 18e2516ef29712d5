"""A house for each test, ended with everything in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hub.house import House, Talk


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = House(tmp_path)
    yield made
    await made.end_runner()


@pytest.fixture
async def talk(house: House) -> AsyncIterator[Talk]:
    async with house.opened() as talk:
        yield talk
