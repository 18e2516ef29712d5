"""Looks into /proc for the processes of one house, and signals one by its id. Refuses ids that it did not find there itself."""

from __future__ import annotations

import os
import signal
import socket
import struct
from pathlib import Path
from typing import NamedTuple


class Found(NamedTuple):
    """A living process; ``started`` tells it from a later one of the same id."""

    pid: int
    started: int
    words: tuple[str, ...]
    marker: str


def of_house(folder: Path) -> list[Found]:
    """Everything whose environment names this folder: hub, runner, CLIs and what they left."""
    needle = os.fsencode(folder)
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and (one := _look(int(name), needle)) is not None:
            found.append(one)
    return found


def _look(pid: int, needle: bytes) -> Found | None:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
        if needle not in environ or pid == os.getpid():
            return None
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        started = start_time(pid)
    except OSError:
        return None
    if started is None:
        return None
    marker = next((entry[17:] for entry in environ.split(b"\0") if entry.startswith(b"ROPEWALK_PROCESS=")), b"")
    return Found(pid, started, tuple(word.decode(errors="replace") for word in words if word), marker.decode())


def start_time(pid: int) -> int | None:
    """None for one that is gone or only waits to be reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def send(found: Found, number: signal.Signals) -> bool:
    """Whether it was still that one and got the signal."""
    if start_time(found.pid) != found.started:
        return False
    try:
        os.kill(found.pid, number)
    except ProcessLookupError:
        return False
    return True


def listening_at(path: Path) -> int | None:
    """The id of whoever listens at this Unix socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return None
        return int(struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0])


def memory(pid: int) -> int:
    """Resident bytes of its own."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return 0


def files(pid: int) -> int:
    """Descriptors that are no sockets: those come and go with whoever asks."""
    found = 0
    for name in os.listdir(f"/proc/{pid}/fd") if Path(f"/proc/{pid}").exists() else ():
        try:
            found += not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
