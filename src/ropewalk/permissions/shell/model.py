"""What a command taken apart consists of: words, parts, the script. Facts only: no rule and no verdict is known here."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["command", "redirect", "assignment", "substitution", "heredoc"]


class Word(Struct, frozen=True, gc=False):
    """One word as the program would get it. ``text`` of a word that is not exact keeps its open pieces (``$x``, ``*``, ``~``)."""

    text: str
    exact: bool = True
    """Bash would give exactly this one word: quotes removed, nothing left to expand."""
    several: bool = False
    """Not exact, and it may also become no word or more than one (an unquoted ``$x``, a glob, braces)."""
    dash: bool = False
    """Not exact, and it may begin with a dash: a program could take it for an option."""


class Part(Struct, frozen=True):
    """One thing that a command does: each has a verdict of its own, and the strictest is the whole's."""

    kind: Kind
    text: str
    """As it stands in the command."""
    words: tuple[Word, ...] = ()
    """A command's words; of an assignment its name and its value."""
    reads: tuple[str, ...] = ()
    """Files that it would open for reading: unquoted, not resolved, relative to ``folder``."""
    writes: tuple[str, ...] = ()
    """Files that it would write, make, move or remove."""
    understood_files: bool = False
    """``reads`` and ``writes`` are complete: the program and all of its words are known."""
    danger: str = ""
    """An option or operand that writes, runs or redirects, in words. Only a rule that holds ``danger_words`` allows it."""
    danger_words: tuple[str, ...] = ()
    """What makes it dangerous, as it is spelled in the manual (``--output``, ``-exec``), so that a rule can name it."""
    doubt: str = ""
    """Bash might read it otherwise, or nobody can tell what it does: only a person decides (or a deny rule)."""
    folder: str | None = ""
    """Where it runs, relative to the start; absolute after ``cd /x``; None when that is not known any more."""
    folders: tuple[str, ...] = ()
    """Where ``folder`` is None, but it must be one of these."""
    inner: bool = False
    """It is run by the part before it that has ``wrapper``."""
    wrapper: bool = False
    """It runs the inner parts that follow and does nothing else worth a verdict (``time``, ``env``, ``xargs`` …)."""
    harmless: bool = False
    """A builtin or tool that, with these words, changes nothing and opens no file (``cd``, ``echo``, ``true``, ``[``)."""


class Script(Struct, frozen=True):
    """The whole command. With ``doubt`` the parts are what could be found: enough to deny by, not to allow by."""

    parts: tuple[Part, ...]
    doubt: str = ""


def names(text: str) -> list[str]:
    """Names in one line, for tables."""
    return text.split()
