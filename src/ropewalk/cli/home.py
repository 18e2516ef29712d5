"""The person's home folder, and paths told from it. Refuses to follow links."""

from __future__ import annotations

import os

from ..sessions.tools import from_home


def home() -> str:
    return os.path.expanduser("~")


def home_path(path: str) -> str:
    """With ~ where it lies in the home."""
    return from_home(path, home())
