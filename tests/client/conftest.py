"""What the tests of the library share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.scripted import ScriptedCli


@pytest.fixture
def scripted(tmp_path: Path) -> ScriptedCli:
    return ScriptedCli(tmp_path)
