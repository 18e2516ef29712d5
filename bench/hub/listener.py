"""Many WebSocket listeners in one process of their own: ``python -m bench.hub.listener {json}``. Refuses to parse what it hears.

Says ``{"ready": …}`` when all are subscribed, then waits for what ends them: each has heard ``until``, or a line on its input.
It then says what came: events and pieces counted, when the first and the last came, how long each timed line took to get here.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import sys
import time
from array import array
from functools import partial
from typing import Any

from uvloop import new_event_loop

from bench.hub.ws import frame, frames, upgrade

TIMED = re.compile(rb"at=(\d+);")
AT_ONCE = 50


class Ear(asyncio.Protocol):
    """One listener. ``count`` what is looked for in every frame; ``until`` is in the last."""

    def __init__(self, heard: Heard, session: str) -> None:
        self._heard, self._session, self._in = heard, session, bytearray()
        self.subscribed = asyncio.get_running_loop().create_future()
        self._head = True

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(upgrade(self._heard.host, self._heard.path, self._heard.token))

    def data_received(self, data: bytes) -> None:
        self._in += data
        if self._head:
            head, found, rest = bytes(self._in).partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head:
                self.subscribed.set_exception(RuntimeError(head.decode()))
                return
            self._head, self._in = False, bytearray(rest)
            said = json.dumps({"subscribe": self._session, "after": 0}).encode()
            self.transport.write(frame(said, mask=True))
        for payload in frames(self._in):
            if not self.subscribed.done():
                if payload.startswith(b'{"subscribed"'):
                    self.subscribed.set_result(None)
            else:
                self._heard.payload(payload)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.subscribed.done():
            self.subscribed.set_exception(RuntimeError("cut off before it was subscribed"))
        self._heard.lost += 1


class Heard:
    """What all of them heard."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.host, self.path, self.token = f"127.0.0.1:{given['port']}", given["path"], given["token"]
        self._count, self._until = given.get("count", "").encode(), given.get("until", "").encode()
        self._wanted, self._timed = len(given["sessions"]), given.get("timed", False)
        self.done = asyncio.Event()
        self.frames = self.events = self.bytes = self.ended = self.lost = 0
        self.first = self.last = 0
        self.took = array("q")

    def payload(self, payload: bytes) -> None:
        now = time.monotonic_ns()
        self.frames += 1
        self.bytes += len(payload)
        if self._count and (found := payload.count(self._count)):
            self.events += found
            self.first, self.last = self.first or now, now
        if self._timed:
            self.took.extend([now - int(at) for at in TIMED.findall(payload)])
        if self._until and self._until in payload:
            self.ended += 1
            self.last = now
            if self.ended >= self._wanted:
                self.done.set()

    def figures(self) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        took = sorted(self.took)
        spread = {name: took[int(len(took) * part)] / 1e6 for name, part in QUANTILES.items()} if took else {}
        return {
            "frames": self.frames, "events": self.events, "bytes": self.bytes, "ended": self.ended, "lost": self.lost,
            "timed": len(took), "first": self.first, "seconds": (self.last - self.first) / 1e9,
            "cpu": used.ru_utime + used.ru_stime, **spread,
        }  # fmt: skip


QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


async def listen(given: dict[str, Any]) -> None:
    loop, heard = asyncio.get_running_loop(), Heard(given)
    ears: list[Ear] = []
    for at in range(0, len(given["sessions"]), AT_ONCE):
        some = [Ear(heard, session) for session in given["sessions"][at : at + AT_ONCE]]
        for ear in some:
            await loop.create_connection(partial(_same, ear), "127.0.0.1", given["port"])
        await asyncio.wait_for(asyncio.gather(*(ear.subscribed for ear in some)), 30)
        ears += some
    say({"ready": len(ears)})
    told = loop.run_in_executor(None, sys.stdin.readline)
    done = loop.create_task(heard.done.wait())
    await asyncio.wait({told, done}, return_when=asyncio.FIRST_COMPLETED)
    say(heard.figures())


def _same(ear: Ear) -> Ear:
    return ear


def say(words: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def main() -> None:
    given = json.loads(sys.argv[1])

    async def run() -> None:
        await listen(given)
        os._exit(0)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


if __name__ == "__main__":
    main()
