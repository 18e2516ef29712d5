"""The contract's view of ``transports.websocket``: a real process that dials in, told over another socket what to do."""

from __future__ import annotations

import sys
from pathlib import Path

from ropewalk.transports.launch import Launch
from ropewalk.transports.websocket import WebSocketTransport
from tests.contract.rig import GRACES
from tests.contract.stdio_rig import StdioRig

PUPPET = Path(__file__).with_name("dialling_puppet.py")


class WebSocketRig(StdioRig):
    """The same orders over the same socket; the bytes go over a link."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        words = ("-I", "-S", str(PUPPET), str(self._socket))
        self.transport = WebSocketTransport(Launch((sys.executable,), words, str(folder), {}), graces=GRACES)
