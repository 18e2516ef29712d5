"""A person at a terminal with ropewalk behind it: reads what is drawn, presses keys. Refuses to sleep: it waits for words."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

GUARD = 30.0
OURS = re.compile(rb"\x1b\[[0-9;]*m|\r\x1b\[K")
"""Every escape sequence that ropewalk itself draws with: colours, and the erasing of the line that passes."""

ENTER, CTRL_C, CTRL_D, CTRL_G, ESCAPE, SHIFT_TAB = "\r", "\x03", "\x04", "\x07", "\x1b", "\x1b[Z"


class Terminal:
    """``with Terminal([...words...], cwd, env) as terminal``; leaving it ends what is left, by pid."""

    def __init__(self, words: Sequence[str], cwd: Path, env: Mapping[str, str], columns: int = 100, rows: int = 40) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.raw = b""
        self._read_to = 0
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ropewalk", *words],
            stdin=slave, stdout=slave, stderr=slave, cwd=cwd, env=dict(env), start_new_session=True, preexec_fn=_own_terminal,
        )  # fmt: skip

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(GUARD)
            except subprocess.TimeoutExpired:
                os.kill(self.process.pid, signal.SIGKILL)
                self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    @property
    def text(self) -> str:
        """Everything drawn so far, without colours, lines that passed left out."""
        lines = OURS.sub(lambda found: b"\0" if found[0].startswith(b"\r") else b"", self.raw).decode("utf-8", "replace")
        return "\n".join(line.rsplit("\0", 1)[-1] for line in lines.replace("\r\n", "\n").split("\n"))

    def until(self, words: str) -> str:
        """Wait until this is drawn, after what was waited for before; the text in between, with it."""
        end = time.monotonic() + GUARD
        while (found := self.text.find(words, self._read_to)) < 0:
            if not self._more(end):
                raise AssertionError(f"{words!r} was not drawn. After {self.text[: self._read_to][-60:]!r} came:\n{self.rest}")
        seen = self.text[self._read_to : found + len(words)]
        self._read_to = found + len(words)
        return seen

    def until_raw(self, words: bytes) -> None:
        """Wait until this was drawn at all, in a line that passes too."""
        end = time.monotonic() + GUARD
        while words not in self.raw:
            assert self._more(end), f"{words!r} was not drawn:\n{self.text}"

    @property
    def rest(self) -> str:
        return self.text[self._read_to :]

    def resize(self, columns: int, rows: int = 40) -> None:
        """The window gets another size; the kernel tells the program."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def press_alone(self, key: str) -> None:
        """A key that is read before the next one is pressed: keys that come together count as a paste."""
        before, end = self._bytes_read(), time.monotonic() + GUARD
        self.press(key)
        while self._bytes_read() < before + len(key.encode()):
            self._more(end, patience=0.01)
            assert time.monotonic() < end, f"{key!r} is not read"

    def _bytes_read(self) -> int:
        """By the whole process; while a question is open nothing but keys comes."""
        return int(Path(f"/proc/{self.process.pid}/io").read_text().split()[1])

    def end(self) -> int:
        """Wait for the end; the exit code."""
        end = time.monotonic() + GUARD
        while self.process.poll() is None:
            self._more(end, patience=0.05)
            assert time.monotonic() < end, f"it did not end:\n{self.text}"
        while self._more(time.monotonic() + 0.2, patience=0.05):
            pass
        return self.process.returncode

    @property
    def modes(self) -> list[object]:
        """How the terminal is set now."""
        return termios.tcgetattr(self._slave)

    def _more(self, end: float, patience: float | None = None) -> bool:
        """Read what came; False when nothing did in time, or nothing can any more."""
        wait = max(0.0, end - time.monotonic()) if patience is None else patience
        ready, _, _ = select.select([self._master], [], [], wait)
        if not ready:
            return False
        try:
            piece = os.read(self._master, 1 << 16)
        except OSError:
            return False
        self.raw += piece
        return bool(piece)


def _own_terminal() -> None:
    """In the child: its stdin becomes the terminal that ^C comes from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
