"""From a Launch to a running child with our ends of its pipes, or an error and nothing left. Does not read, write or wait."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from ropewalk.errors import CliNotFound, FolderMissing, LinkBroken, RopewalkError, UsageError
from ropewalk.transports.launch import Launch
from ropewalk.transports.parent_death import die_with_parent


class Child(NamedTuple):
    """A running child. Whoever has it must reap it (and then set ``popen.returncode``) and close the three ends.

    ``popen`` is None for one that an earlier program of this process started: it has re-executed itself. An end of -1 is closed.
    """

    popen: subprocess.Popen[bytes] | None
    pid: int
    stdin: int
    stdout: int
    stderr: int


def spawn(launch: Launch) -> Child:
    """Start it: a session and process group of its own, TERM when we die, no descriptor of ours but its three pipes.

    Blocks for the milliseconds of fork and exec, as asyncio's own does: the parent-death order is bound to the calling thread,
    so no helper thread may do it. Raises ``UsageError`` (of which ``FolderMissing`` and ``CliNotFound``) or ``LinkBroken``.
    """
    launch.check()
    with _pipes() as (theirs, ours):
        try:
            popen = subprocess.Popen(
                launch.argv,
                stdin=theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                cwd=launch.cwd,
                env=launch.environment,
                start_new_session=True,
                preexec_fn=die_with_parent(),  # two system calls, loaded before the fork
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _blame(error, launch) from error
    return Child(popen, popen.pid, *ours)


@contextmanager
def _pipes() -> Iterator[tuple[list[int], list[int]]]:
    """Three pipes: the child's ends are closed here in any case, ours only when the start failed."""
    theirs: list[int] = []
    ours: list[int] = []
    try:
        for child_reads in (True, False, False):
            read, write = os.pipe()
            theirs.append(read if child_reads else write)
            ours.append(write if child_reads else read)
        yield theirs, ours
    except OSError as error:
        _close(ours)
        raise LinkBroken(f"no pipe to a new process: {error.strerror}") from error
    except RopewalkError:
        _close(ours)
        raise
    finally:
        _close(theirs)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _blame(error: OSError | subprocess.SubprocessError, launch: Launch) -> RopewalkError:
    """Whose fault it is that the start failed."""
    program = launch.program[0]
    match getattr(error, "errno", None):
        case errno.ENOENT | errno.ENOTDIR if getattr(error, "filename", None) == launch.cwd:
            return FolderMissing(launch.cwd)
        case errno.ENOENT | errno.ENOTDIR:
            return CliNotFound(f"{program} does not exist, or the program that its first line names does not")
        case errno.EACCES if getattr(error, "filename", None) == launch.cwd:
            return UsageError(f"the folder {launch.cwd} may not be entered by this user")
        case errno.EACCES:
            return CliNotFound(f"{program} is not executable")
        case errno.ENOEXEC:
            return CliNotFound(f"{program} is not a program of this machine")
        case errno.E2BIG:
            return UsageError("the arguments and the environment are too long for this system; long texts go to the CLI as lines")
        case _:
            return LinkBroken(f"the process could not be started: {error}")
