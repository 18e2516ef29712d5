"""``import ropewalk`` is cheap: little more than asyncio and msgspec, and nothing that only some need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ropewalk

DEAR = {
    "anyio", "httpx", "mcp", "pydantic", "rich", "typer", "uvloop", "websockets",
    "argparse", "email", "http", "multiprocessing", "shutil", "sqlite3", "tomllib", "unittest", "xml",
}  # fmt: skip
"""Not to be loaded before somebody uses what needs it."""


def loaded_by(code: str) -> set[str]:
    """Modules that a fresh interpreter has after this."""
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True, timeout=60
    )
    return set(ran.stdout.split())


@pytest.mark.parametrize("code", ["import ropewalk", "from ropewalk import Client, ClientOptions"])
def test_nothing_is_loaded_that_only_some_need(code: str) -> None:
    """ours"""
    assert DEAR & {name.partition(".")[0] for name in loaded_by(code)} == set()


def test_beyond_asyncio_and_msgspec_only_a_few_modules_of_the_standard_library_are_loaded() -> None:
    """ours: each of them costs every program that imports us"""
    theirs = loaded_by("import asyncio, msgspec")
    more = {name.partition(".")[0] for name in loaded_by("import ropewalk") - theirs} - {"ropewalk"}
    assert more <= {"copy", "dataclasses", "json", "_json"}


def test_every_public_name_is_there_and_listed_once() -> None:
    """ours"""
    assert len(set(ropewalk.__all__)) == len(ropewalk.__all__) and ropewalk.__all__ == sorted(ropewalk.__all__)
    assert all(hasattr(ropewalk, name) for name in ropewalk.__all__)
