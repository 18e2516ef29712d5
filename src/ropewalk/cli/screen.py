"""The two streams of a command: the answer on stdout, talk on stderr. Refuses to write anything that was not made harmless.

Knows whether both end in the same terminal (then a line of talk may not land in the midst of a line of the answer), and draws one
line that passes: what is under way right now.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TextIO

from .safe import cut, harmless, letters, pad, wrap

STYLES = {"amber": "33", "red": "31", "dim": "2", "bold": "1", "token": "7;33", "green": "32", "qr": "38;5;231;48;5;16"}
"""Amber is spent on what needs a person, red on failures."""

ERASE = "\r\x1b[K"
UNCUT = 10_000
"""Columns of a list that nobody looks at."""
OWN = re.compile(f"(\x1b\\[(?:0|{'|'.join(STYLES.values())})m)")


@dataclass(frozen=True, slots=True)
class Glyphs:
    asks: str = "◆"
    works: str = "◔"
    done: str = "✓"
    failed: str = "✕"
    warns: str = "!"
    dot: str = "·"
    go: str = "›"
    dots: str = "…"
    carry: str = "↳"
    ready: str = "○"
    sleeps: str = "☾"
    stopped: str = "■"
    limited: str = "⧗"
    away: str = "◌"


ASCII = Glyphs(
    asks="!", works="*", done="o", failed="x", warns="!", dot="-", go=">", dots="...", carry="\\",
    ready="o", sleeps="z", stopped="#", limited="%", away="?",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """How things are drawn."""

    color: bool = False
    ascii: bool = False
    width: int = 80
    height: int = 24
    live: bool = False
    """The line that passes may be drawn: stderr is a terminal that can erase."""
    shared: bool = False
    """stdout and stderr are the same terminal."""
    quiet: bool = False
    verbose: bool = False

    @property
    def glyphs(self) -> Glyphs:
        return ASCII if self.ascii else Glyphs()


def look_around(
    color: str = "auto", *, ascii_only: bool = False, quiet: bool = False, verbose: bool = False, answer: bool = False
) -> Look:
    """What this process's streams allow. ``answer``: what is drawn goes to stdout, not to stderr."""
    out, err = sys.stdout.isatty(), sys.stderr.isatty()
    stream, drawn = (sys.stdout, out) if answer else (sys.stderr, err)
    dumb = os.environ.get("TERM", "") in ("", "dumb")
    wanted = color == "always" or (color == "auto" and drawn and not os.environ.get("NO_COLOR") and not dumb)
    width, height = _size(stream.fileno()) if drawn else (_piped_width(answer), 24)
    plain = ascii_only or "utf" not in (stream.encoding or "").lower()
    return Look(wanted, plain, width, height, err and not dumb, out and err, quiet, verbose)


def _piped_width(answer: bool) -> int:
    """What goes into a pipe is read by a program: a list is cut only where somebody says how wide it is."""
    told = os.environ.get("COLUMNS", "")
    return max(int(told), 40) if told.isdecimal() and len(told) < 6 else UNCUT if answer else 80


def _size(descriptor: int) -> tuple[int, int]:
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:
        return 80, 24
    return (max(size.columns, 40), max(size.lines, 10)) if size.columns else (80, 24)


class Screen:
    """Writes. ``answer`` goes to stdout, everything else to stderr."""

    def __init__(self, look: Look, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.look = look
        self._out, self._err = out or sys.stdout, err or sys.stderr
        self._mid_line = False  # the answer's last character was no newline
        self._in_block = False
        self._answered = False
        self._talked = False  # since the answer's last character
        self._status = False
        self._held = ""  # a carriage return at the end of a piece: it may be half of a line break

    def resized(self) -> None:
        """The window has another size from here on; what is drawn stays as it is."""
        if self._err.isatty():
            width, height = _size(self._err.fileno())
            self.look = replace(self.look, width=width, height=height)

    # -- the answer

    def answer(self, text: str) -> None:
        """A piece of the answer, as it comes."""
        text, self._held = self._held + text, ""
        if text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        if not text:
            return
        self._erase()
        if not self._in_block and self._answered and not (self.look.shared and self._talked):
            self._write(self._out, "\n")
        self._write(self._out, harmless(text, ascii_only=self.look.ascii))
        self._in_block = self._answered = True
        self._talked = False
        self._mid_line = not text.endswith("\n")

    def end_answer(self) -> None:
        """The block is complete: the next one begins on a line of its own, behind an empty one."""
        self._held = ""
        if self._mid_line:
            self._write(self._out, "\n")
        self._mid_line = self._in_block = False

    def bytes(self, line: bytes) -> None:
        """A line of the CLI, verbatim, to stdout."""
        self._erase()
        self._out.flush()
        self._out.buffer.write(line + b"\n")
        self._out.flush()

    def row(self, line: str = "") -> None:
        """A line of an answer that we draw ourselves, a table for one: to stdout, with our own colours."""
        self._erase()
        self._write(self._out, self._own_colours_only(line) + "\n")

    def object(self, text: str) -> None:
        """JSON to stdout."""
        self._erase()
        self._write(self._out, text + "\n")

    # -- talk

    def talk(self, line: str = "") -> None:
        """A line that nobody needs to act on; left out when quiet."""
        if not self.look.quiet:
            self.say(line)

    def say(self, line: str = "") -> None:
        """A line that is said in any case: questions, warnings, errors."""
        self.put(line + "\n")

    def lines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.say(line)

    def put(self, text: str) -> None:
        """Without a newline: what a person's answer stands behind."""
        self._erase()
        if self._mid_line and self.look.shared:
            self._write(self._out, "\n")
            self._mid_line = False
        self._write(self._err, self._own_colours_only(text))
        self._talked = True

    def status(self, text: str) -> None:
        """The line that passes; gone with the next word. Only at the start of a line, on a terminal."""
        if not self.look.live or self.look.quiet or (self._mid_line and self.look.shared):
            return
        shown = cut(f"  {self.look.glyphs.works} {text}", self.look.width - 1, self.look.glyphs.dots)
        self._write(self._err, ERASE + self.paint("dim", shown))
        self._status = True

    # -- words and colours

    def paint(self, style: str, text: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.look.color and text else text

    def key(self, key: str, words: str) -> str:
        return f"{self.paint('bold', key)}  {words}"

    def keys(self, pairs: Iterable[tuple[str, str]]) -> list[str]:
        """Keys with their words side by side, in as many rows as the width asks for."""
        rows: list[str] = []
        used = self.look.width
        for key, words in pairs:
            width = len(key) + len(words) + 5
            if used + width > self.look.width:
                rows.append(" ")
                used = 1
            rows[-1] += f" {self.key(key, words)}  "
            used += width
        return [row.rstrip() for row in rows]

    def letters(self, text: str) -> str:
        """What a person decides about, letter by letter."""
        return letters(text, ascii_only=self.look.ascii, mark=lambda token: self.paint("token", token))

    def wrapped(self, line: str, room: int) -> list[str]:
        """One line, letter by letter, in as many rows as it takes; at least one."""
        return [self.letters(piece) for piece in wrap(line, max(20, room), ascii_only=self.look.ascii)]

    def harmless(self, text: str) -> str:
        return harmless(text, ascii_only=self.look.ascii)

    def columns(self, text: str, room: int) -> str:
        """Cut or padded to ``room`` columns."""
        return pad(cut(text, room, self.look.glyphs.dots), room)

    def _own_colours_only(self, text: str) -> str:
        """The last gate: whoever draws makes what came from elsewhere harmless; what was forgotten is caught here."""
        return "".join(part if index % 2 else self.harmless(part) for index, part in enumerate(OWN.split(text)))

    def _erase(self) -> None:
        if self._status:
            self._status = False
            self._write(self._err, ERASE)

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()
