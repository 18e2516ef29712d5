"""The hub with named points at which it kills itself: ``PROVE_BLOW="store: before commit@7"``; for the rest it is the hub.

The points are put around the parts from outside; the product has no word of them.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

from ropewalk import daemon
from ropewalk.config import load
from ropewalk.hub.feed import Feed
from ropewalk.store.sqlite import open_store
from ropewalk.transports.runner import local
from ropewalk.transports.runner.link import RunnerLink

POINTS = {
    "store: before commit": 120, "store: after commit": 120, "feed: before telling": 60, "link: before write": 16,
    "link: after write": 16, "link: before start": 2, "link: after start": 2, "link: before stored": 60, "link: attached": 3,
}  # fmt: skip
"""Where, and up to how often each is passed in a round."""
RUNNER_POINTS = {
    "spool: before append": 300, "spool: after append": 300, "keys: before note": 14, "keys: after note": 14,
    "pipe: after write": 14, "spool: before forget": 60,
}  # fmt: skip


class Blow:
    """Counts how often each point is passed."""

    def __init__(self, order: str) -> None:
        self._point, _, number = order.rpartition("@")
        self._number = int(number or 0)
        self._passed: Counter[str] = Counter()

    def at(self, point: str) -> None:
        self._passed[point] += 1
        if point == self._point and self._passed[point] == self._number:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: Any, name: str, before: str = "", after: str = "") -> None:
        """Points before and after each call of a plain method."""
        method: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(method)
        def called(*args: Any, **named: Any) -> Any:
            if before:
                self.at(before)
            result = method(*args, **named)
            if after:
                self.at(after)
            return result

        setattr(owner, name, called)


def set_points(blow: Blow) -> None:
    daemon.__dict__["open_store"] = functools.partial(open_store, at_point=blow.at)
    blow.around(Feed, "publish", before="feed: before telling")
    blow.around(RunnerLink, "write", before="link: before write", after="link: after write")
    blow.around(RunnerLink, "stored", before="link: before stored")
    blow.around(RunnerLink, "attach", after="link: attached")
    start = RunnerLink.start_process

    async def start_process(self: RunnerLink, *args: Any, **named: Any) -> Any:
        blow.at("link: before start")
        started = await start(self, *args, **named)
        blow.at("link: after start")
        return started

    RunnerLink.start_process = start_process  # type: ignore[method-assign]


def runner_with_points() -> None:
    """The runner that this hub starts has points, too."""
    run = subprocess.run

    def run_ours(words: list[str], **named: Any) -> Any:
        return run(["prove.runner" if word == "ropewalk.runner" else word for word in words], **named)

    local.__dict__["subprocess"].run = run_ours


def main() -> None:
    set_points(Blow(os.environ.get("PROVE_BLOW", "")))
    runner_with_points()

    def ready(told: daemon.Ready) -> None:
        sys.stdout.write(json.dumps({"url": told.url, "pid": os.getpid()}) + "\n")
        sys.stdout.flush()

    asyncio.run(daemon.run(load(), on_ready=ready))


if __name__ == "__main__":
    main()
