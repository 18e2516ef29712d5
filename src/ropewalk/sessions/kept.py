"""How a session is started and how its conversation began, as its row keeps it. Structs only."""

from __future__ import annotations

import msgspec

from ..events.commands import SessionOptions
from .outline import Outline


class Begun(msgspec.Struct, omit_defaults=True):
    """How its conversation began, so that the next process goes on with it."""

    fork_of: str | None = None
    """The CLI session that it branches off, until its own first turn."""
    fork_at: str | None = None
    resumed: bool = False
    """It goes on with a CLI session that was there before."""
    turns: bool = False
    """A turn has begun: the CLI has a record to resume."""
    spent: float = 0.0
    """Where the CLI's own count of its costs stood: the next process goes on from it, but not after a kill (2.1.326)."""
    afresh: bool = False
    """The present conversation is over: its process is ended, and what waits begins a new one."""


class Bypass(msgspec.Struct, omit_defaults=True):
    """A time without questions that a person gave."""

    seconds: float
    before: str = "default"
    by: str = ""
    until: float | None = None
    """None until the CLI runs in it."""
    awaited: bool = False
    """It is for the process that begins afresh with a plan: the end of the one before does not end it."""


class Kept(msgspec.Struct, omit_defaults=True):
    """What the ``options`` column of a session holds."""

    options: SessionOptions = msgspec.field(default_factory=SessionOptions)
    begun: Begun = msgspec.field(default_factory=Begun)
    bypass: Bypass | None = None
    outline: Outline = Outline()
