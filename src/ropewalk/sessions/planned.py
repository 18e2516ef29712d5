"""A plan's text where the question lacks it: from the file that this very conversation wrote while it planned.

Refuses to take the newest file, which may be another session's, and the plan of a sub-agent. Read through the runner.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..errors import RopewalkError
from .clean import harmless
from .launching import stand_in_folder
from .plans import Found, is_plan_file

if TYPE_CHECKING:
    from .session import Session

LONGEST = 1024 * 1024
"""Bytes of a plan; what is longer is no plan that a person reads."""


class _Settings(Struct):
    plansDirectory: str | None = None


async def find_plan(session: Session, given: Mapping[str, Any]) -> Found | None:
    """None where the question brings its plan, or no file is known."""
    plan = given.get("plan")
    if isinstance(plan, str) and plan.strip():
        return None
    for named in (given.get("planFilePath"), session.known.plan_file):
        if isinstance(named, str) and await _is_one(session, named):
            return await _read(session, named)
    return None


async def _is_one(session: Session, path: str) -> bool:
    own = _config_folder(session)
    if is_plan_file(path, [os.path.join(own, "plans")]):
        return True
    return is_plan_file(path, await _configured(session, own))


async def _read(session: Session, path: str) -> Found:
    try:
        found = await session.world.link.files.read(path, LONGEST)
    except RopewalkError as error:
        return Found(file=path, why=f"the plan's file can't be read: {error}")
    if found.binary or found.size > LONGEST:
        return Found(file=path, why="the plan's file is no text that can be shown")
    text = str(harmless(found.data.decode("utf-8", "replace")))
    return Found(text if text.strip() else None, path)


def _config_folder(session: Session) -> str:
    world, row = session.world, session.row
    own = {**world.config.environment, **session.options.env}.get("CLAUDE_CONFIG_DIR")
    if own:
        return own
    if row.sim:
        return stand_in_folder(world.config)
    return world.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(world.environ.get("HOME", ""), ".claude")


async def _configured(session: Session, own: str) -> list[str]:
    """Folders that the CLI's settings name. Like the CLI, only inside of the project."""
    cwd = session.row.cwd
    project = os.path.join(cwd, ".claude")
    files = (f"{project}/settings.local.json", f"{project}/settings.json", f"{own}/settings.json")
    named = [folder for file in files if (folder := await _plans_directory(session, file))]
    return _inside(cwd, named)


def _inside(cwd: str, named: list[str]) -> list[str]:
    folders = [os.path.normpath(os.path.join(cwd, folder)) for folder in named]
    return [folder for folder in folders if folder == cwd or folder.startswith(f"{cwd.rstrip('/')}/")]


async def _plans_directory(session: Session, file: str) -> str | None:
    try:
        found = await session.world.link.files.read(file, LONGEST)
        return msgspec.json.decode(found.data, type=_Settings).plansDirectory
    except (RopewalkError, msgspec.DecodeError):
        return None
