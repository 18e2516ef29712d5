"""What a session is given from outside: store, runner, clock, ids, whom to tell. Refuses behaviour: it is a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from ..config import Config
from ..protocol.versions import Version
from ..store.base import Store, Stored
from ..store.rows import SessionRow
from ..transports.runner import RunnerLink
from .inforce import InForce
from .slots import Slots
from .tasks import Tasks


class Told(Protocol):
    """Whom a session tells. Called from the loop; must neither block nor raise."""

    def stored(self, session: str, stored: Stored) -> None:
        """Events that are on the disk now."""

    def live(self, session: str, events: list[bytes]) -> None:
        """Live events, coalesced."""

    def heard(self, session: str) -> bool:
        """Whether anybody listens to it now."""


@dataclass(frozen=True, slots=True)
class Program:
    """The CLI to run, and its version where it could be asked for."""

    words: tuple[str, ...]
    version: Version | None


@dataclass(slots=True)
class World:
    store: Store
    link: RunnerLink
    config: Config
    told: Told
    slots: Slots
    rules: InForce
    tasks: Tasks
    clock: Callable[[], float]
    """Seconds since 1970: for people. Waiting is done by the loop's own clock."""
    new_id: Callable[[], str]
    new_uuid: Callable[[], str]
    program: Callable[[bool], Awaitable[Program]]
    """(stand-in?) → what to run. Raises ``CliNotFound``."""
    environ: Mapping[str, str]
    transcript_has: Callable[[SessionRow, str], Awaitable[bool | None]]
    """Whether the CLI's own record of the session knows this prompt; None when that can't be told."""
