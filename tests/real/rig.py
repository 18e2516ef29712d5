"""A place for one real CLI: an ordinary user's home and project, argv to run a version. Refuses to leave anything behind."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.install_clis import cli_path, reachable_by_all

VERSIONS = ("2.1.37", "2.1.62", "2.1.326")
"""What the tests run over unless they say otherwise; 2.1.120 is there for links."""
MARK = "ROPEWALK_RIG"
FAKE_KEY = "sk-ant-made-up"


def versions(*wanted: str) -> pytest.MarkDecorator:
    """``@versions("2.1.37", "2.1.62")``: run a test with ``cli_version`` over these instead of all three."""
    return pytest.mark.versions(*wanted)


@dataclass(frozen=True, slots=True)
class Place:
    """``home`` and ``project`` belong to the user that the CLI runs as; ``mark`` finds whatever it started."""

    mark: str
    home: Path
    project: Path

    def env(self, base_url: str, **more: str) -> dict[str, str]:
        """A whole environment for a CLI here. Nothing of ours leaks in."""
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": str(self.home),
            "USER": "ordinary",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.home.parent / "tmp"),
            MARK: self.mark,
            "ANTHROPIC_BASE_URL": base_url,
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "2",
            **more,
        }

    def argv(self, version: str, env: dict[str, str] | None = None) -> list[str]:
        """What to launch. Every word before the CLI execs in place, so the pid is the CLI's own and signals reach it.

        With ``env`` these variables are set whatever environment the launcher gives.
        """
        words = [*other_user(), *([which("env"), *(f"{k}={v}" for k, v in env.items())] if env else [])]
        return [*words, *cli_path(version)]

    def survivors(self) -> list[int]:
        """Processes that were started from here and live: the CLI, its commands, theirs."""
        return [pid for pid in pids() if f"{MARK}={self.mark}".encode() in environment(pid).split(b"\0")]


@contextlib.contextmanager
def place() -> Iterator[Place]:
    """A fresh one under the machine's temporary folder; ends what is left of it by pid and takes the folder away."""
    root = Path(tempfile.mkdtemp(prefix="ropewalk-real-", dir=open_folder()))
    made = Place(root.name, root / "home", root / "project")
    try:
        for folder in (made.home, made.project, root / "tmp"):
            folder.mkdir(mode=0o700)
        give_away(root)
        yield made
    finally:
        for pid in made.survivors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(root, ignore_errors=True)


def other_user() -> list[str]:
    """As root: the words that make the rest run as ``nobody``. Parent-death signals survive the change of user."""
    if os.geteuid() != 0:
        return []
    uid, gid = ordinary()
    return [which("setpriv"), f"--reuid={uid}", f"--regid={gid}", "--clear-groups", "--pdeathsig=keep", "--"]


def ordinary() -> tuple[int, int]:
    if os.geteuid() != 0:
        return os.geteuid(), os.getegid()
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def give_away(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        os.chown(path, *ordinary())


def open_folder() -> Path:
    """pytest's own temporary folders are closed to other users, hence this."""
    return next(p for p in (Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")) if reachable_by_all(p))


def which(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise FileNotFoundError(f"the rig needs `{program}`")
    return found


def pids() -> list[int]:
    return [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit()]


def environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
