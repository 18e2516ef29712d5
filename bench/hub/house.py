"""The two hubs that are measured, each in a process of its own with a folder of its own. Refuses to leave anything behind.

``Limit`` is the prototype, ``Ours`` is ``ropewalk serve`` as people start it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

from bench.hub.ws import frame, upgrade
from bench.prepare import BUILD, ROOT
from bench.rounds import environment

PATIENCE = 60.0
TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """Seconds of user and system time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_of(pid: int, name: str = "VmRSS") -> int:
    """Resident bytes now; ``VmHWM``: at most so far."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{pid} has no {name}")


class Hub:
    """What all have: where they listen, which sessions they have, and ``others`` (pids of processes that work for them)."""

    name = ""
    path = "/"
    token = "x"
    marks: ClassVar[dict[str, str]] = {}
    """What is counted in a frame, and what is in the last one."""
    one_event_a_line = False

    def __init__(self, source: Path) -> None:
        self.source = source
        self.folder = Path(tempfile.mkdtemp(prefix="hub-", dir=BUILD))
        self.port, self.pid = 0, 0
        self.others: dict[str, int] = {}
        self.sessions: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def end(self) -> None:
        for pid in (*([self.pid] if self.process else ()), *self.others.values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if self.process is not None:
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
            self.process = None
        until = time.monotonic() + 15
        while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in self.others.values()):
            time.sleep(0.02)

    def prompt(self, session: str, text: str) -> None:
        raise TypeError(f"{self.name} has no sessions")

    def cpu(self) -> dict[str, float]:
        return {"hub": cpu_of(self.pid), **{name: cpu_of(pid) for name, pid in self.others.items()}}

    def _launch(self, words: list[str], more: dict[str, str] | None = None, stdin: int | None = None) -> dict[str, Any]:
        """Start it and read its first line."""
        self._log = (self.folder / "words.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, *words], cwd=ROOT, env={**environment(self.source), **(more or {})}, stdout=subprocess.PIPE,
            stderr=self._log, text=True, stdin=stdin,
        )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} did not start:\n{(self.folder / 'words.log').read_text()[-3000:]}")
        self.pid = self.process.pid
        said: dict[str, Any] = json.loads(line)
        return said


class Limit(Hub):
    name = "limit"
    marks: ClassVar[dict[str, str]] = {"count": '{"seq":', "until": "bench:end"}
    one_event_a_line = True

    def start(self, cli: Path, sessions: int) -> None:
        said = self._launch(["-m", "bench.hub.prototype", str(self.folder), str(sessions), str(cli)])
        self.port, self.sessions = said["port"], said["sessions"]

    def prompt(self, session: str, text: str) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as link:
            link.sendall(upgrade("127.0.0.1", "/", "x"))
            link.recv(4096)
            link.sendall(frame(json.dumps({"session": session, "prompt": text}).encode(), mask=True))


class Ours(Hub):
    name = "ours"
    path = "/api/v1/live"
    marks: ClassVar[dict[str, str]] = {"count": '"seq":', "until": '"kind":"turn_ended"'}

    def start(self, cli: Path, sessions: int = 0, **settings: Any) -> None:
        """Serving, with so many sessions awake."""
        home = self.folder / "home"
        home.mkdir(mode=0o700, exist_ok=True)
        told = {"cli": str(cli), "max_turns": 1000, "idle_after": 0.0, **settings}
        (home / "config.toml").write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in told.items()))
        said = self._launch(["-m", "ropewalk", "serve", "--port", "0", "--json"], {"ROPEWALK_HOME": str(home)})
        self.port = int(said["url"].rpartition(":")[2])
        self.token = (home / "token").read_text().strip()
        self._to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.others = {"runner": self.ask("GET", "/runners")["items"][0]["pid"]}
        self.sessions = [self.ask("POST", "/sessions", {"cwd": str(self.folder)})["id"] for _ in range(sessions)]
        for session in self.sessions:
            self.ask("POST", f"/sessions/{session}/wake", {})
        self.wait_for("idle", self.sessions)

    def ask(self, method: str, path: str, body: Any = None, to: http.client.HTTPConnection | None = None) -> Any:
        """``to``: over this connection instead of the one for all."""
        told, to = json.dumps(body).encode() if body is not None else None, to or self._to
        head = {"Authorization": f"Bearer {self.token}", **({"Content-Type": "application/json"} if told else {})}
        to.request(method, f"/api/v1{path}", told, head)
        answer = to.getresponse()
        heard = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {heard[:500]!r}")
        return json.loads(heard) if heard else None

    def wait_for(self, status: str, sessions: list[str]) -> None:
        until = time.monotonic() + PATIENCE
        left = list(sessions)
        while left:
            if self.ask("GET", f"/sessions/{left[0]}")["session"]["status"] == status:
                left.pop(0)
            elif time.monotonic() > until:
                raise RuntimeError(f"{left[0]} is not {status} after {PATIENCE:.0f} s")
            else:
                time.sleep(0.02)

    def prompt(self, session: str, text: str) -> None:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as to:
            self.ask("POST", f"/sessions/{session}/prompts", {"text": text}, to)

    def end(self) -> None:
        if self.process is not None:
            self._to.close()
        super().end()


class Bare(Hub):
    """Sockets with nothing behind them: ``sockets`` or ``uvicorn``."""

    name = "bare"

    def __init__(self, source: Path, kind: str) -> None:
        super().__init__(source)
        self.port = self._launch(["-m", "bench.hub.raw", kind], stdin=subprocess.PIPE)["port"]

    def send(self, count: int, size: int, every: float) -> float:
        """CPU seconds for so many frames of this size to every socket."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"count": count, "bytes": size, "every": every}) + "\n")
        self.process.stdin.flush()
        return float(json.loads(self.process.stdout.readline())["cpu"])


class Listeners:
    """The process that listens."""

    def __init__(self, hub: Hub, sessions: list[str], **given: Any) -> None:
        told = {"port": hub.port, "path": hub.path, "token": hub.token, "sessions": sessions, **hub.marks, **given}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.hub.listener", json.dumps(told)], cwd=ROOT, env=environment(hub.source), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the listeners ended")
        said: dict[str, Any] = json.loads(line)
        return said

    def heard(self, *, now: bool = False) -> dict[str, Any]:
        """What they heard when all have heard the end; or ``now``."""
        if now:
            assert self._process.stdin is not None
            self._process.stdin.write("now\n")
            self._process.stdin.flush()
        figures = self._read()
        self._process.wait(10)
        return figures

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def listening(hub: Hub, sessions: list[str], **given: Any) -> Iterator[Listeners]:
    listeners = Listeners(hub, sessions, **given)
    try:
        yield listeners
    finally:
        listeners.kill()
