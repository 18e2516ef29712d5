"""The page's compiler sees the structs that the hub has."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "page_types.py"


def test_the_types_of_the_page_are_those_of_the_hub() -> None:
    spec = importlib.util.spec_from_file_location("page_types", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.TARGET.read_text("utf-8") == tool.types(), "make map writes them anew"
