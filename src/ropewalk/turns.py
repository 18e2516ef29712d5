"""Turns of the event loop, shared: long work is done in slices, and others come in between. Refuses to hold the loop for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SLICE = 0.001
"""Seconds for which one part of long work may hold the loop. By ``time.monotonic``: uvloop's own clock counts milliseconds."""
OTHERS = 4
"""Turns between two slices. A request over HTTP needs about ten until it is heard: with a slice in each of them an interrupt
waited 50 ms behind a flood, so it waits 8 (measured on two cores)."""


def after_others(loop: asyncio.AbstractEventLoop, go_on: Callable[[], None], turns: int = OTHERS) -> None:
    if turns == 1:
        loop.call_soon(go_on)
    else:
        loop.call_soon(after_others, loop, go_on, turns - 1)
