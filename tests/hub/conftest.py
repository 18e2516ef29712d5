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


QUICK = ("test_a_session_created_with_a_prompt_runs_it_as_its_first_turn", "test_an_answer_goes_to_the_session_that_asked")
"""What the quick check looks at: each test here starts a runner and CLIs of its own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here) and item.name not in QUICK:
            item.add_marker(pytest.mark.slow)
