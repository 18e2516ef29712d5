"""A person's keys on a terminal: one key, or one line. Refuses type-ahead: what was typed before it was asked for is thrown away.

Outside of a question the terminal is left as it was; signals (^C) stay signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from collections.abc import AsyncIterator, Iterator

SETTLE = 0.3
"""Seconds of silence before a key counts: whoever was typing something else when the card appeared has not answered it."""

NAMES = {"\x1b[Z": "shift-tab", "\x07": "^G", "\x04": "^D", "\n": "enter", "\r": "enter", "\x1b": "escape", "\t": "tab"}


class PersonGone(Exception):
    """The terminal was closed while a question waited."""


class Keyboard:
    """Keys of the terminal behind ``fd``. Use it inside ``async with keyboard.open()``."""

    def __init__(self, fd: int = 0) -> None:
        self._fd = fd
        self._plain = termios.tcgetattr(fd)
        self._inside = False
        self.is_lent = False
        """Another program has the terminal: its ^C is not ours."""

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """From here on keys come one by one, without echo; afterwards the terminal is as it was."""
        self._inside = True
        self._raw()
        try:
            yield
        finally:
            self._inside = False
            self._cooked()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Another program (an editor) has the terminal meanwhile."""
        self.is_lent = True
        self._cooked()
        try:
            yield
        finally:
            self.is_lent = False
            if self._inside:
                self._raw()

    @contextlib.contextmanager
    def line_by_line(self) -> Iterator[None]:
        """Keys come as lines, with the terminal's own editing and echo."""
        self._cooked()
        try:
            yield
        finally:
            if self._inside:
                self._raw()

    def again(self) -> None:
        """After a stop and ``fg``: the shell has set the terminal for itself."""
        if self._inside:
            self._raw()

    async def settle(self) -> None:
        """Return when nothing was typed for a moment; whatever was, is gone."""
        loop = asyncio.get_running_loop()
        self.flush()
        while True:
            typed = asyncio.Event()
            loop.add_reader(self._fd, typed.set)
            try:
                await asyncio.wait_for(typed.wait(), SETTLE)
            except TimeoutError:
                return
            finally:
                loop.remove_reader(self._fd)
            self._read()

    def flush(self) -> None:
        termios.tcflush(self._fd, termios.TCIFLUSH)

    async def key(self) -> str:
        """The next key: a character, or a name of ``NAMES``. Pasted text and unknown sequences are no key and are skipped."""
        while True:
            typed = (await self._bytes()).decode("utf-8", "replace")
            if typed in NAMES:
                return NAMES[typed]
            if len(typed) == 1 and typed.isprintable():
                return typed

    async def line(self) -> str | None:
        """A line; None for ^D on an empty one. Only inside ``with keyboard.line_by_line()``."""
        typed = b""
        while not typed.endswith(b"\n"):
            piece = await self._bytes(eof=True)
            if not piece:
                break
            typed += piece
        return typed.decode("utf-8", "replace").rstrip("\n") if typed else None

    async def _bytes(self, eof: bool = False) -> bytes:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._fd, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._fd)
        return self._read(eof)

    def _read(self, eof: bool = False) -> bytes:
        try:
            typed = os.read(self._fd, 65536)
        except OSError:  # EIO: the other end of the terminal is closed
            raise PersonGone from None
        if not typed and not eof:
            raise PersonGone
        return typed

    def _raw(self) -> None:
        """Keys one by one and unseen; ^C and ^Z still are what they are."""
        mode = termios.tcgetattr(self._fd)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    def _cooked(self) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._plain)
