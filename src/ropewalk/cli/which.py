"""Which session is meant: a start of its id, ``.`` for the one of this folder, ``-`` for the last one used. Refuses to guess."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..config import Config
from ..errors import NotFound, UsageError
from ..events.ids import SHORTEST
from ..events.views import SessionView

if TYPE_CHECKING:
    from ..client.remote import Remote

MANY = 1000
LAST = "last"
"""File in the state folder: the id of the session that was named last."""


async def session_meant(remote: Remote, config: Config, word: str, folder: str = ".") -> SessionView:
    """The session, and remember it. Raises ``NotFound``; ``Conflict`` when several ids begin so."""
    if word == ".":
        found = await _of_folder(remote, folder)
    elif word == "-":
        found = await remote.get(last_used(config))
    else:
        found = await remote.get(checked(word))
    remember(config, found.id)
    return found


def checked(word: str) -> str:
    """A start of an id that is long enough. Raises ``UsageError``."""
    plain = word.removeprefix("s-").lower()
    if len(plain) < SHORTEST or not plain.isalnum():
        raise UsageError(f"{word!r} is no id of a session; give at least {SHORTEST} letters of it, or . or -; see: ropewalk ls")
    return plain


async def _of_folder(remote: Remote, folder: str) -> SessionView:
    found = newest_of(await remote.list(limit=MANY), folder)
    if found is None:
        raise NotFound('no session works in this folder; begin one: ropewalk new "…"')
    return found


def newest_of(listed: Iterable[SessionView], folder: str) -> SessionView | None:
    """The one that was begun last in this folder and is not archived."""
    here = os.path.realpath(folder)
    there = [one for one in listed if os.path.realpath(one.cwd) == here and not one.archived]
    return max(there, key=lambda one: one.created_at, default=None)


def last_used(config: Config) -> str:
    try:
        return (config.folder / LAST).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise NotFound("no session was used from here yet; name one: ropewalk ls lists them") from None


def remember(config: Config, session: str) -> None:
    """Kept for ``-``; where it can't be written there is no ``-``."""
    with contextlib.suppress(OSError):
        config.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = config.folder / LAST
        file = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "w") as begun:
            begun.write(session + "\n")
        os.replace(f"{path}.new", path)


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Each id by its shortest start, of four letters or more, that no other of them has."""
    ordered = sorted(set(ids))
    shown = {}
    for index, one in enumerate(ordered):
        near = ordered[max(0, index - 1) : index] + ordered[index + 1 : index + 2]
        room = max((_alike(one, other) + 1 for other in near), default=0)
        shown[one] = one[: max(SHORTEST, room)]
    return shown


def _alike(one: str, other: str) -> int:
    """How many letters both begin with."""
    return next((index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
