"""One run from end to end: preparation, course, table, JSON file. Refuses to measure or judge by itself."""

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
from bench.rounds import FULL, QUICK, Course, Size, contenders
from bench.table import CROWDED, Row, crowding, printed, rows

FILE = prepare.ROOT / "build" / "bench.json"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found."""

    about: dict[str, Any]
    rows: list[Row]
    figures: dict[str, dict[str, list[dict[str, Any]]]]

    @property
    def reached(self) -> bool:
        """Every target that could be measured was reached, and every one could be."""
        return all(row.verdict in ("reached", "–") for row in self.rows)

    def text(self) -> str:
        about = self.about
        head = (
            f"ropewalk {about['source']} · Python {about['python']} on {about['cores']} cores · "
            f"peer claude-agent-sdk {about['peer'] or 'not installed'} · "
            f"fake CLI {'compiled' if about['compiled'] else 'on Python, for want of a C compiler: fast readers wait for it'} · "
            f"{about['seconds']:.0f} s\n"
            "Figures are medians of the rounds (least–greatest); ratios are medians of each round's own."
        )
        if about["crowding"] > CROWDED:
            head += (
                f"\nThe machine was busy: readers waited for a core ({about['crowding']:.2f}× their CPU time). Trust CPU figures."
            )
        return f"{head}\n\n{printed(self.rows)}"

    def save(self) -> Path:
        """Write everything to the JSON file; returns it."""
        FILE.parent.mkdir(parents=True, exist_ok=True)
        found = {"about": self.about, "rows": [dataclasses.asdict(row) for row in self.rows], "figures": self.figures}
        FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return FILE.relative_to(prepare.ROOT)


def full() -> Report:
    """The run that the table is made from: the newest peer, all rounds."""
    return _run(FULL, prepare.newest_peer())


def quick() -> Report:
    """A small run with the peer that is installed; the newest is fetched only when there is none."""
    return _run(QUICK, prepare.installed_peer() or prepare.newest_peer())


def smoke() -> Report:
    """For tests: the small run, without fetching anything. Without a peer on this machine its columns stay empty."""
    return _run(QUICK, prepare.installed_peer())


def _run(size: Size, peer: prepare.PeerHome | None) -> Report:
    began = perf_counter()
    source = prepare.revision()
    with prepare.frozen_source() as copy:
        course = Course(size, prepare.fake_cli(), copy, contenders(peer))
        course.run()
    about = {
        "python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
        "peer": peer.version if peer else None, "compiled": course.cli.compiled, "seconds": perf_counter() - began,
        "crowding": crowding(course.figures), "source": source, "size": dataclasses.asdict(size),
    }  # fmt: skip
    return Report(about, rows(course.figures), course.figures)
