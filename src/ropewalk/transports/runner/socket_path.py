"""A name for a Unix socket that the kernel takes, however deep its folder lies. Opens a folder, no socket."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 100
"""The kernel takes 107 bytes, macOS 103."""


@contextmanager
def reachable(path: str) -> Iterator[str]:
    """``path``, or a short way to it that holds inside the block: through a descriptor of its folder."""
    if len(os.fsencode(path)) <= LONGEST or sys.platform != "linux":
        yield path
        return
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)
