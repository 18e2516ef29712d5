"""The runner with named points at which it kills itself: the order stands in a file, and is taken by the next that starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ropewalk.runner.__main__ import main
from ropewalk.runner.keys import Keys
from ropewalk.runner.spool import Spool
from ropewalk.transports.stdio import StdioTransport

from .house import RUNNER_ORDER
from .serve import Blow


def taken() -> str:
    """The order, for this life alone."""
    path = Path(os.environ.get(RUNNER_ORDER, "/nonexistent"))
    try:
        order = path.read_text()
        path.unlink()
    except OSError:
        return ""
    return order


def set_points(blow: Blow) -> None:
    blow.around(Spool, "append", before="spool: before append", after="spool: after append")
    blow.around(Spool, "forget", before="spool: before forget")
    blow.around(Keys, "add", before="keys: before note", after="keys: after note")
    blow.around(StdioTransport, "send", after="pipe: after write")


if __name__ == "__main__":
    set_points(Blow(taken()))
    sys.exit(main())
