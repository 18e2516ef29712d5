"""stdin and stdout of the stand-in: whole lines in, whole lines out, both noted first. Refuses to understand them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import Protocol

from .ledger import Ledger
from .session import Json

READ_SIZE = 64 * 1024


class Road(Protocol):
    """Where bytes come from and go to: the standard pipes, or a link (see links.py)."""

    def start(self, feed: Callable[[bytes], None], ended: Callable[[], None]) -> None: ...
    def write(self, line: bytes) -> None: ...


class Pipes:
    """The standard pipes. Reading is a thread of its own, so that any kind of file works; writing blocks, as on the real CLI."""

    def start(self, feed: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        def read() -> None:
            while chunk := os.read(0, READ_SIZE):
                feed(chunk)
            ended()

        threading.Thread(target=read, name="stdin", daemon=True).start()

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(1, view) :]
        except BrokenPipeError:  # nobody listens any more
            os._exit(1)


class Answer:
    """``--output-format`` text or json: nothing is said but the last result."""

    def __init__(self, whole: bool) -> None:
        self._whole = whole

    def start(self, feed: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        ended()

    def write(self, line: bytes) -> None:
        message = json.loads(line)
        if message.get("type") == "result":
            text = message.get("result", "\n".join(message.get("errors", [])))
            Pipes().write(line if self._whole else f"{text}\n".encode())


class Wire:
    """Lines both ways over a road, with the ledger in front."""

    def __init__(self, road: Road, ledger: Ledger | None) -> None:
        self.road = road
        self.lines_out = 0
        self._ledger = ledger
        self._rest: list[bytes] = []

    def split(self, chunk: bytes) -> list[bytes]:
        """The whole lines in what has come so far, without their ends."""
        if b"\n" not in chunk:
            self._rest.append(chunk)
            return []
        *lines, rest = b"".join([*self._rest, chunk]).split(b"\n")
        self._rest = [rest]
        for line in lines:
            self.note("in", line)
        return lines

    def last(self) -> list[bytes]:
        """What stood after the last newline when the input ended."""
        rest, self._rest = b"".join(self._rest), []
        if rest:
            self.note("in", rest)
        return [rest] if rest else []

    def send(self, line: Json) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        try:
            self.send_bytes(text.encode())
        except UnicodeEncodeError:  # a lone surrogate: escaped, as the real one writes it
            self.send_bytes(json.dumps(line, separators=(",", ":")).encode())

    def send_bytes(self, line: bytes, end: bytes = b"\n") -> None:
        self.note("out", line)
        self.lines_out += 1
        self.road.write(line + end)

    def note(self, direction: str, line: bytes) -> None:
        if self._ledger is not None:
            self._ledger.note(direction, line)
