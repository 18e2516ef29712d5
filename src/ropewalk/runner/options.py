"""The runner's own words on its command line. Reads no file and no environment."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from ropewalk.runner.keeper import Limits


@dataclass(frozen=True)
class Options:
    socket: str
    spool: str
    roots: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    idle_exit: float = 600.0
    """Seconds without hub and CLI after which it ends by itself; 0: never."""
    patience: float = 5.0
    """What each CLI has when the runner itself is told to end."""
    detach: bool = False
    inherit: str = ""
    """What an earlier program of this process left when it re-executed itself."""
    check: bool = False

    def words(self) -> list[str]:
        """The command line that says the same, without what belongs to one start alone."""
        return [
            f"--socket={self.socket}",
            f"--spool={self.spool}",
            *(f"--root={root}" for root in self.roots),
            f"--spool-limit={self.limits.spool}",
            f"--line-limit={self.limits.line}",
            f"--idle-exit={self.idle_exit}",
            f"--patience={self.patience}",
        ]


def read_options(argv: Sequence[str]) -> Options:
    """Ends the program with a usage text when the words can't be meant."""
    parser = argparse.ArgumentParser(
        prog="python -m ropewalk.runner", description="Owns CLI processes for a hub and outlives it."
    )
    parser.add_argument("--socket", required=True, help="the Unix socket to listen at; its folder must be this user's alone")
    parser.add_argument("--spool", required=True, help="folder for lines that no hub has stored")
    parser.add_argument("--root", action="append", default=[], help="folder whose files a hub may see; again for more; none: all")
    parser.add_argument("--spool-limit", type=int, default=Limits.spool, help="bytes a CLI; past it the CLI waits")
    parser.add_argument("--line-limit", type=int, default=Limits.line, help="bytes a line; longer ones are dropped and named")
    parser.add_argument("--idle-exit", type=float, default=Options.idle_exit, help="seconds without hub and CLI; 0: never")
    parser.add_argument("--patience", type=float, default=Options.patience, help="seconds for CLIs to end when this is told to")
    parser.add_argument("--detach", action="store_true", help="return when it listens; it lives on by itself")
    parser.add_argument("--inherit", default="", help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    limits = Limits(asked.spool_limit, asked.line_limit)
    return Options(
        asked.socket,
        asked.spool,
        tuple(asked.root),
        limits,
        asked.idle_exit,
        asked.patience,
        asked.detach,
        asked.inherit,
        asked.check,
    )
