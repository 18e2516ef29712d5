"""Asks a CLI for its version before it is started for real. Refuses to wait for ever: a CLI that says nothing has no version."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence

from ..protocol.versions import Version, parse_version

PATIENCE = 20.0
"""Seconds. 2.1.37 needs about one on an idle machine; a loaded one may take ten."""

_known: dict[tuple[str, ...], tuple[float, Version | None]] = {}


async def cli_version(program: Sequence[str], env: Mapping[str, str] | None = None) -> Version | None:
    """The version that ``program --version`` prints; None when it prints none. Remembered until the file changes."""
    key, stamp = tuple(program), _stamp(program)
    if key in _known and _known[key][0] == stamp:
        return _known[key][1]
    version = await _ask(program, env)
    _known[key] = (stamp, version)
    return version


def _stamp(program: Sequence[str]) -> float:
    return max((os.stat(word).st_mtime for word in program if os.path.exists(word)), default=0.0)


async def _ask(program: Sequence[str], env: Mapping[str, str] | None) -> Version | None:
    child = await asyncio.create_subprocess_exec(
        *program,
        "--version",
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        said, _ = await asyncio.wait_for(child.communicate(), PATIENCE)
    except TimeoutError:
        child.kill()
        await child.wait()
        return None
    return parse_version(said.decode("utf-8", "replace"))
