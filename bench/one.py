"""One measure of one contender in a process of its own: ``python -m bench.one CONTENDER MEASURE {json}`` prints one JSON line.

Refuses to compare: it knows only what happened here. CPU is user + system of this process, the fake CLI's not counted.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.contenders import Contender, Seen, create

Given = dict[str, Any]
Figures = dict[str, Any]

SILENCE = "nothing more comes"
WARM = 100
"""Round trips that are left out of the quantiles: the first ones pay for imports and caches."""


def cpu() -> float:
    """Seconds of user and system time of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_bytes() -> int:
    """Peak resident memory since exec. Not ru_maxrss where it can be helped: Linux carries the launcher's peak over into that."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def resident_bytes() -> int:
    """Resident memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def read(contender: Contender, given: Given) -> Figures:
    """Lines through the pipe into the consumer's hands."""
    await contender.start(given["cli"], lazy=given.get("lazy", False))
    wall, used = time.perf_counter(), cpu()
    await contender.prompt(f"bench:stream {given['corpus']} {given['lines']}")
    count = await contender.drain()
    wall, used = time.perf_counter() - wall, cpu() - used
    await contender.close()
    if count <= given["lines"]:
        raise RuntimeError(f"{count} messages from {given['lines']} lines and a result")
    return {"messages": given["lines"] + 1, "wall": wall, "cpu": used, "peak": peak_bytes()}


async def check(contender: Contender, given: Given) -> Figures:
    """What a consumer can read off: kinds counted, characters summed. Not timed."""
    seen: list[Seen] = []
    await contender.start(given["cli"], lazy=given.get("lazy", False))
    await contender.prompt(f"bench:stream {given['corpus']} {given['lines']}")
    await contender.collect(seen)
    await contender.close()
    kinds = {kind: sum(1 for one in seen if one.kind == kind) for kind in sorted({one.kind for one in seen})}
    return {"messages": len(seen), "chars": sum(one.chars for one in seen), "kinds": kinds}


async def ask(contender: Contender, given: Given) -> Figures:
    """Permission questions in a row: from one call of the callback to the next is one whole round trip."""
    times: list[int] = []
    clock = time.perf_counter_ns
    await contender.start(given["cli"], on_question=lambda: times.append(clock()))
    used = cpu()
    await contender.prompt(f"bench:ask {given['questions']}")
    await contender.drain()
    used = cpu() - used
    await contender.close()
    trips = sorted((later - earlier) / 1000 for earlier, later in pairwise(times[WARM:]))
    p50, p99 = trips[len(trips) // 2], trips[len(trips) * 99 // 100]
    return {"p50": p50, "p99": p99, "cpu": used / given["questions"] * 1e6, "trips": len(trips)}


async def interrupt(contender: Contender, given: Given) -> Figures:
    """With so many messages arrived and none read by the consumer: how long until an interrupt is answered."""
    await contender.start(given["cli"])
    await contender.prompt(f"bench:stream {given['corpus']} {given['unread']}")
    await asyncio.sleep(given["settle"])
    times = []
    try:
        for _ in range(given["repeat"]):
            began = time.perf_counter()
            await asyncio.wait_for(contender.interrupt(), given["patience"])
            times.append((time.perf_counter() - began) * 1e6)
    except TimeoutError:
        return {"us": None}
    read = await asyncio.wait_for(contender.drain(), 60)
    await contender.close()
    return {"us": sorted(times)[len(times) // 2], "first": times[0], "messages": read}


async def idle(contender: Contender, given: Given) -> Figures:
    """Resident memory that each further idle client adds, its CLI process not counted."""
    del contender
    held = [await _idle_client(given) for _ in range(given["warm"])]
    gc.collect()
    before = resident_bytes()
    held += [await _idle_client(given) for _ in range(given["clients"])]
    gc.collect()
    grown = resident_bytes() - before
    await asyncio.gather(*(client.close() for client in held))
    return {"bytes": grown / given["clients"]}


async def _idle_client(given: Given) -> Contender:
    client = create(given["contender"])
    await client.start(given["cli"])
    return client


async def hard(contender: Contender, given: Given) -> Figures:
    """A plain line, a hard one, a plain one: what reached the consumer, and how it ended."""
    seen: list[Seen] = []
    await contender.start(given["cli"])
    await contender.prompt(f"bench:stream {given['corpus']} {given['lines']}")
    error = await _try_to_collect(contender, seen, given["patience"])
    end = "dies" if error and await _try_to_collect(contender, seen, 2) else "lives"
    return {"end": end, "error": error, "seen": [[one.kind, one.chars, one.blocks] for one in seen]}


async def _try_to_collect(contender: Contender, seen: list[Seen], patience: float) -> str:
    """Read to the end of the stream; the name of what was raised instead, if anything was."""
    had = len(seen)
    try:
        await asyncio.wait_for(contender.collect(seen), patience)
    except TimeoutError:
        return SILENCE
    except Exception as error:  # noqa: BLE001 what a contender raises is the finding
        return type(error).__name__
    return "" if len(seen) > had else SILENCE


MEASURES: dict[str, Callable[[Contender, Given], Awaitable[Figures]]] = {
    "read": read, "check": check, "ask": ask, "interrupt": interrupt, "idle": idle, "hard": hard,
}  # fmt: skip


def main() -> None:
    name, measure, given = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    if "core" in given:
        os.sched_setaffinity(0, {given["core"]})

    async def run() -> Figures:
        return await MEASURES[measure](create(name), {**given, "contender": name})

    sys.stdout.write(json.dumps(asyncio.run(run())) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a contender that hangs in its own clean-up has been measured all the same; the CLI ends with its stdin


if __name__ == "__main__":
    main()
