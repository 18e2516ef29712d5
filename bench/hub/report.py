"""One run of the hub's bench from end to end: preparation, course, table. Refuses to measure or judge by itself."""

from __future__ import annotations

import dataclasses
from time import perf_counter
from typing import Any

from bench import prepare
from bench.hub.course import FULL, QUICK, Course, Size
from bench.hub.table import crowding, rows
from bench.report import Report, machine
from bench.table import CROWDED

COLUMNS = ("", "raw sockets", "beside it", "ropewalk", "ratio", "to reach", "verdict")


def full(only: str = "", rounds: int = 0) -> Report:
    """The run that the table is made from."""
    return _run(dataclasses.replace(FULL, rounds=rounds or FULL.rounds), only)


def quick(only: str = "", rounds: int = 0) -> Report:
    """A small run that shows that it all works; its figures mean little."""
    return _run(dataclasses.replace(QUICK, rounds=rounds or QUICK.rounds), only)


def _run(size: Size, only: str) -> Report:
    began = perf_counter()
    source = prepare.revision()
    with prepare.frozen_source() as copy:
        course = Course(size, prepare.fake_cli(), copy, only)
        course.run()
    waited = crowding(course.figures)
    about = {
        **machine(), "source": source, "compiled": course.cli.compiled, "seconds": perf_counter() - began,
        "crowding": waited, "size": dataclasses.asdict(size),
    }  # fmt: skip
    found = [row for row in rows(course.figures, waited) if not only or row.verdict != "not measured"]
    return Report("bench-hub", about, _words(about), found, course.figures, COLUMNS)


def _words(about: dict[str, Any]) -> str:
    head = (
        f"Hub of ropewalk {about['source']} · Python {about['python']}, {about['cores']} cores, {about['seconds']:.0f} s\n"
        "Beside it: the limit prototype, or what the target names. Figures are medians of the rounds (least–greatest); "
        "ratios are medians of each round's own."
    )
    if about["crowding"] > CROWDED:
        head += f"\nThe machine was busy: the prototype took {about['crowding']:.2f}× its CPU time. Trust CPU figures."
    return head
