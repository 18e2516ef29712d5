"""Who belongs to a CLI: its children's children, found in /proc by tree, session and marker. Signals them; never the wrong one.

A CLI's commands outlive it (a Bash command survives TERM of 2.1.37 and 2.1.62, and KILL of every version measured), and what
left the tree by a double fork and ``setsid`` is found only by its environment. A process is named by pid *and* start time: pids
come again. Where there is no /proc, only the process group is known.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ropewalk.transports.environment import MARKER
from ropewalk.transports.exit_watch import open_pidfd

PROC = "/proc"


class Seen(NamedTuple):
    """One process as it was seen. ``start`` is in clock ticks since the machine's start."""

    pid: int
    start: int


class Stat(NamedTuple):
    """A line of /proc/<pid>/stat, as far as it matters here."""

    seen: Seen
    parent: int
    session: int


def stat_of(pid: int) -> Stat | None:
    """How this process stands now; None when it is gone or only its exit code is left."""
    try:
        with open(f"{PROC}/{pid}/stat", "rb", buffering=0) as file:
            line = file.read(1024)
    except OSError:
        return None
    fields = line[line.rfind(b")") + 2 :].split()  # the name before it may hold spaces and brackets
    if len(fields) < 20 or fields[0] in b"ZX":
        return None
    return Stat(Seen(pid, int(fields[19])), int(fields[1]), int(fields[3]))


def is_there(seen: Seen) -> bool:
    """Whether this very process still runs."""
    stat = stat_of(seen.pid)
    return stat is not None and stat.seen == seen


def send_signal(seen: Seen, number: int) -> None:
    """Signal this very process, or nobody. Raises ``PermissionError`` when it is another user's."""
    if seen.pid <= 1 or seen.pid == os.getpid():
        return
    handle = open_pidfd(seen.pid)
    try:
        if not is_there(seen):  # looked at after the handle was taken: it stays this process's, whatever happens to the pid
            return
        if handle is None:
            os.kill(seen.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return
    finally:
        if handle is not None:
            os.close(handle)


class Family:
    """Everyone that descends from one CLI. ``note`` before each signal: whose parent dies loses the way back to it."""

    __slots__ = ("_known", "_marker", "_root", "_root_gone")

    def __init__(self, pid: int, marker: str) -> None:
        stat = stat_of(pid)
        self._root = stat.seen if stat else Seen(pid, _ticks_now())
        self._marker = f"{MARKER}={marker}".encode()
        self._known: set[Seen] = set()
        self._root_gone: int | None = None

    def root_is_gone(self) -> None:
        """To be called when the CLI is reaped: from now on another process may get its pid."""
        self._root_gone = _ticks_now()

    def note(self) -> list[int]:
        """Look through all processes and remember ours; the pids of those that run. The CLI itself is not among them."""
        everyone = [stat for pid in _pids() if (stat := stat_of(pid)) and stat.seen.start >= self._root.start]
        ours = self._known & {stat.seen for stat in everyone}
        ours |= {stat.seen for stat in everyone if self._in_session(stat) or self._carries_marker(stat.seen.pid)}
        self._known = _with_children(ours, everyone, self._roots())
        self._known.discard(self._root)
        return sorted(seen.pid for seen in self._known)

    def left(self) -> list[int]:
        """Those of the noted that still run. Cheap: looks at nobody else."""
        self._known = {seen for seen in self._known if is_there(seen)}
        return sorted(seen.pid for seen in self._known)

    def signal(self, number: int) -> None:
        """Signal all that were noted. Another user's processes are not ours to end and stay in ``left``."""
        for seen in self._known:
            try:
                send_signal(seen, number)
            except PermissionError:
                continue

    def _roots(self) -> Iterable[int]:
        return () if self._root_gone is not None else (self._root.pid,)

    def _in_session(self, stat: Stat) -> bool:
        """The session's number is the CLI's pid; who began before that was given away has it from nobody else."""
        return stat.session == self._root.pid and (self._root_gone is None or stat.seen.start <= self._root_gone)

    def _carries_marker(self, pid: int) -> bool:
        try:
            with open(f"{PROC}/{pid}/environ", "rb", buffering=0) as file:
                return self._marker in file.readall().split(b"\0")
        except OSError:
            return False


class Group:
    """The same where there is no /proc: the CLI's process group. What left it by ``setsid`` is not found."""

    __slots__ = ("_pgid",)

    def __init__(self, pid: int) -> None:
        self._pgid = pid

    def root_is_gone(self) -> None:
        """Nothing to remember: the number stays taken as long as the group has members."""

    def note(self) -> list[int]:
        return self.left()

    def left(self) -> list[int]:
        return [self._pgid] if self.signal(0) else []

    def signal(self, number: int) -> bool:
        if self._pgid <= 1:
            return False
        try:
            os.killpg(self._pgid, number)
        except OSError:
            return False
        return True


def family_of(pid: int, marker: str) -> Family | Group:
    """The best that this system can do."""
    return Family(pid, marker) if os.path.exists(f"{PROC}/self/stat") else Group(pid)


def _with_children(ours: set[Seen], everyone: list[Stat], roots: Iterable[int]) -> set[Seen]:
    """Close over parenthood: children of ours are ours, at any depth."""
    children: dict[int, list[Seen]] = {}
    for stat in everyone:
        children.setdefault(stat.parent, []).append(stat.seen)
    found, ahead = set(ours), [*roots, *(seen.pid for seen in ours)]
    while ahead:
        for seen in children.get(ahead.pop(), ()):
            if seen not in found:
                found.add(seen)
                ahead.append(seen.pid)
    return found


def _pids() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def _ticks_now() -> int:
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
