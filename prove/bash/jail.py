"""Real bash in a jail: what a command really runs and which files it makes. Its programs only write their words down.

Mount, process and network namespaces, a root that can't be written, an ordinary user, a second for each command.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

LIMIT = 1.0
NOBODY = 65534
HERE = Path("/tmp/jail")
PROGRAMS = (
    "git",
    "ls",
    "cat",
    "npm",
    "rg",
    "sort",
    "find",
    "sed",
    "make",
    "id",
    "no",
    "cargo",
    "tee",
    "curl",
    "rm",
    "wc",
    "evil",
)
"""Stubs; ``no`` fails, the others succeed and print what looks like options and commands."""
REAL = ("env", "timeout", "nice", "nohup", "xargs", "bash", "sh", "setsid", "stdbuf")
VARIABLES = {"x": "-o evil", "e": "", "f": "a b", "g": "$(evil)", "n": "7", "HOME": "/tmp/jail/home"}
NOTED = f"""() {{ printf '%s\\0' "$(($# - 1))" "$@" >> {HERE}/log/$BASHPID; echo '-o $(evil) `evil` ; evil'; [ "$1" != no ]
}}"""
"""Bash calls this for a program that it finds nowhere: a fork instead of a start, so thousands of commands fit into seconds."""
STUB = f"""#!/bin/bash
set -- "${{0##*/}}" "$@"
noted{NOTED}
noted "$@"
"""
"""The same for programs that are started by another, such as env."""
WRAPPER = f"""#!/bin/sh
PATH={HERE}/stubs:{HERE}/bin exec REAL "$@"
"""


class Ran(NamedTuple):
    """What bash did with one command."""

    argv: list[list[str]]
    made: list[str]
    """Files that were not there before, relative to where it began."""
    ended: bool
    """Within the limit."""


class NoJail(Exception):
    """This machine gives no namespaces to this user; the message says what failed."""


def ran(commands: Iterable[str]) -> list[Ran]:
    """Every command in one jail, one after the other. Raises NoJail."""
    lines = "".join(json.dumps(command) + "\n" for command in commands)
    inside = [sys.executable, "-m", "prove.bash.jail"]
    done = subprocess.run([*_unshare(), *inside], input=lines, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode:
        raise NoJail(f"no jail for bash on this machine: {done.stderr.strip()[-300:]}")
    return [Ran(*json.loads(line)) for line in done.stdout.splitlines()]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"}


def _unshare() -> list[str]:
    program = shutil.which("unshare")
    if program is None or sys.platform != "linux":
        raise NoJail("no jail for bash on this machine: there is no unshare")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return [program, *user, "--mount", "--pid", "--fork", "--net", "--ipc", "--kill-child"]


def _shut_in() -> None:
    """Everything read-only but a fresh /tmp; then no longer root."""
    libc = ctypes.CDLL(None, use_errno=True)
    private, recursive, read_only, at_recursive = 1 << 18, 1 << 14, 1, 0x8000
    _checked(libc.mount(b"none", b"/", None, private | recursive, None), "mount private")
    attributes = (ctypes.c_uint64 * 4)(read_only, 0, 0, 0)
    _checked(libc.syscall(442, -100, b"/", at_recursive, ctypes.byref(attributes), ctypes.sizeof(attributes)), "mount_setattr")
    _checked(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, b"size=64m,mode=1777"), "mount /tmp")
    _furnish()
    if os.geteuid() == 0 and Path("/proc/self/uid_map").read_text().split()[:3] == ["0", "0", "4294967295"]:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))


def _checked(result: int, what: str) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def _furnish() -> None:
    for folder in ("bin", "stubs", "home", "work", "log"):
        (HERE / folder).mkdir(parents=True)
    for name in PROGRAMS:
        _script(HERE / "stubs" / name, STUB)
    for name in REAL:
        if (real := shutil.which(name)) is not None:
            _script(HERE / "bin" / name, WRAPPER.replace("REAL", real))
    for place in (HERE, HERE / "work", HERE / "home", HERE / "log"):
        place.chmod(0o777)


def _script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _run(command: str) -> Ran:
    logs = HERE / "log"  # a file for each process: bash writes a word with a newline in it in two goes
    for log in logs.iterdir():
        log.unlink()
    with tempfile.TemporaryDirectory(dir=HERE / "work") as folder:
        for name in ("a.py", "b.py", "-z.py"):
            Path(folder, name).touch()
        Path(folder, "src").mkdir()
        before = _files(folder)
        ended = _bash(command, folder)
        made = sorted(_files(folder) - before)
    argv = [record for log in logs.iterdir() for record in _records(log.read_bytes().decode("utf-8", "replace"))]
    return Ran(argv, made, ended)


def _files(folder: str) -> set[str]:
    return {str(path.relative_to(folder)) for path in Path(folder).rglob("*")}


def _records(log: str) -> list[list[str]]:
    fields = log.split("\0")
    out: list[list[str]] = []
    place = 0
    while place < len(fields) - 1:
        count = int(fields[place])
        out.append(fields[place + 1 : place + 2 + count])
        place += 2 + count
    return out


def _bash(command: str, folder: str) -> bool:
    """Until bash and whatever it left behind are gone: all of them hold the leash."""
    leash, held = os.pipe()
    environment = {
        **VARIABLES, "PATH": str(HERE / "bin"), "LC_ALL": "C.UTF-8", "BASH_FUNC_command_not_found_handle%%": NOTED,
    }  # fmt: skip
    child = subprocess.Popen(
        ["/bin/bash", "-c", command], cwd=folder, env=environment, pass_fds=(held,), start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(held)
    deadline = time.monotonic() + LIMIT
    ended = bool(select.select([leash], [], [], max(0.0, deadline - time.monotonic()))[0])
    if not ended:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    os.close(leash)
    return ended


def _main() -> None:
    _shut_in()
    for line in sys.stdin:
        command: Any = json.loads(line)
        sys.stdout.write(json.dumps(_run(command)) + "\n")


if __name__ == "__main__":
    _main()
