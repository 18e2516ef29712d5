"""What the doctor sees of the database's file: who may read it, its size, whether it is sound. Refuses to open it for writing."""

from __future__ import annotations

import shlex
import stat
import time
from pathlib import Path

from ..config import Config
from ..sessions.figures import count
from ..store.sqlite.check import PROBLEMS_MOST, check
from .checks import Check
from .home import home_path
from .safe import one_line
from .statuses import mebibytes, span

SALVAGE = "Save what can be read: ropewalk doctor --salvage"

GAP = "and its last is number"
"""What the check says of a hole in the numbers: a salvage leaves them, and another one would not close them."""


def resting(config: Config) -> list[Check]:
    """No hub runs: all of the file is read. Nothing where there is none yet."""
    try:
        words = said_of(config)
    except FileNotFoundError:
        return []
    except OSError as error:
        where = home_path(str(config.database))
        return [Check("database", "failure", f"database {where} can't be looked at: {error.strerror}", "Run it as its owner.")]
    problems = check(config.database)
    if problems and all(GAP in problem for problem in problems):
        lost = "What is missing is lost; all else is sound, and the numbers go on."
        return [Check("database", "warning", f"{words}, events are missing: {_told(problems)}", lost)]
    if problems:
        return [Check("database", "failure", f"{words}, damaged: {_told(problems)}", SALVAGE)]
    return [_open_to_others(config, f"{words}, sound")]


def held(config: Config) -> list[Check]:
    """A hub runs on it and says that it is well."""
    try:
        return [_open_to_others(config, said_of(config))]
    except OSError:
        return [Check("database", "ok", "database answers")]


def said_of(config: Config) -> str:
    """Its mode, size and age. Raises ``OSError``."""
    found = config.database.stat()
    log = config.database.with_name(config.database.name + "-wal")
    also = [log.stat()] if log.exists() else []
    size, written = sum(one.st_size for one in (found, *also)), max(one.st_mtime for one in (found, *also))
    return f"database {stat.S_IMODE(found.st_mode):04o}, {mebibytes(size)}, last write {span(time.time() - written)} ago"


def _open_to_others(config: Config, words: str) -> Check:
    """A warning where others may look into file or folder."""
    wanted = [(path, mode) for path, mode in ((config.database, "600"), (config.folder, "700")) if _mode(path) & 0o077]
    if not wanted:
        return Check("database", "ok", words)
    fix = " && ".join(f"chmod {mode} {shlex.quote(str(path))}" for path, mode in wanted)
    if config.folder in [path for path, _ in wanted]:
        words += f", its folder {_mode(config.folder):04o}"
    return Check("database", "warning", words, f"Others may look into it: {fix}")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _told(problems: list[str]) -> str:
    """The first of them, and how many more."""
    more = len(problems) - 1
    if not more:
        return one_line(problems[0])
    least = "at least " if len(problems) >= PROBLEMS_MOST else ""
    return f"{one_line(problems[0])} (and {least}{count(more, 'more finding')})"
