"""The CLIs' own ledger, sorted by process: what each said, line by line, and what it was told. Reads on where it stopped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

STARTED = re.compile(rb"started (\S+) \(pid (\d+)\)")
STREAM = b'{"type":"stream_event"'


class Said(NamedTuple):
    size: int
    sha256: str
    at: float
    stream: bool

    def is_(self, raw: bytes) -> bool:
        return len(raw) == self.size and hashlib.sha256(raw).hexdigest() == self.sha256


@dataclass
class Cli:
    """One process: ``said[0]`` is its line 1. ``heard``: what came in, as objects."""

    pid: int
    process: str = ""
    said: list[Said] = field(default_factory=list)
    heard: list[dict[str, Any]] = field(default_factory=list)
    heard_at: list[float] = field(default_factory=list)


class Noted:
    """``clis`` in the order of their first line."""

    def __init__(self, ledger: Path, runner_log: Path) -> None:
        self._ledger, self._log = ledger, runner_log
        self._at = 0
        self._log_at = 0
        self._now: dict[int, Cli] = {}
        self._births: dict[int, list[str]] = {}
        self.clis: list[Cli] = []
        self.torn = 0

    def read(self) -> list[Cli]:
        if self._ledger.exists():
            with open(self._ledger, "rb") as file:
                file.seek(self._at)
                for row in file:
                    if not row.endswith(b"\n"):
                        break
                    self._at += len(row)
                    self._take(row)
        self._name()
        return self.clis

    def _take(self, row: bytes) -> None:
        try:
            entry = json.loads(row)
        except ValueError:  # killed in the midst of its own note: the next writer's note stands behind it
            self.torn += 1
            return
        pid, line = entry["pid"], _line(entry)
        if entry["n"] == 1:
            self._now[pid] = Cli(pid)
            self.clis.append(self._now[pid])
        cli = self._now[pid]
        if entry["dir"] == "out":
            stream = line is not None and line.startswith(STREAM)
            cli.said.append(Said(entry["size"], entry["sha256"], entry["at"], stream))
        else:
            cli.heard.append({"sha256": entry["sha256"]} if line is None else _object(line))
            cli.heard_at.append(entry["at"])

    def _name(self) -> None:
        """Which of the hub's processes each was: the runner's log says whom it started, in order."""
        if not self._log.exists():
            return
        with open(self._log, "rb") as file:
            file.seek(self._log_at)
            for row in file:
                if not row.endswith(b"\n"):
                    break
                self._log_at += len(row)
                if found := STARTED.search(row):
                    self._births.setdefault(int(found[2]), []).append(found[1].decode())
        for cli in self.clis:
            if not cli.process and (names := self._births.get(cli.pid)):
                cli.process = names.pop(0)


def _line(entry: dict[str, Any]) -> bytes | None:
    """None when it was too long to be noted whole."""
    if "line" in entry:
        return str(entry["line"]).encode()
    return base64.b64decode(entry["base64"]) if "base64" in entry else None


def _object(line: bytes | None) -> dict[str, Any]:
    try:
        found = json.loads(line or b"{}")
    except ValueError:
        return {"bad": repr(line)}
    return found if isinstance(found, dict) else {"bad": repr(line)}
