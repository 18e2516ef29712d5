"""``rules try`` and ``suggest``: what a rule would have changed, and which would have helped. Refuses to save any."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from ...errors import UsageError
from ...events.views import Page, TrialLine, TrialView
from ...sessions.figures import count
from ..codes import DONE
from ..home import home_path
from ..statuses import clock
from .asking import Asking
from .meant import behavior_meant, place_meant

LISTED = 20
"""Lines of each kind; --json has more."""


AFTER = {"allow": "allowed", "deny": "denied", "ask": "asked"}
BEFORE = {"allow": "allowed by a rule", "deny": "denied by a rule", "ask": "asked"}


async def try_rule(asking: Asking, *, words: Sequence[str], where: str | None, session: str | None, last: int) -> int:
    if len(words) > 2:
        raise UsageError(f"one rule is tried at a time, not {len(words)} words; put it in quotes: 'Bash(git diff:*)'")
    behavior = behavior_meant(words[0]) if len(words) == 2 else "allow"
    scope, place = await place_meant(asking, where, session)
    trial = await asking.remote.try_rule(words[-1], behavior, scope=scope, place=place, last=last)
    if asking.as_json:
        asking.object(trial)
    else:
        draw_trial(asking, trial)
    return DONE


def draw_trial(asking: Asking, trial: TrialView, *, talk: bool = False) -> None:
    """Conflicts first, and red: they are what a person has to read. ``talk``: to stderr, beside another answer."""
    screen = asking.screen
    say = screen.talk if talk else screen.row
    if not trial.total:
        say("Nothing was asked yet, so there is nothing to try it on.")
        return
    kinds = ((trial.more, "more allowed"), (trial.fewer, "fewer"), (trial.denied, "more denied"))
    changes = ", ".join(f"{number} {what}" for number, what in kinds if number) or "nothing would change"
    say(f"On the last {count(trial.total, 'request')}: {changes}. It matches {trial.matches}.")
    against = trial.conflicts
    if against:
        say(screen.paint("red", f"Against what people decided: {len(against)}"))
    marks = screen.paint("red", screen.look.glyphs.warns), " "
    for mark, lines in zip(marks, (against, [line for line in trial.lines if line not in against]), strict=True):
        counted = Counter(_line(asking, line) for line in lines)
        for words, times in list(counted.items())[:LISTED]:
            say(f"  {mark} {words}{f'   {times} times' if times > 1 else ''}")
        if len(counted) > LISTED:
            say(f"    and {len(counted) - LISTED} more: --json lists them")


def _line(asking: Asking, line: TrialLine) -> str:
    """What it was, what came of it then, and what would come of it now."""
    verb = {"allow": "allowed", "deny": "DENIED"}.get(line.decided, "")
    then = f"{verb} by {line.by}, {clock(line.at, '%d %b')}" if verb else BEFORE.get(line.before, line.before)
    return asking.screen.letters(f"{' '.join(line.what.split())}   was {then}; would be {AFTER.get(line.after, line.after)}")


async def suggest(asking: Asking) -> int:
    found = await asking.remote.suggested_rules()
    if asking.as_json:
        asking.object(Page(items=list(found)))
        return DONE
    screen = asking.screen
    if asking.ids_only:
        for one in found:
            screen.row("\n".join(one.rules))
        return DONE
    if not found:
        screen.row("Nothing to suggest: no request was approved again and again that a rule could have answered.")
        return DONE
    for one in found:
        rules = "  ".join(screen.letters(rule) for rule in one.rules)
        screen.row(f"{screen.paint('bold', rules)}   approved {one.times} times, like {screen.letters(one.example)}")
        where = f" --in {home_path(one.folder)}" if one.folder else ""
        for rule in one.rules:
            screen.row(screen.paint("dim", f"  ropewalk rules add allow {shlex.quote(rule)}{where}"))
    return DONE
