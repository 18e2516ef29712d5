"""``python -m tests.real [pytest's words]``: pytest inside the namespace, workers included. Refuses to run it outside."""

from __future__ import annotations

import os
import sys

from tests.real.rig_netns import enter

if __name__ == "__main__":
    enter()
    words = sys.argv[1:] or ["tests/real"]
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *words])  # noqa: S606 - ourselves again
