"""A second reader, tree-sitter-bash: where it stumbles, or sees a command that ours does not, nobody is sure. It decides no more.

Its trees are not used: it gives ``a && b 2>&1 | c`` another shape than bash does (measured, 0.25.1).
"""

from __future__ import annotations

import re

import tree_sitter_bash
from tree_sitter import Language, Parser, Query, QueryCursor

_HARD = re.compile(r"[\\`(){}<#!\[\]\n]")
"""Without any of these a text is words, quotes and operators. It is not asked then: for pipelines it takes 100 µs."""

_BASH = Language(tree_sitter_bash.language())
_NAMES = Query(_BASH, "(command_name) @name")


def disagrees(command: str, begins: set[int]) -> str:
    """``begins``: where our reader saw commands begin. Why the two don't agree, or nothing."""
    if _HARD.search(command) is None:
        return ""
    text = command.encode()
    root = Parser(_BASH).parse(text).root_node
    if root.has_error:
        return "a second reader of the command does not understand it"
    for node in QueryCursor(_NAMES).captures(root).get("name", ()):
        start = node.start_byte
        if start not in begins or len(text) != len(command):
            place = len(text[:start].decode(errors="replace"))
            if place not in begins:
                return f"a second reader sees a command in it at “{command[place : place + 30]}”"
    return ""
