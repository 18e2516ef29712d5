"""Who descends from which CLI, and what they take, in one walk over /proc for all of them. Only looks; signals nobody."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ropewalk.transports.descendants import PROC, Seen, Stat, stat_of
from ropewalk.transports.environment import MARKER

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
YOUNG = 10.0
"""Seconds."""


class Kin(NamedTuple):
    """One CLI's descendants, itself left out."""

    seen: frozenset[Seen]
    memory: int


class Census:
    """Remembers whose marker a process carries: environments are read once, not every few seconds."""

    def __init__(self, home_id: str) -> None:
        self._beginning = f"{MARKER}={home_id}:".encode()
        self._marked: dict[Seen, str | None] = {}

    def marked(self) -> dict[Seen, str]:
        """Everyone who carries our id, with the process id that it was given."""
        everyone = _everyone()
        self._look(everyone)
        return {seen: process for seen, process in self._marked.items() if process is not None}

    def count(self, roots: Mapping[str, Seen]) -> dict[str, Kin]:
        """For each CLI: by parenthood, by session, and by marker."""
        everyone = _everyone()
        self._look(everyone)
        children: dict[int, list[Stat]] = {}
        for stat in everyone:
            children.setdefault(stat.parent, []).append(stat)
        return {process: self._kin(process, root, everyone, children) for process, root in roots.items()}

    def _kin(self, process: str, root: Seen, everyone: Iterable[Stat], children: Mapping[int, list[Stat]]) -> Kin:
        ours = {
            stat.seen
            for stat in everyone
            if stat.seen.start >= root.start and (stat.session == root.pid or self._marked.get(stat.seen) == process)
        }
        ahead = [root.pid, *(seen.pid for seen in ours)]
        while ahead:
            for stat in children.get(ahead.pop(), ()):
                if stat.seen not in ours:
                    ours.add(stat.seen)
                    ahead.append(stat.seen.pid)
        memory = sum(_resident(seen.pid) for seen in ours | {root})
        return Kin(frozenset(ours - {root}), memory)

    def _look(self, everyone: list[Stat]) -> None:
        """A process that has just been forked still has its parent's environment: the young are asked again."""
        before, self._marked = self._marked, {}
        grown_up = (time.clock_gettime(time.CLOCK_BOOTTIME) - YOUNG) * TICKS
        for stat in everyone:
            seen = stat.seen
            known = seen in before and (seen.start < grown_up or before[seen] is not None)
            self._marked[seen] = before[seen] if known else self._process_of(seen.pid)

    def _process_of(self, pid: int) -> str | None:
        try:
            with open(f"{PROC}/{pid}/environ", "rb", buffering=0) as file:
                variables = file.readall().split(b"\0")
        except OSError:
            return None
        named = (variable for variable in variables if variable.startswith(self._beginning))
        marker = next(named, None)
        return None if marker is None else marker.removeprefix(self._beginning).decode("utf-8", "replace")


def _everyone() -> list[Stat]:
    return [stat for name in os.listdir(PROC) if name.isdigit() and (stat := stat_of(int(name)))]


def _resident(pid: int) -> int:
    try:
        with open(f"{PROC}/{pid}/statm", "rb", buffering=0) as file:
            return int(file.read(256).split()[1]) * PAGE
    except (OSError, IndexError):
        return 0
