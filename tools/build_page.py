"""Builds web/ into the package with the locked tools of npm. Refuses install scripts, and a half build where a whole one stood.

``python tools/build_page.py`` is quick when nothing changed; ``… test`` runs the page's own tests, ``… dev`` serves it with hot
reload on port 5173 in front of a hub (ROPEWALK_HUB, or http://127.0.0.1:7077).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
BUILT = ROOT / "src" / "ropewalk" / "servers" / "web" / "built"
STAMP = BUILT / ".made-of"
SKIPPED = {"node_modules", "tests"}


def main(arguments: list[str]) -> int:
    what = arguments[0] if arguments else "build"
    with alone():
        try:
            install()
            if what == "build":
                build()
        except CannotBuild as why:
            print(f"page: {why}", file=sys.stderr)
            return 1
    if what == "test":
        return tested()
    return tool("vite/bin/vite.js") if what == "dev" else 0


class CannotBuild(Exception):
    """What is missing and how to get it."""


@contextmanager
def alone() -> Iterator[None]:
    """One at a time in this tree; a second one waits, then finds it done."""
    with (WEB / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install() -> None:
    stamp, wanted = WEB / "node_modules" / ".lock-of", digest([WEB / "package-lock.json"])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise CannotBuild("npm is not here: install Node 20.19 or newer, or run `python tools/set_up.py node`")
    print("page: installing its tools from web/package-lock.json", flush=True)
    done = subprocess.run([npm, "ci", "--ignore-scripts", "--loglevel=error"], cwd=WEB, capture_output=True, text=True)
    if done.returncode:
        raise CannotBuild(f"`npm ci` failed in web/:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    stamp.write_text(wanted)


def build() -> None:
    wanted = digest(sources())
    if STAMP.exists() and STAMP.read_text() == wanted:
        return
    workshop = BUILT.with_name("built.half")
    shutil.rmtree(workshop, ignore_errors=True)
    print("page: building", flush=True)
    done = subprocess.run(
        [node(), WEB / "node_modules/vite/bin/vite.js", "build", "--logLevel=error"], cwd=WEB, capture_output=True, text=True,
        env={**os.environ, "ROPEWALK_PAGE": str(workshop)},
    )  # fmt: skip
    if done.returncode or not (workshop / "index.html").exists():
        raise CannotBuild(f"vite failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    (workshop / STAMP.name).write_text(wanted)
    shutil.rmtree(BUILT, ignore_errors=True)
    workshop.rename(BUILT)


def tested() -> int:
    return tool("svelte-check/bin/svelte-check", "--fail-on-warnings", "--output", "human") or tool("vitest/vitest.mjs", "run")


def tool(script: str, *words: str) -> int:
    return subprocess.run([node(), WEB / "node_modules" / script, *words], cwd=WEB).returncode


def node() -> str:
    found = shutil.which("node")
    if found is None:
        raise CannotBuild("node is not here: install Node 20.19 or newer, or run `python tools/set_up.py node`")
    return found


def sources() -> list[Path]:
    return sorted(
        path for path in WEB.rglob("*")
        if path.is_file() and path.name != ".lock" and not SKIPPED & set(path.relative_to(WEB).parts)
    )  # fmt: skip


def digest(files: list[Path]) -> str:
    told = hashlib.sha256()
    for path in files:
        told.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return told.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
