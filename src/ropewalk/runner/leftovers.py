"""Ends what an earlier life of this runner left running: by marker, and by pid with start time and boot id. Never anyone else.

A marker counts only together with the id of this very spool: CLIs of another state folder are not ours to end.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable

from ropewalk.runner.about import About, boot_id
from ropewalk.runner.census import Census
from ropewalk.transports.descendants import Seen, is_there, send_signal

TERM_GRACE = 1.5
"""The CLIs themselves got their TERM from the kernel when the runner died; this is for what they started."""
KILL_GRACE = 5.0
LOOK_AGAIN = 0.02


async def end_leftovers(home_id: str, abouts: Iterable[About]) -> tuple[int, list[int]]:
    """How many were found, and the pids that not even KILL ended."""
    recorded = _recorded(abouts)
    found: set[Seen] = set()
    for number, grace in ((signal.SIGTERM, TERM_GRACE), (signal.SIGKILL, KILL_GRACE)):
        left = await _signalled(home_id, recorded, number, grace, found)
        if not left:
            return len(found), []
    return len(found), sorted(seen.pid for seen in left)


async def _signalled(home_id: str, recorded: set[Seen], number: int, grace: float, found: set[Seen]) -> set[Seen]:
    """Signal all, and whoever they start meanwhile; who is left after the grace."""
    loop = asyncio.get_running_loop()
    until = loop.time() + grace
    told: set[Seen] = set()
    while left := await asyncio.to_thread(_alive, home_id, recorded):
        found |= left
        for seen in left - told:
            _signal(seen, number)
        told |= left
        if loop.time() >= until:
            break
        await asyncio.sleep(LOOK_AGAIN)
    return left


def _alive(home_id: str, recorded: set[Seen]) -> set[Seen]:
    """With a fresh look at every environment: a process that has just been forked may have changed its own."""
    return set(Census(home_id).marked()) | {seen for seen in recorded if is_there(seen)}


def _recorded(abouts: Iterable[About]) -> set[Seen]:
    now = boot_id()
    same_boot = [about for about in abouts if about.boot_id == now and about.pid > 1]
    kin = {Seen(pid, start) for about in same_boot for pid, start in about.family}
    return kin | {Seen(about.pid, about.start_time) for about in same_boot}


def _signal(seen: Seen, number: int) -> None:
    try:
        send_signal(seen, number)
    except PermissionError:
        return
