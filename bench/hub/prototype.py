"""The limit of this road: line → lazily typed → SQLite group commit (synchronous=FULL) → WebSocket. Refuses everything else.

``python -m bench.hub.prototype FOLDER SESSIONS CLI…``: no runner, no spool, no questions, no rows but events, no rights, no
history for late listeners. Every line is one event: its kind is looked at, its bytes go to the disk and to whoever listens.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from queue import Empty, SimpleQueue
from typing import Any

import msgspec

from bench.hub.ws import accepted, frame, frames

READ = 64 * 1024
ROWS = 256
"""In one statement: SQLite lets go of the interpreter's lock at each, and a busy loop gives it back late."""


class Light(msgspec.Struct):
    type: str = ""


_glance = msgspec.json.Decoder(Light).decode


class Writer(threading.Thread):
    """Everything that waits goes into the next commit; then the loop tells it."""

    def __init__(self, path: str, told: Any) -> None:
        super().__init__(daemon=True)
        self._path, self._told, self._loop = path, told, asyncio.get_running_loop()
        self.queue: SimpleQueue[tuple[str, list[tuple[str, bytes]]]] = SimpleQueue()
        self._seqs: dict[str, int] = {}

    def run(self) -> None:
        self._db = sqlite3.connect(self._path, isolation_level=None)
        for pragma in ("journal_mode = wal", "synchronous = full", "cache_size = -16000"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, kind, body)")
        while True:
            self._commit(self._waiting())

    def _waiting(self) -> list[tuple[str, list[tuple[str, bytes]]]]:
        batch = [self.queue.get()]
        try:
            while len(batch) < 64:
                batch.append(self.queue.get_nowait())
        except Empty:
            return batch
        return batch

    def _commit(self, batch: list[tuple[str, list[tuple[str, bytes]]]]) -> None:
        told: dict[str, list[bytes]] = {}
        flat: list[Any] = []
        for session, lines in batch:
            bodies = told.setdefault(session, [])
            seq = self._seqs.get(session) or (len(self._seqs) + 1) << 40
            for kind, raw in lines:
                seq += 1
                body = b'{"seq":%d,"kind":"%b","line":%b}' % (seq & 0xFFFFFFFFFF, kind.encode(), raw)
                flat += (seq, kind, body)
                bodies.append(body)
            self._seqs[session] = seq
        self._db.execute("BEGIN")
        for at in range(0, len(flat), 3 * ROWS):
            part = flat[at : at + 3 * ROWS]
            self._db.execute(f"INSERT INTO event VALUES {','.join(['(?,?,?)'] * (len(part) // 3))}", part)
        self._db.execute("COMMIT")
        self._loop.call_soon_threadsafe(self._told, told)


class Cli(asyncio.Protocol):
    """One CLI on pipes of our own."""

    def __init__(self, session: str, writer: Writer) -> None:
        self._session, self._writer, self._rest = session, writer, b""

    async def start(self, argv: list[str]) -> None:
        loop = asyncio.get_running_loop()
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        await loop.connect_read_pipe(lambda: self, self._process.stdout)

    def prompt(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": text}}).encode() + b"\n")
        self._process.stdin.flush()

    def data_received(self, data: bytes) -> None:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        self._writer.queue.put((self._session, [(_glance(line).type, line) for line in lines]))


class Listener(asyncio.Protocol):
    """One WebSocket: says which session it hears, or sends a prompt."""

    def __init__(self, clis: dict[str, Cli], listeners: dict[str, list[asyncio.Transport]]) -> None:
        self._clis, self._listeners, self._in = clis, listeners, bytearray()
        self._open = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._in += data
        if not self._open and b"\r\n\r\n" in self._in:
            head, _, rest = bytes(self._in).partition(b"\r\n\r\n")
            self._in, self._open = bytearray(rest), True
            self._transport.write(accepted(head))
        for text in frames(self._in) if self._open else ():
            said = json.loads(text)
            if "subscribe" in said:
                self._listeners.setdefault(said["subscribe"], []).append(self._transport)
                self._transport.write(frame(b'{"subscribed":true}'))
            else:
                self._clis[said["session"]].prompt(said["prompt"])


async def main(folder: str, sessions: int, argv: list[str]) -> None:
    listeners: dict[str, list[asyncio.Transport]] = {}

    def tell(told: dict[str, list[bytes]]) -> None:
        for session, bodies in told.items():
            ready = frame(b'{"session":"%b","events":[%b]}' % (session.encode(), b",".join(bodies)))
            for transport in listeners.get(session, ()):
                transport.write(ready)

    writer = Writer(f"{folder}/limit.db", tell)
    writer.start()
    clis = {f"s{number}": Cli(f"s{number}", writer) for number in range(sessions)}
    for cli in clis.values():
        await cli.start(argv)
    server = await asyncio.get_running_loop().create_server(lambda: Listener(clis, listeners), "127.0.0.1", 0)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1], "sessions": list(clis)}) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    from uvloop import new_event_loop

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
