"""What was said of a command against what bash did with it: all that ran and was made must have been said."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from ropewalk.permissions.shell import Part, Script, Word, taken_apart
from tests.permissions.generate import commands
from tests.permissions.jail import Ran, ran


def is_sure(script: Script) -> bool:
    return not script.doubt and not any(part.doubt for part in script.parts)


def unsaid(script: Script, done: Ran) -> str:
    """The first program or file that the script did not speak of, or nothing."""
    said = [part for part in script.parts if part.kind == "command" and part.words]
    for argv in done.argv:
        if not any(_fits(part.words, argv) for part in said):
            return f"ran {argv}"
    places = {place for part in script.parts for name in part.writes if (place := _place(part, name)) is not None}
    if any(part.writes and part.folder is None for part in script.parts):
        return ""
    return next((f"made {name}" for name in done.made if name not in places), "")


def _place(part: Part, name: str) -> str | None:
    return None if part.folder is None else posixpath.normpath(posixpath.join(part.folder, name))


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


def differential(seed: int, count: int, batch: int = 1000) -> tuple[int, list[tuple[str, str]]]:
    """How many of the commands were taken apart without a doubt, and those of them that did something unsaid. Raises NoJail."""
    sure, wrong = 0, []
    texts = list(commands(seed, count))
    for start in range(0, count, batch):
        trusted = [(text, script) for text in texts[start : start + batch] if is_sure(script := taken_apart(text))]
        sure += len(trusted)
        for (text, script), done in zip(trusted, ran(text for text, _ in trusted), strict=True):
            problem = unsaid(script, done)
            if problem:
                wrong.append((text, problem))
    return sure, wrong
