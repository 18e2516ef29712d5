"""A hub that is a process of its own, to be killed: hears one CLI, writes each line to a file, and only then acknowledges it.

``hub_process.py <socket> <epoch> <process> <file>``. It goes on after the last line that the file has whole, as a hub with a
database would.
"""

from __future__ import annotations

import asyncio
import os
import sys

from ropewalk.transports.base import End
from ropewalk.transports.runner import RunnerLink


class Keeping:
    def __init__(self, link: RunnerLink, process: str, file: int) -> None:
        self._link, self._process, self._file = link, process, file
        self.over = asyncio.Event()

    def lines(self, first: int, data: bytes) -> None:
        rows = b"".join(b"%d %s\n" % (first + at, line.hex().encode()) for at, line in enumerate(data.split(b"\n")[:-1]))
        os.write(self._file, rows)
        self._link.stored(self._process, first + data.count(b"\n") - 1)

    def dropped(self, first: int, count: int, size: int, beginning: bytes, why: str) -> None:
        os.write(self._file, b"%d dropped\n" % first)

    def written(self, key: str) -> None: ...
    def unwritten(self, key: str, why: str) -> None: ...
    def rung(self, name: str) -> None: ...
    def held(self, why: str) -> None: ...

    def ended(self, end: End, last: int) -> None:
        os.write(self._file, b"%d end\n" % (last + 1))
        self.over.set()


def stored_lines(path: str) -> list[tuple[int, str]]:
    """What the file has; half a row at its end does not count."""
    with open(path, "rb") as file:
        rows = file.read().rpartition(b"\n")[0].split(b"\n")
    return [(int(number), text) for number, _, text in (row.decode().partition(" ") for row in rows if row)]


async def main(socket: str, epoch: str, process: str, path: str) -> None:
    rows = stored_lines(path) if os.path.exists(path) else []
    if any(text == "end" for _, text in rows):
        return
    whole = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    content = os.pread(whole, os.fstat(whole).st_size, 0)
    os.ftruncate(whole, content.rfind(b"\n") + 1)
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    link = RunnerLink(socket, int(epoch))
    hearing = Keeping(link, process, file)
    link.attach(process, max((number for number, _ in rows), default=0), hearing)
    await link.open()
    await hearing.over.wait()
    await link.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
