"""Words found in a text that can't be read as bash would: enough for a deny rule to see its program, never to allow by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ropewalk.permissions.shell.model import Part, Word

_SPLIT = re.compile(r"[;&|\n\r()`{}<>]+")
_QUOTES = re.compile(r"\\\n|['\"\\\0]|\$(?=['\"])|[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_SPACE = re.compile(r"\s+")
_OPEN = re.compile(r"[$*?~\[]")
_LEAD = re.compile(r"(?:[A-Za-z_]\w*\+?=\S*\s+|(?:if|then|else|elif|while|until|do|time|!|function|coproc)\s+)+")


def found_words(command: str, doubt: str) -> Iterator[Part]:
    """Every stretch between operators as a doubtful command, quotes dropped."""
    for stretch in _SPLIT.split(command):
        text = _QUOTES.sub("", stretch).strip()
        lead = _LEAD.match(text)
        if lead is not None:
            text = text[lead.end() :]
        if text:
            words = tuple(Word(word, exact=_OPEN.search(word) is None) for word in _SPACE.split(text))
            yield Part("command", stretch.strip(), words, doubt=doubt, folder=None)
