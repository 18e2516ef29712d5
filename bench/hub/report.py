"""One run of the hub's bench from end to end: preparation, course, table, JSON file. Refuses to measure or judge by itself."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from bench import prepare
from bench.hub.course import FULL, QUICK, Course, Size
from bench.hub.table import crowding, rows
from bench.table import CROWDED, Row, printed

FILE = prepare.ROOT / "build" / "bench-hub.json"
HEAD = ("", "raw sockets", "beside it", "ropewalk", "ratio", "to reach", "verdict")


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found."""

    about: dict[str, Any]
    rows: list[Row]
    figures: dict[str, dict[str, list[dict[str, Any]]]]

    @property
    def reached(self) -> bool:
        """Every target was measured and reached."""
        return all(row.verdict in ("reached", "–") for row in self.rows)

    def text(self) -> str:
        about = self.about
        head = (
            f"Hub of ropewalk {about['source']} · Python {about['python']}, {about['cores']} cores, {about['seconds']:.0f} s\n"
            "Beside it: the limit prototype, or what the target names. Figures are medians of the rounds (least–greatest); "
            "ratios are medians of each round's own."
        )
        if about["crowding"] > CROWDED:
            head += f"\nThe machine was busy: the prototype took {about['crowding']:.2f}× its CPU time. Trust CPU figures."
        return f"{head}\n\n{printed(self.rows, HEAD)}"

    def save(self) -> Path:
        """Write everything to the JSON file; returns it."""
        FILE.parent.mkdir(parents=True, exist_ok=True)
        found = {"about": self.about, "rows": [dataclasses.asdict(row) for row in self.rows], "figures": self.figures}
        FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return FILE.relative_to(prepare.ROOT)


def full() -> Report:
    """The run that the table is made from."""
    return _run(FULL)


def quick() -> Report:
    """A small run that shows that it all works; its figures mean little."""
    return _run(QUICK)


def _run(size: Size) -> Report:
    began = perf_counter()
    source = prepare.revision()
    with prepare.frozen_source() as copy:
        course = Course(size, prepare.fake_cli(), copy)
        course.run()
    waited = crowding(course.figures)
    about = {
        "python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
        "source": source, "compiled": course.cli.compiled, "seconds": perf_counter() - began, "crowding": waited,
        "size": dataclasses.asdict(size),
    }  # fmt: skip
    return Report(about, rows(course.figures, waited), course.figures)
