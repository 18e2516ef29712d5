"""What tests of transports lean on: a receiver that remembers, waiting for a condition, and a look at what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ropewalk.transports.base import End

GUARD = 30.0
"""Seconds after which something that should have happened counts as never: the machine may be busy."""


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition of the outside world that nobody tells us about."""
    clock = asyncio.get_running_loop()
    deadline = clock.time() + GUARD
    while not condition():
        assert clock.time() < deadline, f"in vain waited for: {what}"
        await asyncio.sleep(0.005)


class Ear:
    """A receiver that remembers what it heard, in order, and complains about anything after the end."""

    def __init__(self, on_data: Callable[[bytes], None] | None = None) -> None:
        self.heard = bytearray()
        self.pieces: list[int] = []
        self.links: list[bool] = []
        self.ends: list[End] = []
        self.after_the_end: list[object] = []
        self._on_data = on_data

    def data_received(self, data: bytes) -> None:
        if self.ends:
            self.after_the_end.append(data)
        self.heard += data
        self.pieces.append(len(data))
        if self._on_data is not None:
            self._on_data(data)

    def link_changed(self, up: bool) -> None:
        if self.ends:
            self.after_the_end.append(up)
        self.links.append(up)

    def ended(self, end: End) -> None:
        self.ends.append(end)

    async def hears(self, count: int) -> bytes:
        await until(lambda: len(self.heard) >= count, f"{count} bytes; {len(self.heard)} came")
        return bytes(self.heard)

    async def hears_the_end(self) -> End:
        await until(lambda: self.ends, "the end")
        return self.ends[0]


@dataclass(frozen=True)
class Belongings:
    """What this process holds: descriptors (number and target), children (the unreaped among them), tasks of the running loop."""

    descriptors: frozenset[str]
    children: frozenset[int]
    tasks: int

    @classmethod
    def now(cls) -> Belongings:
        return cls(frozenset(_descriptors()), frozenset(_children()), _tasks())

    def more_than(self, before: Belongings) -> Belongings | None:
        """What came and did not go; None when there is nothing."""
        more = Belongings(
            self.descriptors - before.descriptors, self.children - before.children, max(0, self.tasks - before.tasks)
        )
        return more if more.descriptors or more.children or more.tasks else None

    async def are_all(self) -> None:
        """Wait until nothing is held but this."""
        clock = asyncio.get_running_loop()
        deadline = clock.time() + GUARD
        while (more := Belongings.now().more_than(self)) is not None:
            assert clock.time() < deadline, f"still there: {more}"
            await asyncio.sleep(0.005)


def _descriptors() -> Iterator[str]:
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of this very listing
            yield f"{number} {os.readlink(f'/proc/self/fd/{number}')}"


def _children() -> Iterator[int]:
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(FileNotFoundError), open(f"/proc/self/task/{thread}/children") as file:
            yield from map(int, file.read().split())


def _tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:  # no loop runs
        return 0
