"""The implementations that the contract suite runs over: for each a rig that plays the CLI's side. Tests nothing itself.

To add one: write a ``Rig`` in a module of its own and put it into ``RIGS``.
"""

from __future__ import annotations

from tests.contract.memory_rig import MemoryRig
from tests.contract.rig import Rig
from tests.contract.stdio_rig import AdoptedRig, StdioRig
from tests.contract.websocket_rig import WebSocketRig

RIGS: dict[str, type[Rig]] = {"memory": MemoryRig, "stdio": StdioRig, "adopted": AdoptedRig, "websocket": WebSocketRig}
