"""Reads the recorded lines of tests/lines. Refuses to mend them: what was cut stays cut, and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

LINES = Path(__file__).parent.parent / "lines"
VERSIONS = ("2.1.37", "2.1.62", "2.1.326")
"""The versions that were recorded in full."""


@dataclass(frozen=True, slots=True)
class Record:
    t: float
    dir: str
    line: str

    @property
    def raw(self) -> bytes:
        return self.line.encode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Process:
    """What one CLI process said and heard, in order, with the remarks between."""

    name: str
    records: list[Record] = field(default_factory=list)

    @property
    def wire(self) -> list[tuple[Literal["in", "out"], bytes]]:
        """The lines of both directions, without newlines."""
        return [("in" if one.dir == "in" else "out", one.raw) for one in self.records if one.dir in ("in", "out")]

    @property
    def out(self) -> list[bytes]:
        return [one.raw for one in self.records if one.dir == "out"]

    @property
    def stream(self) -> bytes:
        """Everything that it wrote, as bytes on a pipe."""
        return b"".join(line + b"\n" for line in self.out)

    @property
    def said(self) -> list[dict[str, Any]]:
        """The CLI's lines, parsed."""
        return [json.loads(one.line) for one in self.records if one.dir == "out"]


@cache
def names() -> tuple[str, ...]:
    """Every capture as ``version/transport/scenario``."""
    return tuple(sorted(path.relative_to(LINES).as_posix().removesuffix(".jsonl") for path in LINES.rglob("*.jsonl")))


@cache
def processes(name: str) -> tuple[Process, ...]:
    """The processes of one capture. Lines before the first ``start`` belong to it; two that run at once can't be told apart."""
    found: list[Process] = []
    for text in (LINES / f"{name}.jsonl").read_text("utf-8").splitlines():
        record = Record(**json.loads(text))
        if not found or (record.dir == "note" and "start" in json.loads(record.line)):
            found.append(Process(f"{name}#{len(found) + 1}"))
        found[-1].records.append(record)
    return tuple(found)


def process(name: str, number: int = 0) -> Process:
    return processes(name)[number]


@cache
def every_process() -> tuple[Process, ...]:
    return tuple(one for name in names() for one in processes(name))


@cache
def every_line() -> tuple[tuple[str, bytes], ...]:
    """Each line that a CLI wrote, with the capture that it is from."""
    return tuple((one.name, line) for one in every_process() for line in one.out)


def samples(kind: str, subtype: str | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Recorded lines of one type (and subtype), parsed, with the capture that they are from."""
    for name, line in every_line():
        found = json.loads(line)
        if found.get("type") == kind and (subtype is None or found.get("subtype") == subtype):
            yield name, found


def on_all(scenario: str, transport: str = "stdio") -> list[str]:
    """The names of one scenario on every version that has it."""
    return [name for version in VERSIONS if (name := f"{version}/{transport}/{scenario}") in names()]
