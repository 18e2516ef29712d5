"""A stop, shown rung by rung as it is tried. Refuses to say stopped before the process has ended."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress

from ...client.remote import Remote
from ...events import events as e
from ...events.views import Receipt
from ..safe import one_line
from ..screen import Screen


async def stop_shown(remote: Remote, session: str, screen: Screen, patience: float) -> Receipt:
    """Ask for it and tell the rungs until the hub says that it is done."""
    before = await remote.get(session)
    showing = asyncio.get_running_loop().create_task(_rungs(remote, before.id, before.last_seq, screen))
    try:
        receipt = await remote.stop(before.id, patience)
        if before.process is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(showing), patience + 5)
        return receipt
    finally:
        showing.cancel()
        with suppress(asyncio.CancelledError):
            await showing


async def _rungs(remote: Remote, session: str, after: int, screen: Screen) -> None:
    async with aclosing(remote.attach(session, after)) as events:
        async for event in events:
            if isinstance(event, e.StopRung):
                screen.talk(screen.paint("dim", f"  stopping claude: {one_line(event.rung)}"))
            elif isinstance(event, e.ProcessEnded):
                return
