"""``python -m ropewalk.runner``: the runner as a process of its own. Detaches if asked to; everything else is ``serve``'s."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable

from ropewalk.errors import RopewalkError
from ropewalk.runner.house import Taken
from ropewalk.runner.options import Options, read_options
from ropewalk.runner.serve import serve

try:
    from uvloop import new_event_loop as quick_loop
except ImportError:  # an extra; asyncio's own loop does as well, a little slower
    quick_loop = asyncio.new_event_loop  # type: ignore[assignment]

READY = b"r"


def main() -> int:
    options = read_options(sys.argv[1:])
    if options.check:
        return 0
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    return _detached(options) if options.detach else _run(options, lambda: None)


def _run(options: Options, ready: Callable[[], None]) -> int:
    for number in (signal.SIGINT, signal.SIGHUP):  # a terminal's: this process outlives it
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the CLIs would inherit
    try:
        with asyncio.Runner(loop_factory=quick_loop) as runner:
            runner.run(serve(options, ready))
    except Taken as taken:
        logging.getLogger("ropewalk.runner").info("%s", taken)
        ready()  # whoever asked for a runner has one
        return 0
    except (RopewalkError, OSError) as error:
        logging.getLogger("ropewalk.runner").error("%s", error)
        return 1
    return 0


def _detached(options: Options) -> int:
    """Fork; the first returns when the second listens, and the second has no parent that it could burden."""
    hears, tells = os.pipe()
    if os.fork():
        os.close(tells)
        return 0 if os.read(hears, 1) == READY else 1
    os.close(hears)
    told = False

    def ready() -> None:
        nonlocal told
        if not told:
            told = True
            os.write(tells, READY)
            os.close(tells)

    return _run(options, ready)


if __name__ == "__main__":
    sys.exit(main())
