"""What was said of a command against what bash did with it: all that ran and was made must have been said, and allowed."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import NamedTuple

from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Request
from ropewalk.permissions.rulebook import Rulebook
from ropewalk.permissions.rules import parse_rule
from ropewalk.permissions.shell import Part, Script, Word, taken_apart

from .generate import commands
from .jail import Ran, ran


def is_sure(script: Script) -> bool:
    return not script.doubt and not any(part.doubt for part in script.parts)


def unsaid(script: Script, done: Ran) -> str:
    """The first program or file that the script did not speak of, or nothing."""
    said = [part for part in script.parts if part.kind == "command" and part.words]
    for argv in done.argv:
        if not any(_fits(part.words, argv) for part in said):
            return f"ran {argv}"
    places = {place for part in script.parts for name in part.writes for place in _places(part, name)}
    if any(part.writes and part.folder is None and not part.folders for part in script.parts):
        return ""
    return next((f"made {name}" for name in done.made if name not in places), "")


def _places(part: Part, name: str) -> list[str]:
    folders = part.folders or (() if part.folder is None else (part.folder,))
    return [posixpath.normpath(posixpath.join(folder, name)) for folder in folders]


def _fits(words: Sequence[Word], argv: Sequence[str]) -> bool:
    """Exact words as they are; one that may be several takes as many as are there."""
    if not words:
        return not argv
    first = words[0]
    if first.several:
        return any(_fits(words[1:], argv[taken:]) for taken in range(len(argv) + 1))
    if not argv or (first.exact and first.text != argv[0]):
        return False
    return _fits(words[1:], argv[1:])


class Compared(NamedTuple):
    """``sure``: taken apart without a doubt; ``allowed``: by the rules below; ``wrong``: commands and what they did unsaid."""

    sure: int
    allowed: int
    wrong: list[tuple[str, str]]


def differential(seed: int, count: int, batch: int = 1000) -> Compared:
    """Random commands: nothing that is not in doubt does what was not said, nothing allowed does what no rule allows.

    Raises NoJail.
    """
    sure, allowed, wrong = 0, 0, []
    texts = list(commands(seed, count))
    for start in range(0, count, batch):
        trusted = [(text, script) for text in texts[start : start + batch] if is_sure(script := taken_apart(text))]
        sure += len(trusted)
        for (text, script), done in zip(trusted, ran(text for text, _ in trusted), strict=True):
            by_rules = decide(Request("Bash", {"command": text}, CWD), BOOK).behavior == "allow"
            allowed += by_rules
            if problem := unsaid(script, done) or (unruled(script, done) if by_rules else ""):
                wrong.append((text, problem))
    return Compared(sure, allowed, wrong)


ALLOWED: tuple[tuple[str, ...], ...] = (
    ("git", "status"), ("ls",), ("cat",), ("npm", "a.py"), ("npm", "x=1"), ("wc",), ("id",), ("no",), ("cargo",),
)  # fmt: skip
"""First words of commands that may run; the others, ``evil`` before all, may not."""
WRITABLE = ("out", "err")
CWD = "/home/mia/shop"
BOOK = Rulebook((
    *(parse_rule(f"Bash({' '.join(words)}:*)", "allow") for words in ALLOWED),
    *(parse_rule(f"Edit({name})", "allow") for name in WRITABLE),
    parse_rule("Bash(evil:*)", "deny"),
))  # fmt: skip


def unruled(script: Script, done: Ran) -> str:
    """The first program that ran, or file that was made, though no rule speaks of it; or nothing.

    What only runs another program needs no rule: damage makes ``ash`` of ``bash``, which is not there to go on.
    """
    wrappers = {part.words[0].text for part in script.parts if part.wrapper and part.words}
    for argv in done.argv:
        if argv[0] not in wrappers and not any(tuple(argv[: len(words)]) == words for words in ALLOWED):
            return f"ran {argv}, which no rule allows"
    return next((f"made {name}, which no rule allows" for name in done.made if name not in WRITABLE), "")
