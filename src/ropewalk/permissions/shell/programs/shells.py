"""Shells that are given a command: an exact one is taken apart in turn, everything else they would run is a doubt."""

from __future__ import annotations

import re
from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word
from ropewalk.permissions.shell.program import Program

_OTHERWISE = re.compile(
    r"\$['\"\[]|&>|>&(?![0-9-])|\|&|<<<|[<>]\(|\[\[|\(\(|;;?&|\+=|\b(?:function|coproc|select|source|time)\b|\{[^}\s]*(?:,|\.\.)"
)
_FLAGS = frozenset("ceuxl")


def _shell(words: tuple[Word, ...]) -> Found:
    """``bash -c '…'``, ``bash -lc '…'``; with a script, from standard input or with other options it is a doubt."""
    command = False
    for word in words[1:]:
        text = word.text
        if not word.exact:
            return _doubtful(words, f"what {words[0].text} runs can't be told: “{text}”")
        if text in ("--version", "--help") and len(words) == 2:
            return Found(understood=True, harmless=True)
        if text.startswith("-") and len(text) > 1 and set(text[1:]) <= _FLAGS:
            command = command or "c" in text
        elif not command or text.startswith(("-", "+")):
            return _doubtful(words, f"{words[0].text} {text} runs what nobody has looked at")
        elif other_for(words[0].text, text):
            return Found(
                doubt=f"{words[0].text} need not be bash, and reads “{other_for(words[0].text, text)}” otherwise", scripts=[text]
            )
        else:
            return Found(wrapper=True, understood=True, scripts=[text])
    return Found(doubt=f"{words[0].text} runs what it reads")


def other_for(shell: str, script: str) -> str:
    """What in this script a plain shell (dash, for one) reads otherwise than bash: ``ls &>x rm y`` runs rm there."""
    found = None if shell.rpartition("/")[2] in ("bash", "zsh") else _OTHERWISE.search(script)
    return found.group() if found else ""


def _doubtful(words: tuple[Word, ...], why: str) -> Found:
    """Its longer words are looked into all the same, for rules that deny."""
    return Found(doubt=why, scripts=[word.text for word in words[1:] if " " in word.text][:3])


def _read(words: tuple[Word, ...]) -> Found:
    return Found(doubt=f"what {words[0].text} runs is not looked into")


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh"), _shell),
    **dict.fromkeys(("fish", "csh", "tcsh", "pwsh", "powershell", "nu", "elvish", "xonsh", "busybox", "toybox"), _read),
}
