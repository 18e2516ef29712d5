"""What went over the wire, noted before it happened. Refuses to edit: lines are only appended.

One JSON object a line: ``{"n": 7, "dir": "out", "at": 1731920000.123, "pid": 4711, "size": 85, "sha256": "…", "line": "…"}``.
``dir`` is ``in`` (noted before it is acted on) or ``out`` (noted before it is written). ``line`` holds the bytes as text; when
they are no UTF-8, ``base64`` holds them instead; over `KEPT_WHOLE` bytes neither is kept: ``size`` and ``sha256`` speak.
``n`` counts from 1 in each process; several processes may share a file (each entry is one write with O_APPEND).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

KEPT_WHOLE = 256 * 1024
"""Longest line that is kept verbatim: beyond it a proof compares size and hash, and the file stays small."""


@dataclass(frozen=True)
class Entry:
    """One line that went in or out. ``line`` is None when it was too long to keep."""

    n: int
    direction: str
    at: float
    pid: int
    size: int
    sha256: str
    line: bytes | None


class Ledger:
    """Appends entries; `note` returns after the entry is in the file."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._n = 0
        self._clock = clock

    def note(self, direction: str, line: bytes) -> None:
        self._n += 1
        entry: dict[str, object] = {"n": self._n, "dir": direction, "at": self._clock(), "pid": os.getpid()}
        entry |= {"size": len(line), "sha256": hashlib.sha256(line).hexdigest()}
        if len(line) <= KEPT_WHOLE:
            entry |= _verbatim(line)
        os.write(self._fd, json.dumps(entry).encode() + b"\n")


def read(path: str | Path) -> Iterator[Entry]:
    """The entries of a ledger in the order of the file. A last line that is still being written is left out."""
    with open(path, "rb") as file:
        for row in file:
            if row.endswith(b"\n"):
                yield _entry(json.loads(row))


def _verbatim(line: bytes) -> dict[str, object]:
    try:
        return {"line": line.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(line).decode()}


def _entry(row: dict[str, object]) -> Entry:
    line = None
    if "line" in row:
        line = str(row["line"]).encode()
    elif "base64" in row:
        line = base64.b64decode(str(row["base64"]))
    return Entry(
        int(str(row["n"])), str(row["dir"]), float(str(row["at"])), int(str(row["pid"])), int(str(row["size"])),
        str(row["sha256"]), line,
    )  # fmt: skip
