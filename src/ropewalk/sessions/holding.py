"""Each command begins in the session's folder: what the CLI is started with so that relative names mean what was judged.

Without it a ``cd`` outlives its command, within a turn up to 2.1.120 and for good on 2.1.326 (measured). A variable alone does
not hold: settings in the project's folder overrule it, and settings named at the start overrule those. Refuses to guess at a
settings file that it can't read.
"""

from __future__ import annotations

import os

import msgspec

from ..errors import UsageError
from .world import World

KEEP = "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"
LARGEST = 1024 * 1024


def held(settings: bytes) -> bytes:
    """The same settings, with ours among their variables. Raises ``UsageError`` for what are none."""
    try:
        whole = msgspec.json.decode(settings, type=dict[str, msgspec.Raw])
        variables = msgspec.json.decode(whole.get("env", msgspec.Raw(b"{}")), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise UsageError(
            f"its settings file is no JSON object that Claude could read ({error}); put it right or leave it out"
        ) from None
    variables[KEEP] = msgspec.Raw(b'"1"')
    return msgspec.json.encode(whole | {"env": msgspec.Raw(msgspec.json.encode(variables))})


HELD = held(b"{}").decode()
"""For sessions without settings of their own."""


async def settings_for(world: World, session: str, own: str | None) -> str:
    """What to start with: ours, or the session's own file with ours in a copy of it. Such a file may hold secrets, and the words
    of a process can be read by all of its machine: so the copy is a file in our own folder, which others can't read."""
    if own is None:
        return HELD
    found = await world.link.files.read(own, LARGEST)
    if found.size > LARGEST:
        raise UsageError(f"its settings file has {found.size:,} bytes; more than {LARGEST:,} are not read")
    path = os.path.join(world.config.home, "settings", f"{session}.json")
    await world.link.files.put(path, held(found.data), exclusive=False, folders=True)
    return path
