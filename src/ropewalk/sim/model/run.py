"""``ropewalk sim model``: serves a scenario until told to stop. Refuses to do anything that SimModel can't."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from ropewalk.sim.model.scenario import load_scenario
from ropewalk.sim.model.server import SimModel


def run_sim_model(
    scenario_path: str | Path | None = None, host: str = "127.0.0.1", port: int = 0, record_path: str | Path | None = None
) -> int:
    """Serve until SIGINT or SIGTERM; the first line on stdout is the address. Raises ``UsageError`` or ``LinkBroken``."""
    script = load_scenario(scenario_path) if scenario_path else None
    asyncio.run(serve(SimModel(script, host=host, port=port, record=record_path)))
    return 0


async def serve(model: SimModel) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopped.set)
    async with model:
        sys.stdout.write(f"{model.url}\n")
        sys.stdout.flush()
        await stopped.wait()
