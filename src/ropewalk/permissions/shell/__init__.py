"""A shell command taken apart into what it would run, read and write. Runs nothing, opens nothing, and never raises."""

from __future__ import annotations

from ropewalk.permissions.shell.crude import found_words
from ropewalk.permissions.shell.distrust import LONGEST, odd_text
from ropewalk.permissions.shell.grammar import tree_of
from ropewalk.permissions.shell.model import Kind, Part, Script, Word
from ropewalk.permissions.shell.second import disagrees
from ropewalk.permissions.shell.tree import Lost
from ropewalk.permissions.shell.walk import Walk

__all__ = ["Kind", "Part", "Script", "Word", "taken_apart"]


def taken_apart(command: str) -> Script:
    """The parts of a command, with what is doubtful said; a doubt of the whole means that only a person can judge it."""
    odd = odd_text(command)
    walk = Walk()
    begins: set[int] = set()
    try:
        walk.listing(tree_of(command[:LONGEST], begins=begins), "")
        odd = odd or disagrees(command, begins)
    except Lost as lost:
        return Script((*walk.parts, *found_words(command[:LONGEST], odd or lost.reason)), odd or lost.reason)
    except RecursionError:
        return Script(tuple(found_words(command[:LONGEST], "it is nested too deep")), "it is nested too deep")
    if odd:
        return Script((*walk.parts, *found_words(command[:LONGEST], odd)), odd)
    return Script(tuple(walk.parts))
