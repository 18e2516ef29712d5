"""Each measure of the hub, once, on one contender. Refuses to compare: it returns what happened.

CPU is user + system of the hub's process, its runner's beside it; the CLIs and the listeners are not counted.
"""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench.hub.house import Bare, Hub, Limit, Ours, listening, memory_of
from bench.prepare import BUILD, ROOT, say
from bench.rounds import environment

Figures = dict[str, Any]
CONTENDERS: dict[str, type[Limit] | type[Ours]] = {"limit": Limit, "ours": Ours}

QUESTIONS = 1000
EVERY = 0.03
"""Seconds of one gathering of live pieces: the pace of the raw frames."""


def allow_many_sockets() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 16_384) if most > 0 else 16_384, most))


def opened(contender: str, source: Path, cli: Path, sessions: int) -> Hub:
    hub = CONTENDERS[contender](source)
    try:
        hub.start(cli, sessions)
    except BaseException:
        hub.__exit__()
        raise
    return hub


def flow(hub: Hub, order: str, lines: int) -> Figures:
    """All sessions at full speed, one listener each, until every listener has heard the end of its turn."""
    with listening(hub, hub.sessions) as ears:
        before, began = hub.cpu(), time.monotonic()
        _prompt_all(hub, order)
        heard = ears.heard()
        used = hub.cpu()
    seconds, total = heard["first"] / 1e9 + heard["seconds"] - began, lines * len(hub.sessions)
    cpu = {name: (used[name] - before[name]) / total * 1e6 for name in used}
    if heard["events"] < (total if hub.one_event_a_line else 1):
        raise RuntimeError(f"{hub.name}: {heard['events']} events were heard of {total} lines")
    return {
        "lines": total / seconds,
        "events": heard["events"] / seconds,
        "heard": heard["events"],
        "cpu": cpu,
        "seconds": seconds,
    }


def _prompt_all(hub: Hub, order: str) -> None:
    """All at once: a prompt is answered when it is stored, and one after the other they would pace the flood that they begin."""
    with ThreadPoolExecutor(len(hub.sessions)) as people:
        list(people.map(lambda session: hub.prompt(session, order), hub.sessions))


def latency(hub: Hub, rate: int, seconds: float) -> Figures:
    """From the moment at which the CLI writes a line to that at which a listener has read it, in milliseconds."""
    with listening(hub, hub.sessions, timed=True) as ears:
        _prompt_all(hub, f"bench:pace {rate} {int(rate * seconds)} text")
        heard = ears.heard()
    wanted = int(rate * seconds) * len(hub.sessions)
    if heard["timed"] != wanted:
        raise RuntimeError(f"{hub.name}: {heard['timed']} of {wanted} timed lines came")
    return {name: heard[name] for name in ("p50", "p90", "p99")}


def fan_out(source: Path, cli: Path, listeners: int, rate: int, seconds: float) -> dict[str, Figures]:
    """Pieces of one block to many listeners, gathered; beside it the same frames from a process that does nothing else."""
    with opened("ours", source, cli, 1) as hub, listening(hub, hub.sessions * listeners, count="at=") as ears:
        before = hub.cpu()
        hub.prompt(hub.sessions[0], f"bench:pace {rate} {int(rate * seconds)} delta")
        heard = ears.heard()
        used = hub.cpu()["hub"] - before["hub"]
    pieces, told = heard["events"], int(rate * seconds) * listeners
    if pieces != told:
        say(f"fan-out: {pieces} of {told} pieces were heard live (the rest came with the finished block)")
    size, frames = heard["bytes"] // heard["frames"], heard["frames"] // listeners
    with Bare(source, "sockets") as bare, listening(bare, ["x"] * listeners, count="done"):
        raw = bare.send(frames, size, EVERY)
    ours = {"us": used / pieces * 1e6, "pieces a frame": pieces / heard["frames"], "bytes a frame": size}
    return {"ours": ours, "raw": {"us": raw / pieces * 1e6}}


def per_listener(source: Path, cli: Path, kind: str, listeners: int) -> Figures:
    """Resident memory that each further listener adds."""
    with opened("ours", source, cli, 1) if kind == "ours" else Bare(source, kind) as hub:
        session = hub.sessions[0] if hub.sessions else "x"
        with listening(hub, [session] * (listeners // 10)):
            before = memory_of(hub.pid)
            with listening(hub, [session] * listeners):
                time.sleep(0.5)
                return {"bytes": (memory_of(hub.pid) - before) / listeners}


def filled(source: Path, sessions: int, events: int) -> Path:
    """The home of a hub with so many sleeping sessions; made once for each schema of the store."""
    parts = [Path(__file__).with_name("fill.py"), *sorted((source / "ropewalk" / "store" / "schema").glob("*.sql"))]
    name = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:12]
    home = BUILD / f"asleep-{sessions}-{events}-{name}"
    if not (home / "ropewalk.db").exists():
        say(f"making {sessions:,} sleeping sessions with {events:,} events, once (about a minute) …")
        for old in BUILD.glob(f"asleep-{sessions}-{events}-*"):
            shutil.rmtree(old)
        half = Path(tempfile.mkdtemp(prefix="half-", dir=BUILD))
        words = [sys.executable, "-m", "bench.hub.fill", str(half), str(sessions), str(events)]
        subprocess.run(words, cwd=ROOT, env=environment(source), check=True, timeout=900)
        half.rename(home)
    return home


def asleep(source: Path, cli: Path, sessions: int, events: int, corpus: Path) -> Figures:
    """Memory and answers of a hub with a long past; then it is killed in the midst of a flood and started again."""
    with Ours(source) as hub:
        shutil.copytree(filled(source, sessions, events), hub.folder / "home")
        os.chmod(hub.folder / "home", 0o700)
        words = [sys.executable, "-m", "bench.hub.asked", str(hub.folder / "home"), str(QUESTIONS)]
        subprocess.run(words, cwd=ROOT, env=environment(source), check=True, timeout=60)
        hub.start(cli)
        found: Figures = {"rss at start": memory_of(hub.pid)}
        found["list 100"], found["list 1000"] = (
            _list_times(hub, "/sessions?limit=100", 100),
            _list_times(hub, "/sessions?limit=1000", 1000),
        )
        found["questions"] = _list_times(hub, "/questions", QUESTIONS)
        found["rss"] = memory_of(hub.pid)
        found["runner rss"] = memory_of(hub.others["runner"])
        _flood(hub, corpus)
        assert hub.process is not None
        os.kill(hub.pid, signal.SIGKILL)
        hub.process.wait()
        began = time.monotonic()
        hub.start(cli)
        hub.ask("GET", "/sessions?limit=100")
        found["start"] = time.monotonic() - began
        found["rss after"] = memory_of(hub.pid)
        return found


def _list_times(hub: Ours, path: str, wanted: int) -> Figures:
    """Milliseconds of twenty answers, after one that warms up."""
    times = []
    for _ in range(21):
        began = time.perf_counter()
        page = hub.ask("GET", path)
        times.append((time.perf_counter() - began) * 1000)
        if len(page["items"]) < wanted:
            raise RuntimeError(f"{len(page['items'])} of {wanted} were listed: {path}")
    rest = sorted(times[1:])
    return {"first": times[0], "p50": rest[len(rest) // 2], "most": rest[-1]}


def _flood(hub: Ours, corpus: Path) -> None:
    """Lines on their way into the store."""
    session = hub.ask("POST", "/sessions", {"cwd": str(hub.folder)})["id"]
    hub.prompt(session, f"bench:stream {corpus} 1000000")
    until = time.monotonic() + 30
    while hub.ask("GET", f"/sessions/{session}")["last_seq"] < 1000:
        if time.monotonic() > until:
            raise RuntimeError("the flood does not come")
        time.sleep(0.05)
