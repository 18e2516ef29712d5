"""Runs a proof inside a mount namespace of its own, where a small disk can be mounted and nobody else sees it.

Refuses to pretend: where the system allows no such namespace the proof is not counted, and says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

from .house import ROOT
from .proof import Order
from .tally import Tally

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def possible() -> bool:
    try:
        return subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


async def inside(order: Order, name: str) -> None:
    """The same order, in a process of its own; its tally is added to ours."""
    if not possible():
        order.say(f"    {name} is left out: this system lets us mount nothing, not even in a namespace of our own")
        order.tally.counts["left out"] += order.count
        return
    words = [*UNSHARE, sys.executable, "-m", "prove.inside", name, str(order.seed), str(order.first), str(order.count)]
    words += ["full" if order.full else "plain", "keep" if order.keep else ""]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    child = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, cwd=ROOT, env=environ)
    try:
        said, _ = await child.communicate()
    except asyncio.CancelledError:
        child.send_signal(signal.SIGTERM)
        await child.wait()
        raise
    lines = said.decode().splitlines()
    if child.returncode or not lines:
        raise RuntimeError(f"the proof {name} ended with {child.returncode}")
    for line in lines[:-1]:
        order.say(line)
    order.tally.merge(Tally.from_object(json.loads(lines[-1])))
    order.saved()


def mount(folder: Path, size: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(folder)], check=True)


def bind(what: Path, where: Path) -> None:
    what.mkdir(mode=0o700, parents=True, exist_ok=True)
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    subprocess.run(["mount", "--bind", str(what), str(where)], check=True)


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True)


def main() -> None:
    from .lane import heeding_signals  # noqa: PLC0415 - as below
    from .proofs import INSIDE  # noqa: PLC0415 - the proofs themselves import this module

    name, seed, first, count, size, keep = sys.argv[1:7]
    tally = Tally()
    work: Callable[[Order], Coroutine[None, None, None]] = INSIDE[name]
    order = Order(int(seed), int(first), int(count), tally, lambda: None, _say, keep=bool(keep), full=size == "full")
    asyncio.run(heeding_signals(work(order)))
    _say(json.dumps(tally.as_object()))


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    main()
