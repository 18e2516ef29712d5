"""Starts sim claude in a home of its own and ends it with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from .play import Sim

STREAM = ["-p", "--output-format=stream-json", "--input-format=stream-json", "--verbose", "--permission-prompt-tool=stdio"]
Start = Callable[..., Sim]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """``start(steps, *more_flags, version=…, **environment)``: a running sim claude; without steps it follows the demo."""
    with ExitStack() as stack:

        def starter(
            steps: list[dict[str, Any]] | str | None = None,
            *more: str,
            version: str = "2.1.326",
            flags: list[str] | None = None,
            **environment: str,
        ) -> Sim:
            story: dict[str, Any] | str = {"rule": [{"steps": steps}]} if isinstance(steps, list) else steps or "demo"
            given = {"ROPEWALK_SIM_SPEED": "0"} | environment
            return stack.enter_context(Sim([*(STREAM if flags is None else flags), *more], tmp_path, story, given, version))

        yield starter
