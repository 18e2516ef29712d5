"""One proof in a process of its own: what it counts is told as it goes; what breaks it is a failure, not the end of the run.

Refuses to outlive who started it: when its input ends, it ends its house and goes.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

from .house import ROOT
from .proof import Order, Proof
from .tally import Tally

TALLY = "tally "
ENDING = 60.0
"""Seconds that a lane has to end its house."""


async def in_lane(proof: Proof, order: Order, counted: Callable[[Tally], None]) -> None:
    """``counted`` is called after each blow, with all that this lane counted so far. A lane that breaks fails its next blow."""
    words = [sys.executable, "-m", "prove.lane", proof.name, str(order.seed), str(order.first), str(order.count)]
    words += ["full" if order.full else "plain", "keep" if order.keep else ""]
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    child = await asyncio.create_subprocess_exec(
        *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environ, start_new_session=True, limit=1 << 28
    )
    assert child.stdout is not None
    last = Tally()
    try:
        async for row in child.stdout:
            line = row.decode().rstrip("\n")
            if line.startswith(TALLY):
                last = Tally.from_object(json.loads(line.removeprefix(TALLY)))
                counted(last)
            else:
                order.say(line)
        code = await child.wait()
    except asyncio.CancelledError:
        await _end(child)
        raise
    if code:
        last.fail("I12", f"the rig broke off with {code}", order.name(order.first + last.struck))
        last.blows += 1
        counted(last)


async def _end(child: asyncio.subprocess.Process) -> None:
    """It is asked once: a second time would cut its cleaning short."""
    if child.returncode is None:
        child.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(ENDING):
                await child.communicate()
        except TimeoutError:
            child.kill()
            await child.wait()


async def work(proof: Proof, order: Order) -> None:
    """All of the order; an error of the rig costs one blow and is told with its place. Proofs count a blow when it is judged."""
    tally, first, count = order.tally, order.first, order.count
    while tally.struck < count:
        order.first, order.count = first + tally.struck, count - tally.struck
        before = tally.struck
        try:
            await proof.run(order)
        except Exception as error:  # noqa: BLE001 - whatever keeps a blow from being struck and judged is a failure of it
            place = "".join(traceback.format_tb(error.__traceback__)[-2:])
            tally.fail("I12", f"the rig failed: {error!r} {place}", order.name(first + tally.struck))
            tally.blows += 1
        order.saved()
        if tally.struck == before:
            raise RuntimeError(f"{proof.name} struck nothing")


def main() -> int:
    from .proofs import ALL  # noqa: PLC0415 - proofs with disks of their own import their way in from here

    name, seed, first, count, size, keep = sys.argv[1:7]
    proof = next(proof for proof in ALL if proof.name == name)
    tally = Tally()

    def saved() -> None:
        _say(TALLY + json.dumps(tally.as_object()))

    order = Order(int(seed), int(first), int(count), tally, saved, _say, keep=bool(keep), full=size == "full")
    threading.Thread(target=_watch, daemon=True).start()
    try:
        asyncio.run(heeding_signals(work(proof, order)))
    except asyncio.CancelledError:
        return 130
    return 0


async def heeding_signals(coroutine: Coroutine[Any, Any, None]) -> None:
    """INT and TERM cancel it, also where a shell had INT ignored. Raises ``CancelledError`` then."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await coroutine


def _watch() -> None:
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _say(words: str) -> None:
    print(words, flush=True)


if __name__ == "__main__":
    sys.exit(main())
