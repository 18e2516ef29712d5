"""What a configuration that can't be read is told as."""

from __future__ import annotations

from pathlib import Path

import pytest

from ropewalk.config import load
from ropewalk.errors import UsageError


def test_a_file_that_can_not_be_read_is_named_once(tmp_path: Path) -> None:
    """ours: the path, the reason, what to do"""
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(UsageError) as failure:
        load({}, {"ROPEWALK_HOME": str(tmp_path), "HOME": str(tmp_path)})
    assert str(failure.value) == f"{tmp_path / 'config.toml'} can't be read: Is a directory; mend it or move it away"
