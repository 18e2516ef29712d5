"""The same promises on the other loop: every test of the contract, over real processes, run by uvloop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.contract import test_transports
from tests.contract.listening import Belongings
from tests.contract.rig import Rig
from tests.contract.stdio_rig import StdioRig

uvloop = pytest.importorskip("uvloop")

PROMISES = {
    name: promise
    for name, promise in inspect.getmembers(test_transports, inspect.iscoroutinefunction)
    if name.startswith("test_") and list(inspect.signature(promise).parameters) == ["rig"]
}


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES.keys())
def test_on_uvloop(promise: Callable[[Rig], Awaitable[None]], tmp_path: Path) -> None:
    """ours."""

    async def keep() -> None:
        (await asyncio.start_unix_server(print, tmp_path / "first")).close()  # the loop keeps a spare descriptor from then on
        before = Belongings.now()
        rig = StdioRig(tmp_path)
        try:
            await promise(rig)
        finally:
            await rig.close()
        await before.are_all()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(keep())
