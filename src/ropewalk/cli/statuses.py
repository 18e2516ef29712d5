"""Sessions, statuses and times in the few words and signs of every list. Pure: refuses to ask, and to know what time it is."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from ..events.views import SessionView
from .asked import check_choice
from .codes import INSTALL
from .screen import Glyphs


class Word(NamedTuple):
    glyph: str
    """A name of ``Glyphs``."""
    word: str
    style: str
    why: str
    """Said where the hub gives no reason of its own."""


STATUSES: dict[str, Word] = {
    "waiting": Word("asks", "waiting", "amber", "it asks something"),
    "thinking": Word("works", "thinking", "", "at work"),
    "running_tool": Word("works", "running", "", "a tool is running"),
    "rate_limited": Word("limited", "limit", "", "goes on when the limit is reset"),
    "compacting": Word("works", "compacting", "", "making room in the context"),
    "background": Word("works", "background", "", "a task goes on in the background"),
    "starting": Word("works", "starting", "", "waiting for claude"),
    "idle": Word("ready", "ready", "dim", "no prompt waits"),
    "asleep": Word("sleeps", "asleep", "dim", "your next prompt wakes it"),
    "stopped": Word("stopped", "stopped", "dim", "stopped; a prompt wakes it"),
    "failed": Word("failed", "failed", "red", "it failed; the log says how"),
    "unreachable": Word("away", "away", "dim", "its machine is out of reach; turns go on there"),
}
OTHER = Word("warns", "", "", "a status that this ropewalk does not know")

FIXES = {
    "answer": "ropewalk answer {id}",
    "interrupt": "ropewalk interrupt {id}",
    "wake": "ropewalk wake {id}",
    "sign_in": "run `claude` and sign in with /login, then: ropewalk wake {id}",
    "send_again": 'ropewalk prompt {id} "…"',
    "choose_folder": 'ropewalk new --cwd DIR "…"',
    "change_model": "wait, or take another model",
    "check_account": "check the account's billing",
    "raise_budget": 'ropewalk run --max-budget-usd MORE "…"',
    "stop_task": "ropewalk stop {id}",
    "install_claude": f"{INSTALL}   or try: ropewalk run --sim hello",
}
"""The hub's verbs for what would help → what to type."""

STAND_IN = "(stand-in)"


GROUPS = ("needs_you", "working", "quiet")


def status_meant(word: str) -> str:
    """A group, a status by its name, or by the word that lists show for it. Raises ``UsageError``."""
    shown = {one.word: status for status, one in STATUSES.items()}
    known = (*GROUPS, *STATUSES, *shown)
    check_choice("status", word, tuple(dict.fromkeys(known)))
    return word if word in (*GROUPS, *STATUSES) else shown[word]


def word_of(status: str) -> Word:
    return STATUSES.get(status, OTHER._replace(word=status))


def glyph_of(view: SessionView, glyphs: Glyphs) -> str:
    return str(getattr(glyphs, word_of(view.status).glyph))


def why_of(view: SessionView) -> str:
    """Never empty."""
    return view.why or word_of(view.status).why


def fix_of(view: SessionView, shown: str) -> str:
    """What to type, where something would help."""
    if not view.fix:
        return f"ropewalk logs {shown}" if view.status == "failed" else ""
    return FIXES.get(view.fix, view.fix.replace("_", " ")).format(id=shown)


def title_of(view: SessionView) -> str:
    """The session's name; one on the stand-in is marked as such, first, so that it is not cut off."""
    title = view.title or "(no title)"
    return f"{STAND_IN} {title}" if view.sim else title


def span(seconds: float) -> str:
    """How long ago, in one unit: 12 s, 26 min, 3 h, 2 d."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 48 * 3600:
        return f"{whole // 3600} h"
    return f"{whole // 86400} d"


def clock(at: float, form: str = "%H:%M:%S") -> str:
    """A time of day here."""
    try:
        return datetime.datetime.fromtimestamp(at, tz=datetime.UTC).astimezone().strftime(form)
    except (OverflowError, OSError, ValueError):
        return "?"


def mebibytes(size: float) -> str:
    return f"{size / 2**30:.1f} GB" if size >= 2**30 else f"{size / 2**20:.0f} MB"
