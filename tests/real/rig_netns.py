"""A network namespace with nothing but ``lo``, entered by the test process itself. Refuses to go on where the kernel forbids it.

The process goes in, not a holder beside it: then sim model, our own listeners and every CLI that a test starts meet on the
same loopback without being told. Other tests of the same worker keep their loopback. As root a new network namespace is
enough. Others need a user namespace around it, which the kernel grants only to a process without threads: ``python -m
tests.real`` enters before pytest begins, so that the workers of xdist (which have threads) are born inside.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from pathlib import Path

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40


class NoNamespace(Exception):
    """Why this process can't be cut off from the network."""


def inside() -> bool:
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def enter() -> None:
    """Leave every network but ``lo`` behind, for good. Does nothing when that is so already."""
    if not inside():
        uid, gid = os.geteuid(), os.getegid()
        unshare(CLONE_NEWNET if uid == 0 else CLONE_NEWUSER | CLONE_NEWNET)
        if uid != 0:
            Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
        raise_lo()


def unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        why = os.strerror(ctypes.get_errno())
        raise NoNamespace(f"no network namespace for the real CLIs ({why}); run `python -m tests.real` or run as root")


def raise_lo() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP | IFF_RUNNING))
