"""A command's options told from its operands, as getopt would, with abbreviations and bundles. In doubt an option is given."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ropewalk.permissions.shell.model import Word

Role = Literal["flag", "value", "optional", "reads", "writes", "danger", "danger value"]
_TAKING = frozenset({"value", "reads", "writes", "danger value"})
_DANGEROUS = frozenset({"writes", "danger", "danger value"})
_OPEN = frozenset("$`*?[{~")


class Option(Struct, frozen=True):
    """``name`` as in the manual; ``why``: what it does, if that is dangerous."""

    name: str
    role: Role
    why: str = ""


class Given(Struct):
    """What a command line says: options with values, operands, and the words that could be anything."""

    options: list[tuple[Option, Word | None]]
    operands: list[Word]
    open: list[Word]
    unknown: list[str]
    first: int
    """Index of the first operand, or the number of words."""
    mentioned: list[Option]
    """Dangerous options in the place of another's value: a table can be wrong about who takes one."""


def given(words: tuple[Word, ...], known: dict[str, Option], *, leading: bool = False, start: int = 1) -> Given:
    """``leading``: options end at the first operand, as for programs that run another."""
    out = Given([], [], [], [], len(words), [])
    index, ended, count = start, False, len(words)
    while index < count:
        word = words[index]
        text = word.text
        if ended or not text.startswith("-") or text == "-":
            if (word.dash or word.several) and not ended:
                out.open.append(word)
            if not out.operands:
                out.first = index
                if leading:
                    return out
            out.operands.append(word)
        elif text == "--":
            ended = not _may_be_value(words, index, known)
            out.operands.extend(() if ended else (word,))
        else:
            index += _option(words, index, known, out)
        index += 1
    return out


def _option(words: tuple[Word, ...], index: int, known: dict[str, Option], out: Given) -> int:
    """Takes one option word in; gives how many further words were its value."""
    word = words[index]
    if word.several:
        out.open.append(word)
    is_long = word.text.startswith("--") or word.text.partition("=")[0] in known
    last = _long(word, known, out) if is_long else _bundle(word, known, out)
    if last is None or last.role not in _TAKING:
        return 0
    value = words[index + 1] if index + 1 < len(words) else None
    out.options[-1] = (last, value)
    if value is None:
        return 0
    if value.several:
        out.open.append(value)
    if value.text.startswith("-"):
        _mention(value, known, out)
    return 1


def _long(word: Word, known: dict[str, Option], out: Given) -> Option | None:
    """The option if its value is the next word."""
    name, equals, value = word.text.partition("=")
    if not word.exact and not _OPEN.isdisjoint(name):
        out.open.append(word)
        return None
    option = resolved(name, known)
    if option is None:
        out.unknown.append(name)
        return None
    out.options.append((option, Word(value, word.exact, word.several) if equals else None))
    return None if equals else option


def resolved(name: str, known: dict[str, Option]) -> Option | None:
    """By its name or an abbreviation of it; a dangerous one first."""
    if name in known:
        return known[name]
    if len(name) < 3 or not name.startswith("--"):
        return None
    meant = [option for spelling, option in known.items() if spelling.startswith(name)]
    for option in meant:
        if option.role in _DANGEROUS:
            return option
    return meant[0] if len(meant) == 1 else None


def _bundle(word: Word, known: dict[str, Option], out: Given) -> Option | None:
    """``-xo file``, ``-ofile``, ``-20``."""
    text = word.text
    for place in range(1, len(text)):
        letter = text[place]
        option = known.get("-" + letter)
        if option is None:
            if letter in _OPEN and not word.exact:
                out.open.append(word)
                return None
            if not letter.isdigit():
                out.unknown.append("-" + letter)
            continue
        if option.role in _TAKING or option.role == "optional":
            rest = text[place + 1 :]
            out.options.append((option, Word(rest, word.exact, word.several) if rest else None))
            return None if rest or option.role == "optional" else option
        out.options.append((option, None))
    return None


def _may_be_value(words: tuple[Word, ...], index: int, known: dict[str, Option]) -> bool:
    """Whether ``--`` could be the value of an option before it that nobody described."""
    before = words[index - 1].text if index > 1 else ""
    if not before.startswith("-") or "=" in before:
        return False
    option = known.get(before) or (known.get("-" + before[-1:]) if not before.startswith("--") else None)
    return option is None


def _mention(value: Word, known: dict[str, Option], out: Given) -> None:
    option = resolved(value.text.partition("=")[0], known)
    if option is None and not value.text.startswith("--"):
        option = known.get(value.text[:2])
    if option is not None and option.role in _DANGEROUS:
        out.mentioned.append(option)
