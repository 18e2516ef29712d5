"""``ropewalk doctor --salvage``: what a damaged database still holds, in a new file. Refuses to lose the damaged one.

The new file takes its place only when a person says so; no hub may run.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from ..config import Config, load
from ..errors import Conflict, HubError, NotFound, StoreError
from ..sessions.figures import count
from ..store.sqlite.check import check
from ..store.sqlite.place import BESIDE, Lock
from ..store.sqlite.salvage import Salvaged, salvage
from .asked import COLORS, check_choice
from .codes import DONE, UNANSWERED
from .hand import Hand
from .home import home_path
from .keys import PersonGone
from .run import keyboard_here
from .safe import one_line
from .screen import Screen, look_around

Seen = tuple[tuple[int, int, int] | None, ...]
"""Which files stand there, and when they were written last."""
OF = {"line": "line", "event": "event", "session": "session", "prompt": "prompt", "question": "question"}
"""The tables that people have words for."""


@dataclass
class Saving:
    """What was done, as ``--json`` tells it."""

    database: str
    salvaged: str
    problems: list[str] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    unsound: int = 0
    holes: int = 0
    taken_back: str = ""
    """What had been told and is gone with a damaged log, in words."""
    replaced: bool = False
    damaged: str | None = None
    """Where the damaged one is kept, once it was replaced."""


def salvage_database(*, yes: bool, as_json: bool, color: str = "auto", ascii_only: bool = False) -> int:
    """The exit code. Raises ``NotFound``, ``Conflict``, ``HubError``."""
    check_choice("color", color, COLORS)
    screen = Screen(look_around(color, ascii_only=ascii_only, answer=True))
    config = load()
    path = config.database
    refuse_early(config)
    screen.status("reading the database")
    stamp = stamp_for(path)
    saving = Saving(str(path), f"{path}.salvaged-{stamp}", problems=check(path))
    before = seen(path)
    saved = saved_from(path, Path(saving.salvaged))
    saving.kept, saving.unsound, saving.holes = saved.kept, saved.unsound, saved.holes
    saving.taken_back = saved.taken_back.words if saved.taken_back is not None else ""
    if not as_json:
        tell(screen, saving)
    if yes or (not as_json and asyncio.run(agreed(screen))):
        saving.damaged = f"{path}.damaged-{stamp}"
        put_in_place(path, Path(saving.salvaged), Path(saving.damaged), before)
        saving.replaced = True
    if as_json:
        screen.object(msgspec.json.encode(asdict(saving)).decode())
    else:
        tell_end(screen, saving)
    return DONE if saving.replaced else UNANSWERED


def stamp_for(path: Path) -> str:
    """Date and time, and a number where somebody was as quick."""
    at, more = time.strftime("%Y%m%d-%H%M%S"), 1
    stamp = at
    while any(Path(f"{path}.{word}-{stamp}").exists() for word in ("salvaged", "damaged")):
        more += 1
        stamp = f"{at}-{more}"
    return stamp


def refuse_early(config: Config) -> None:
    """Before anything is read: no database, or a hub that has it."""
    if not config.database.exists():
        raise NotFound(f"there is no database in {home_path(config.home)}, so there is nothing to salvage")
    try:
        Lock(config.database).release()
    except StoreError as error:
        if "in use" in str(error):
            raise Conflict("a hub runs on this database; stop it first: ropewalk serve --stop") from None
        raise HubError(str(error)) from None


def saved_from(path: Path, into: Path) -> Salvaged:
    """Raises ``HubError`` and leaves no half of a file."""
    try:
        return salvage(path, into)
    except (StoreError, OSError, sqlite3.Error) as error:
        for suffix in BESIDE:
            with suppress(OSError):
                os.unlink(f"{into}{suffix}")
        if "nothing could be read" in str(error):
            away = home_path(f"{path}.damaged")
            words = (
                f"nothing could be read of {home_path(str(path))}; move it away to begin anew: mv {home_path(str(path))} {away}"
            )
            raise HubError(words) from None
        raise HubError(f"the database was not salvaged: {error}; nothing was changed") from None


def tell(screen: Screen, saving: Saving) -> None:
    where = home_path(saving.database)
    if saving.problems:
        screen.row(f"{where} is damaged: {one_line(saving.problems[0])}")
        if more := len(saving.problems) - 1:
            screen.row(f"  and {count(more, 'more finding')}; all of them: ropewalk doctor --salvage --json")
    else:
        screen.row(f"the check finds nothing wrong with {where}")
    known = [count(saving.kept.get(table, 0), word) for table, word in OF.items()]
    others = sum(number for table, number in saving.kept.items() if table not in OF and table != "counter")
    screen.row(f"saved: {', '.join(known)}, {count(others, 'other row')}")
    lost = f"{count(saving.unsound, 'row')} not whole, {count(saving.holes, 'place')} that can't be read"
    if saving.taken_back:
        screen.row(f"lost:  {saving.taken_back}; their numbers are not given again")
    if saving.unsound or saving.holes or not saving.taken_back:
        screen.row(f"lost:  {lost if saving.unsound or saving.holes else 'nothing that could be noticed'}")
    screen.row(f"in {home_path(saving.salvaged)}")


async def agreed(screen: Screen) -> bool:
    """A person's ``y``. Where nobody can be asked: no."""
    keyboard = keyboard_here(False)
    if keyboard is None:
        return False
    with suppress(PersonGone):
        async with keyboard.open():
            return await Hand(screen, keyboard).yes("Put it in the place of the damaged one, which is kept?")
    return False


def tell_end(screen: Screen, saving: Saving) -> None:
    if saving.replaced:
        screen.row(f"it is in place; the damaged one is kept: {home_path(saving.damaged or '')}")
        screen.row("start the hub: ropewalk serve --detach")
    else:
        screen.row("nothing was replaced. To put it in place: ropewalk doctor --salvage --yes")


def seen(path: Path) -> Seen:
    """Of the file and its log."""
    return tuple(_stamp(Path(f"{path}{suffix}")) for suffix in ("", "-wal"))


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def put_in_place(path: Path, saved: Path, damaged: Path, before: Seen) -> None:
    """The damaged files get their second name first, so that no moment has neither. Raises ``HubError``."""
    try:
        lock = Lock(path)
    except StoreError as error:
        raise HubError(f"{error}; what was saved is in {saved}") from None
    try:
        if seen(path) != before:
            raise HubError(f"{path} was written to meanwhile; what was saved is in {saved}. Salvage it again")
        for suffix in ("", "-wal"):
            if (stamp := _stamp(Path(f"{path}{suffix}"))) and stamp[1]:
                _second_name(Path(f"{path}{suffix}"), Path(f"{damaged}{suffix}"))
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        os.replace(saved, path)
    except OSError as error:
        raise HubError(f"it could not be put in place: {error}; what was saved is in {saved}") from None
    finally:
        lock.release()


def _second_name(file: Path, name: Path) -> None:
    try:
        os.link(file, name)
    except OSError:  # a file system without links
        shutil.copy2(file, name)
