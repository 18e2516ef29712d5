"""What holds for every test: how hypothesis searches, who runs what, and the list of all that was collected. No fixtures."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""Every test found, taken before -m and -k leave some out."""

# No deadline: the machine is shared and an example's time says nothing. `steady` finds the same examples in every run,
# `quick` (`make check`) the first of them; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=20)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    session.stash[COLLECTED] = list(items)


class ByFileAndVersion(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of one file on one real CLI share a process, so they go to one worker; all others go wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        found = re.match(r"(tests/[\w/]*real/[^:]+)::.*\[(?:.*-)?(2\.1\.\d+)(?:-.*)?\]", nodeid)
        return f"{found[1]} {found[2]}" if found else nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileAndVersion | None:
    """xdist's own groups have no effect: it hands them over in a place where this pytest does not look."""
    return ByFileAndVersion(config, log) if config.getvalue("dist") == "loadgroup" else None
