"""The contenders, each behind the same five verbs. Refuses to import any of them: a process holds only the one it measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

END = "bench:end"
"""The text of the result that ends a stream of the fake CLI."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a consumer got, reduced to what can be compared between contenders."""

    kind: str
    chars: int
    """Characters of text, thinking and partial input that could be read off the typed message."""
    blocks: int = 1
    """Content blocks of an assistant message, known or not; 1 for everything else."""


class Contender(Protocol):
    """One client on one fake CLI. ``start`` once, then the verbs, then ``close``."""

    async def start(self, cli: list[str], *, lazy: bool = False, on_question: Callable[[], None] | None = None) -> None:
        """Connect and wait for the answer to ``initialize``. Every question is allowed, after calling ``on_question``."""

    async def prompt(self, text: str) -> None:
        """Send a prompt; don't wait for anything."""

    async def drain(self) -> int:
        """Read messages until the result that ends the stream; return how many there were."""

    async def collect(self, into: list[Seen]) -> None:
        """The same, keeping what was seen; what was seen before an exception is in ``into`` too."""

    async def interrupt(self) -> None:
        """Interrupt and wait for the answer."""

    async def close(self) -> None:
        """End the CLI."""


def create(name: str) -> Contender:
    """The contender of this name; its library is imported here and not before."""
    module: Any = __import__(f"bench.contenders.{name}", fromlist=["create"])
    contender: Contender = module.create()
    return contender
