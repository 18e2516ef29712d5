"""A program that stands where the CLI stands and does what a Unix socket tells it, one JSON line an order. Needs nothing of ours.

Orders: say, hear, hear_end, disobey, exit. It reads its stdin only when told to, and ends when its stdin is closed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from typing import Any

STDIN, STDOUT, STDERR = 0, 1, 2


class Puppet:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._obeys_end = True

    def run(self) -> None:
        orders = self._control.makefile("rb")
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(STDIN, 0)  # only that the other end is closed, which can't be left out
        while True:
            ready = {descriptor: event for descriptor, event in poll.poll()}
            if ready.get(STDIN):
                poll.unregister(STDIN)
                if self._obeys_end:
                    os._exit(0)
            if self._control.fileno() in ready:
                line = orders.readline()
                if not line:
                    os._exit(99)
                self._answer(self._obey(json.loads(line)))

    def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        match order:
            case {"do": "say", "hex": text, "chunk": chunk}:
                self._say(bytes.fromhex(text), chunk)
            case {"do": "hear", "count": count}:
                return {"hex": self._hear(count).hex()}
            case {"do": "hear_end"}:
                self._obeys_end = False
                return {"hex": self._hear(None).hex()}
            case {"do": "disobey", "rungs": rungs}:
                self._obeys_end = self._obeys_end and "input closed" not in rungs
                if "terminate" in rungs:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case {"do": "exit", "code": code, "stderr": lines}:
                os.write(STDERR, "".join(f"{line}\n" for line in lines).encode())
                os._exit(code)
        return {}

    def _say(self, data: bytes, chunk: int | None) -> None:
        size = chunk or len(data) or 1
        for at in range(0, len(data), size):
            piece = data[at : at + size]
            while piece:
                piece = piece[os.write(STDOUT, piece) :]

    def _hear(self, count: int | None) -> bytes:
        heard = b""
        while (count is None or len(heard) < count) and (data := os.read(STDIN, 65536 if count is None else count - len(heard))):
            heard += data
        return heard

    def _answer(self, answer: dict[str, Any]) -> None:
        self._control.sendall(json.dumps(answer).encode() + b"\n")


if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(sys.argv[1])
        Puppet(control).run()
