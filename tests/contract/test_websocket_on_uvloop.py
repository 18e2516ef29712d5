"""The link's promises on the other loop: every test of the contract, over a real process that dials in, run by uvloop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.contract.rig import Rig
from tests.contract.test_transports_on_uvloop import PROMISES
from tests.contract.websocket_rig import WebSocketRig

uvloop = pytest.importorskip("uvloop")


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES.values(), ids=PROMISES.keys())
def test_over_a_link_on_uvloop(promise: Callable[[Rig], Awaitable[None]], tmp_path: Path) -> None:
    """ours."""

    async def keep() -> None:
        rig = WebSocketRig(tmp_path)
        try:
            await promise(rig)
        finally:
            await rig.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(keep())
