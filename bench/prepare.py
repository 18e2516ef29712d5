"""What a run needs before it measures: the compiled fake CLI and the peer in a venv of its own. Refuses to measure."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"
PEER = "claude-agent-sdk"
TAG = f"cp{sys.version_info.major}{sys.version_info.minor}"
"""The peer runs on the Python that runs us."""


class PeerMissing(Exception):
    """The peer is not installed and could not be."""


@dataclass(frozen=True, slots=True)
class FakeCli:
    """The program that all contenders start. Not ``compiled`` where no C compiler is: it may then be slower than its readers."""

    path: Path
    compiled: bool


@dataclass(frozen=True, slots=True)
class PeerHome:
    python: Path
    version: str


def say(words: str) -> None:
    """Progress, to people."""
    print(f"bench: {words}", file=sys.stderr, flush=True)


def fake_cli() -> FakeCli:
    """Compile it, unless this very source was compiled before."""
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        say("no C compiler (cc, gcc, clang): the fake CLI runs on Python; figures of fast readers are then a lower bound")
        return FakeCli(_python_cli(), compiled=False)
    source = Path(__file__).with_name("fakecli.c")
    program = BUILD / f"fakecli-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if not program.exists():
        half = BUILD / f".half-{os.getpid()}"
        subprocess.run([compiler, "-O2", "-o", str(half), str(source)], check=True)
        half.replace(program)
    return FakeCli(program, compiled=True)


def _python_cli() -> Path:
    words = f"#!{sys.executable} -IS\n" + Path(__file__).with_name("fakecli.py").read_text()
    program = BUILD / f"fakecli-{hashlib.sha256(words.encode()).hexdigest()[:12]}.py"
    half = BUILD / f".half-{os.getpid()}"
    half.write_text(words)
    half.chmod(0o755)
    half.replace(program)
    return program


@contextmanager
def frozen_source() -> Iterator[Path]:
    """A copy of the library's source for one run: whoever edits meanwhile does not mix two versions in one table."""
    BUILD.mkdir(parents=True, exist_ok=True)
    copy = Path(tempfile.mkdtemp(prefix="src-", dir=BUILD))
    try:
        shutil.copytree(ROOT / "src", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def revision() -> str:
    """Which source that is: the commit, and whether it was changed since."""
    try:
        commit = _git("rev-parse", "--short", "HEAD")
        changed = _git("status", "--porcelain", "--", "src")
    except (OSError, subprocess.CalledProcessError):
        return "not under git"
    return f"{commit} with uncommitted changes" if changed else commit


def _git(*words: str) -> str:
    argv = ["git", "--no-optional-locks", "-C", str(ROOT), *words]
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()


def cache() -> Path:
    """Where the peer's venvs are, shared by clones."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ropewalk" / "bench"


def installed_peer() -> PeerHome | None:
    """The newest peer that is installed for this Python."""
    found = [PeerHome(home / "bin" / "python", home.name.split("-")[1]) for home in cache().glob(f"venv-*-{TAG}")]
    return max(found, key=lambda home: _order(home.version), default=None)


def newest_peer() -> PeerHome:
    """The newest on PyPI, installed if need be; the one that is installed when PyPI does not answer. Raises ``PeerMissing``."""
    cache().mkdir(parents=True, exist_ok=True)
    with _only_one():
        have = installed_peer()
        newest = _newest_version(have) if have else None
        if have and newest is None:
            say(f"PyPI did not answer; the peer is {PEER} {have.version}, which is installed")
        if have and (newest is None or _order(newest) <= _order(have.version)):
            return have
        return _install_peer()


def _install_peer() -> PeerHome:
    say(f"installing the newest {PEER} into {cache()} (once; its wheel is about 100 MB) …")
    half = cache() / f".half-{os.getpid()}"
    try:
        venv.create(half, with_pip=True, symlinks=True)
        _pip(half / "bin" / "python", "install", "--quiet", PEER)
        version = _version_in(half)
        home = cache() / f"venv-{version}-{TAG}"
        shutil.rmtree(home, ignore_errors=True)
        half.rename(home)
    except (subprocess.CalledProcessError, OSError) as error:
        raise PeerMissing(f"{PEER} could not be installed: {error}") from error
    finally:
        shutil.rmtree(half, ignore_errors=True)
    say(f"installed {PEER} {version}")
    return PeerHome(home / "bin" / "python", version)


def _version_in(home: Path) -> str:
    """Also frees the room of the CLI that the wheel brings (370 MB): every contender here runs the fake one."""
    for bundled in home.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude"):
        bundled.unlink()
    shown = _pip(home / "bin" / "python", "show", PEER)
    found = re.search(r"^Version: (\S+)", shown, re.MULTILINE)
    if found is None:
        raise PeerMissing(f"pip installed {PEER} and does not know its version")
    return found[1]


def _newest_version(have: PeerHome) -> str | None:
    try:
        found = re.search(rf"^{PEER} \((\S+)\)", _pip(have.python, "index", "versions", PEER), re.MULTILINE)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    return found[1] if found else None


def _pip(python: Path, *words: str) -> str:
    argv = [str(python), "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=600).stdout


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


@contextmanager
def _only_one() -> Iterator[None]:
    with (cache() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another bench is installing the peer; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
