"""One living CLI as it travels over a re-exec: what is in memory alone. What is in pipes and on disk stays where it is."""

from __future__ import annotations

import msgspec

from ropewalk.runner.charge import Charge


class Frozen(msgspec.Struct):
    """One CLI that lives, as far as it is in memory alone."""

    process: str
    pid: int
    stdin: int
    stdout: int
    stderr: int
    queued: bytes
    """In the pipe's queue: the rest of ``begun``."""
    begun: str | None
    waiting: list[tuple[str, bytes]]
    closing: bool
    tail: tuple[str, ...]
    stored: int
    dropping: bool
    stuck: list[bytes]
    graces: tuple[float, ...] | None


def frozen(charge: Charge) -> Frozen:
    assert charge.transport is not None and charge.transport.process is not None and charge.outbox is not None
    process = charge.transport.process
    child = process.child()
    return Frozen(
        charge.process,
        child.pid,
        child.stdin,
        child.stdout,
        child.stderr,
        process.input.queued,
        charge.outbox.begun,
        charge.outbox.frozen(),
        charge.outbox.closing,
        process.stderr_tail(),
        charge.spool.stored,
        charge.spool.dropping,
        list(charge.stuck),
        charge.graces,
    )
