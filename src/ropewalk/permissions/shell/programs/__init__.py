"""What is known of programs, one family a file. A program that is in none of them is simply not known; nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.program import Program, look
from ropewalk.permissions.shell.programs import (
    archives,
    builtins,
    editors,
    files,
    filters,
    finding,
    git,
    interpreters,
    machines,
    network,
    packages,
    readers,
    shells,
    wrappers,
)

Looked = Callable[[tuple[Word, ...]], Found]

_FAMILIES: tuple[dict[str, Program | Looked], ...] = (
    archives.PROGRAMS,
    builtins.PROGRAMS,
    editors.PROGRAMS,
    files.PROGRAMS,
    filters.PROGRAMS,
    finding.PROGRAMS,
    git.PROGRAMS,
    interpreters.PROGRAMS,
    machines.PROGRAMS,
    network.PROGRAMS,
    packages.PROGRAMS,
    readers.PROGRAMS,
    shells.PROGRAMS,
    wrappers.PROGRAMS,
)
KNOWN: dict[str, Program | Looked] = {name: described for family in _FAMILIES for name, described in family.items()}
"""By the name that stands first; a path counts by its last piece."""

_VERSIONED = ("python", "pip", "gcc", "clang", "ruby", "perl", "node", "php", "lua")


def found_of(words: tuple[Word, ...]) -> Found:
    """What the table knows of this command."""
    first = words[0]
    if not first.exact:
        return Found(doubt=f"which program “{first.text}” is can't be told")
    if first.text.startswith(("-", "+")):
        return Found(doubt=f"“{first.text}” is an option, not a program")
    known = KNOWN.get(first.text)
    if known is None:
        known = KNOWN.get(_plain_name(first.text))
        if known is None:
            return Found(doubt="a command without a name" if not first.text else "")
    if isinstance(known, Program):
        return look(words, known)
    return known(words)


def _plain_name(name: str) -> str:
    """``/usr/bin/git`` → ``git``, ``python3.12`` → ``python``."""
    name = name.rpartition("/")[2]
    if name.startswith(_VERSIONED):
        return name.rstrip("0123456789.-") or name
    return name
