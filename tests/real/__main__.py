"""``python -m tests.real [pytest's words]``: pytest inside the namespace, workers included. Refuses to hide that it failed to."""

from __future__ import annotations

import os
import sys

from tests.real.rig_netns import NoNamespace, enter

if __name__ == "__main__":
    try:
        enter()
    except (NoNamespace, OSError) as why:
        sys.stderr.write(f"{why}\n")  # pytest runs all the same: the rig skips its tests, or fails them where CI=true
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *(sys.argv[1:] or ["tests/real"])])  # noqa: S606 - ourselves again
