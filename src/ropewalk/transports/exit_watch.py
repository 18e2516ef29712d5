"""Sees one child's exit, reaps it, tells its code once. Works in any thread's loop; starts no other process, sends no signal.

By pidfd where the system has it (Linux 5.3); elsewhere by a thread that waits. asyncio's own watchers are bound to the main
thread or start a thread for every child (3.11).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import threading
from collections.abc import Callable


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process exits; None where the system gives none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


class ExitWatch:
    """Calls ``on_exit(code)`` from the loop: negative for a signal, None when somebody else took the exit code."""

    __slots__ = ("_loop", "_on_exit", "_pid", "_pidfd", "_reaped")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pid: int,
        on_exit: Callable[[int | None], None],
        pidfd_of: Callable[[int], int | None] = open_pidfd,
    ) -> None:
        self._loop, self._pid, self._on_exit = loop, pid, on_exit
        self._reaped = False
        self._pidfd = pidfd_of(pid)
        if self._pidfd is not None:
            loop.add_reader(self._pidfd, self.look)
        else:
            threading.Thread(target=self._wait_in_thread, name=f"exit of {pid}", daemon=True).start()

    def look(self) -> None:
        """Reap it if it has exited; harmless at any other time."""
        if self._reaped:
            return
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:  # SIGCHLD is ignored in this program, or somebody waits for every child
            self._finish(None)
        else:
            if pid:
                self._finish(os.waitstatus_to_exitcode(status))

    def _finish(self, code: int | None) -> None:
        self._reaped = True
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        self._on_exit(code)

    def _wait_in_thread(self) -> None:
        tell = self.look
        with contextlib.suppress(ChildProcessError):
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)  # the loop reaps it: its pid stays taken till then
            else:  # macOS before Python 3.13
                tell = functools.partial(self._finish, os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1]))
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody listens
            self._loop.call_soon_threadsafe(tell)
