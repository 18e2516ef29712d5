"""How a program is described, and how a description is applied to a command's words. The descriptions are in programs/."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.options import Given, Option, Role, given

Operands = Literal[
    "reads", "writes", "nothing", "reads then one written", "one read, one written", "pattern then reads", "unknown"
]
"""What the operands are: files read, files written (also made, moved, removed), no files at all, or what nobody can tell."""

Also = Callable[[tuple[Word, ...], Given, Found], None]
"""What a table can't say: looks at the options and operands, adds to what was found."""


class Program(Struct, frozen=True):
    """Options by their spelling, what the operands are, and what else must be looked at."""

    options: dict[str, Option]
    operands: Operands = "unknown"
    also: Also | None = None
    risky: bool = False
    """One of its options is dangerous: a word that could be an option is then dangerous too."""
    harmless: bool = False
    closed: bool = False
    """All of its options are described: another one is not harmless only because nobody knows it."""


def program(
    *,
    flags: str = "",
    values: str = "",
    optional: str = "",
    reads: str = "",
    writes: str = "",
    danger: Mapping[str, str] | None = None,
    danger_values: Mapping[str, str] | None = None,
    operands: Operands = "unknown",
    also: Also | None = None,
    harmless: bool = False,
) -> Program:
    """Each option once: ``flags`` take no value, ``values`` one, ``optional`` only one that is written right behind.

    ``reads`` and ``writes`` take a file's name; ``danger`` (no value) and ``danger_values`` say in words what they do.
    """
    options: dict[str, Option] = {}
    roles: tuple[tuple[str, Role], ...] = ((flags, "flag"), (values, "value"), (optional, "optional"), (reads, "reads"))
    for names, role in roles:
        options.update({name: Option(name, role) for name in names.split()})
    options.update({name: Option(name, "writes", "writes a file") for name in writes.split()})
    for names, why in (danger or {}).items():
        options.update({name: Option(name, "danger", why) for name in names.split()})
    for names, why in (danger_values or {}).items():
        options.update({name: Option(name, "danger value", why) for name in names.split()})
    risky = bool(writes or danger or danger_values)
    return Program(options, operands, also, risky, harmless, closed=risky and bool(flags))


def look(words: tuple[Word, ...], described: Program, start: int = 1) -> Found:
    """What these words make the program do; ``start`` is where its options begin (behind a subcommand)."""
    said = given(words, described.options, start=start)
    found = Found(understood=not said.unknown and not said.open and described.operands != "unknown")
    for option, value in said.options:
        _option(option, value, found)
    for option in said.mentioned:
        found.dangerous(f"{option.name} {option.why}", option.name)
    if described.risky and said.open:
        text = said.open[0].text
        found.dangerous(f"“{text}” could be an option, and some options of this program write or run something", text)
    if described.closed and said.unknown:
        found.dangerous(f"{said.unknown[0]} is an option that nobody described", said.unknown[0])
    _operands(described.operands, said, found)
    if described.also is not None:
        described.also(words, said, found)
    found.harmless = described.harmless and not found.danger and not found.doubt
    return found


_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "-")


def _option(option: Option, value: Word | None, found: Found) -> None:
    if option.role == "writes" and value is not None and value.exact and value.text in _NOWHERE:
        return
    if option.role in ("reads", "writes"):
        _file(value, found.reads if option.role == "reads" else found.writes, found)
    if option.why:
        found.dangerous(f"{option.name} {option.why}", option.name)


def _operands(kind: Operands, said: Given, found: Found) -> None:
    operands = said.operands
    if kind == "reads":
        _files(operands, found.reads, found)
    elif kind == "writes":
        _files(operands, found.writes, found)
    elif kind == "reads then one written":
        _files(operands[:-1], found.reads, found)
        _files(operands[-1:], found.writes, found)
    elif kind == "one read, one written":
        _files(operands[:1], found.reads, found)
        _files(operands[1:], found.writes, found)
    elif kind == "pattern then reads":
        named = any(option.name in ("-e", "--regexp", "-f", "--file") for option, _ in said.options)
        _files(operands if named else operands[1:], found.reads, found)


def _files(words: list[Word], files: list[str], found: Found) -> None:
    for word in words:
        _file(word, files, found)


def _file(word: Word | None, files: list[str], found: Found) -> None:
    if word is None or word.text == "-":
        return
    files.append(word.text)
    found.understood = found.understood and word.exact


def words_read(words: tuple[Word, ...], start: int, found: Found) -> None:
    """For programs whose operands begin at ``start`` and are all read."""
    _files(list(words[start:]), found.reads, found)
