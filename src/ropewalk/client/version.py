"""Asks a CLI for its version before it is started for real. Refuses to wait for ever: a CLI that says nothing has no version."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from ..protocol.versions import Version, parse_version

PATIENCE = 20.0
"""Seconds. 2.1.37 needs about one on an idle machine; a loaded one may take ten."""


async def cli_version(program: Sequence[str], env: Mapping[str, str] | None = None, patience: float = PATIENCE) -> Version | None:
    """The version that ``program --version`` prints; None when it prints none in time, or can't be run."""
    try:
        child = await asyncio.create_subprocess_exec(
            *program,
            "--version",
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    try:
        said, _ = await asyncio.wait_for(child.communicate(), patience)
    except TimeoutError:
        return None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return parse_version(said.decode("utf-8", "replace"))
