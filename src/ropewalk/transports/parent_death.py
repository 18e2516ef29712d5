"""A child that does not outlive us: the kernel sends it TERM when we are gone. Linux only; elsewhere there is no such order.

The order is bound to the *thread* that starts the child: when a loop runs in a thread of its own and that thread ends, its CLIs
get their TERM then. The kernel forgets it when the program changes its user or is set-uid.
"""

from __future__ import annotations

import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable

PR_SET_PDEATHSIG = 1


@functools.cache
def _prctl() -> Callable[..., int] | None:
    """Loaded before the first fork, as nothing may be imported after it; not earlier, as ctypes takes 5 ms to import."""
    if sys.platform != "linux":
        return None
    prctl: Callable[..., int] = importlib.import_module("ctypes").CDLL(None).prctl
    return prctl


def die_with_parent() -> Callable[[], None] | None:
    """What the child does between fork and exec (``preexec_fn``), or None where the system has no such order."""
    prctl = _prctl()
    if prctl is None:
        return None
    parent, terminate, getppid, leave = os.getpid(), int(signal.SIGTERM), os.getppid, os._exit

    def order() -> None:
        prctl(PR_SET_PDEATHSIG, terminate, 0, 0, 0)
        if getppid() != parent:  # it died before the order was given: nobody would tell us any more
            leave(128 + terminate)

    return order
