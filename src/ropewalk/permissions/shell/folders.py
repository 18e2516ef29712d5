"""Where a command runs after ``cd``: one folder if it succeeded, another if not. Names are joined, never resolved."""

from __future__ import annotations

from ropewalk.permissions.shell.model import Word

NEVER = "\0never"
"""The folder of what is not reached, behind ``exit``."""

Folder = str | tuple[str, ...] | None
"""One, one of a few (``cd x; …``: the start where there is no x), or any."""
MOST = 4
After = tuple[Folder, Folder]
"""Where the shell is after a command that succeeded, and after one that failed."""


def either(one: Folder, other: Folder) -> Folder:
    if one == other or other == NEVER:
        return one
    if one == NEVER or one is None or other is None:
        return other if one == NEVER else None
    found = tuple(sorted({*_each(one), *_each(other)}))
    return found if len(found) <= MOST else None


def _each(folder: str | tuple[str, ...]) -> tuple[str, ...]:
    return folder if isinstance(folder, tuple) else (folder,)


def joined(folder: Folder, target: str) -> Folder:
    if target.startswith("/"):
        return target
    if isinstance(folder, tuple):
        return tuple(f"{one.rstrip('/')}/{target}" if one else target for one in folder)
    if folder is None or folder == NEVER:
        return folder
    return f"{folder.rstrip('/')}/{target}" if folder else target


def after_cd(words: tuple[Word, ...], folder: Folder) -> Folder:
    """``cd``, ``pushd``: where a success leads; None when that can't be told (``cd``, ``cd -``, ``cd $x``, ``cd ~``)."""
    operands = [word for word in words[1:] if word.text not in ("--", "-L")]
    if len(operands) != 1 or not operands[0].exact:
        return None
    target = operands[0].text
    if not target or target.startswith(("-", "+")):
        return None
    return joined(folder, target)
