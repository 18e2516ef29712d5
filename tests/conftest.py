"""What holds for every test: how hypothesis searches, and the list of all that was collected. Holds no fixtures."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""Every test found, taken before -m and -k leave some out."""

# No deadline: the machine is shared and an example's time says nothing. `steady` finds the same examples in every run;
# HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    session.stash[COLLECTED] = list(items)
