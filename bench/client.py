"""One run of the library beside its peer, from end to end. Refuses to measure or judge by itself."""

from __future__ import annotations

import dataclasses
from time import perf_counter
from typing import Any

from bench import prepare
from bench.report import Report, machine
from bench.rounds import FULL, QUICK, Course, Size, contenders
from bench.table import CROWDED, crowding, rows


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
        **machine(), "peer": peer.version if peer else None, "compiled": course.cli.compiled,
        "seconds": perf_counter() - began, "crowding": crowding(course.figures), "source": source,
        "size": dataclasses.asdict(size),
    }  # fmt: skip
    return Report("bench", about, _words(about), rows(course.figures), course.figures)


def _words(about: dict[str, Any]) -> str:
    head = (
        f"ropewalk {about['source']} · Python {about['python']} on {about['cores']} cores · "
        f"peer claude-agent-sdk {about['peer'] or 'not installed'} · "
        f"fake CLI {'compiled' if about['compiled'] else 'on Python, for want of a C compiler: fast readers wait for it'} · "
        f"{about['seconds']:.0f} s\n"
        "Figures are medians of the rounds (least–greatest); ratios are medians of each round's own."
    )
    if about["crowding"] > CROWDED:
        head += f"\nThe machine was busy: readers waited for a core ({about['crowding']:.2f}× their CPU time). Trust CPU figures."
    return head
