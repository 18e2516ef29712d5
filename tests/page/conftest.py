"""A house, a hub in it, a browser. Each test here takes seconds; without chromium, or without a built page, none runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ropewalk.servers.web.api.page import FOLDER
from tests.hub.house import House
from tests.servers.browser import PROGRAM, Tab, open_tab

from .rig import Place, opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.slow)
            if PROGRAM is None:
                item.add_marker(pytest.mark.skip(reason="no chromium on this machine"))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    assert (FOLDER / "index.html").exists(), "the page was not built: make page"
    made = House(tmp_path)
    yield made
    await made.end_runner()


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    """Its console and its security policy may complain of nothing, and it may ask nobody but the hub."""
    async with open_tab(tmp_path / "browser", 1440, 900) as tab:
        yield tab
        assert [words for words in tab.said if not words.startswith("Failed to load resource")] == []
        assert [where for where in tab.asked if not where.startswith(("http://127.0.0.1:", "data:", "about:"))] == []


@pytest.fixture
async def place(house: House) -> AsyncIterator[Place]:
    async with opened(house) as place:
        yield place
