"""Editors: each of them can run commands and write any file, from its command line or from the keyboard."""

from __future__ import annotations

from collections.abc import Callable

from ropewalk.permissions.shell.found import Found
from ropewalk.permissions.shell.model import Word, names
from ropewalk.permissions.shell.program import Program


def _editor(words: tuple[Word, ...]) -> Found:
    found = Found()
    found.dangerous(f"{words[0].text} is an editor: it can write any file and run commands", words[0].text)
    found.writes = [word.text for word in words[1:] if not word.text.startswith(("-", "+"))]
    return found


PROGRAMS: dict[str, Program | Callable[[tuple[Word, ...]], Found]] = {
    **dict.fromkeys(
        names("vi vim nvim view vimdiff ex ed red nano pico emacs emacsclient joe micro hx helix kak mg jed ne"), _editor
    ),
    **dict.fromkeys(names("code cursor subl atom gedit kate open xdg-open start"), _editor),
}
