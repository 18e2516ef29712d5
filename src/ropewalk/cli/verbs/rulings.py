"""``rules``: those that hold, listed; made, ended, switched. Refuses to save a rule against what people decided unread."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...errors import NotFound, UsageError
from ...events.ids import SHORTEST
from ...events.views import Page, RuleView
from ...sessions.figures import count
from ..asked import check_word
from ..codes import DONE, UNANSWERED
from ..hand import Hand
from ..home import home_path
from ..run import keyboard_here
from ..statuses import clock, span
from ..table import draw
from ..which import short_ids
from .asking import Asking
from .meant import place_meant, rule_said
from .trials import draw_trial

STYLES = {"deny": "red", "ask": "amber", "allow": "green"}
BUILT_IN = "built-in:"
HEADS = ("ID", "SAYS", "RULE", "WHERE", "BY", "USED", "ENDS")
ORDER = "Deny beats ask beats allow, whatever the order. What no rule decides is asked."


# -- listed


async def ls(asking: Asking, *, everything: bool = False, ended: bool = False) -> int:
    found = await asking.remote.rules(ended=ended)
    if asking.as_json:
        asking.object(Page(items=list(found)))
        return DONE
    shown = [one for one in found if everything or one.source != "built_in" or not one.enabled]
    if asking.ids_only:
        for one in shown:
            asking.screen.row(one.id)
        return DONE
    _table(asking, shown, short_ids(one.id for one in found if one.source == "store"))
    _footer(asking, found, shown)
    return DONE


def _table(asking: Asking, rules: Sequence[RuleView], ids: dict[str, str]) -> None:
    if not rules:
        asking.screen.row("No rules of your own yet. Try one: ropewalk rules try 'Bash(git diff:*)'")
        return
    rows = [
        (
            ids.get(one.id, one.id.removeprefix(BUILT_IN)),
            one.behavior,
            one.text,
            where_of(one),
            by_of(one),
            _used(one),
            ends_of(one),
        )
        for one in rules
    ]
    draw(asking.screen, HEADS, rows, [STYLES[one.behavior] for one in rules], spare=(5, 4), whole=(0, 1, 2))


def _footer(asking: Asking, found: Sequence[RuleView], shown: Sequence[RuleView]) -> None:
    dim = [ORDER]
    hidden = [one for one in found if one.source == "built_in" and one not in shown]
    if hidden:
        dim.append(f"{count(len(hidden), 'built-in rule')} besides, for secrets and what starts programs: ropewalk rules --all")
    for line in dim:
        asking.screen.talk(asking.screen.paint("dim", line))


def where_of(rule: RuleView) -> str:
    if rule.scope == "everywhere":
        return "everywhere"
    return home_path(rule.place) if rule.scope == "folder" else f"session {rule.place_title or rule.place}"


def by_of(rule: RuleView) -> str:
    """Who made it, when, and whether on a card."""
    if rule.source == "built_in":
        return f"built in: {rule.note}"
    if rule.source == "file":
        return f"{home_path(rule.file)}{f': {rule.note}' if rule.note else ''}"
    day = clock(rule.created_at, "%d %b")
    return f"{rule.by or 'somebody'}, {day}{', on a card' if rule.question else ''}{f': {rule.note}' if rule.note else ''}"


def _used(rule: RuleView) -> str:
    last = f", {span(time.time() - rule.hit_at)} ago" if rule.hit_at else ""
    return f"{rule.hits}{last}" if rule.hits else "never" if rule.source == "store" else ""


def ends_of(rule: RuleView) -> str:
    """When it ends by itself, or why it holds no more."""
    if rule.ended_at is not None:
        return f"ended: {rule.ended_why}"
    if not rule.enabled:
        return "switched off"
    ends = [f"in {span(rule.ends_at - time.time())}"] if rule.ends_at else []
    ends += [f"after {count(rule.uses_left, 'more use')}"] if rule.uses_left is not None else []
    ends += [f"with its {rule.ends_with}"] if rule.ends_with else []
    return " or ".join(ends)


# -- made


async def add(
    asking: Asking, *, behavior: str, text: str | None, where: str | None, session: str | None, ends: float | None,
    uses: int | None, note: str, yes: bool,
) -> int:  # fmt: skip
    said, text = rule_said(behavior, text)
    scope, place = await place_meant(asking, where, session)
    trial = await asking.remote.try_rule(text, said, scope=scope, place=place)
    if not asking.as_json and not asking.ids_only:
        draw_trial(asking, trial, talk=True)
    if trial.conflicts and not yes and not await _agreed(asking):
        return UNANSWERED
    made = await asking.remote.add_rule(text, said, scope=scope, place=place, note=note, for_seconds=ends, uses=uses)
    if asking.as_json:
        asking.object(made)
    elif asking.ids_only:
        asking.screen.row(made.id)
    else:
        asking.screen.row(f"saved: {_said(asking, made)}   end it: ropewalk rules rm {await _short(asking, made.id)}")
    return DONE


async def _agreed(asking: Asking) -> bool:
    keyboard = keyboard_here(no_input=False)
    if keyboard is None:
        asking.screen.say(
            "ropewalk: not saved: people decided otherwise, and nobody can be asked here. --yes saves it all the same."
        )
        return False
    async with keyboard.open():
        await keyboard.settle()
        return await Hand(asking.screen, keyboard).yes("Save it all the same?")


def _said(asking: Asking, rule: RuleView) -> str:
    ends = ends_of(rule)
    return asking.screen.letters(f"{rule.behavior} {rule.text}, {where_of(rule)}{f', ends {ends}' if ends else ''}")


async def _short(asking: Asking, rule: str) -> str:
    return short_ids([rule, *(one.id for one in await asking.remote.rules() if one.source == "store")])[rule]


# -- ended, switched


async def rm(asking: Asking, word: str) -> int:
    found = rule_meant(await asking.remote.rules(), word)
    if found.source == "built_in":
        raise UsageError(f"a built-in rule is not ended but switched off: ropewalk rules off {found.id.removeprefix(BUILT_IN)}")
    ended = await asking.remote.end_rule(found.id)
    if asking.as_json:
        asking.object(ended)
    elif not asking.ids_only:
        asking.screen.row(f"ended: {asking.screen.letters(f'{ended.behavior} {ended.text}, {where_of(ended)}')}")
    return DONE


def rule_meant(rules: Sequence[RuleView], word: str) -> RuleView:
    """By a start of its id, or by its text. Raises ``NotFound``, ``UsageError``."""
    by_text = [one for one in rules if one.text == word]
    plain = [one for one in rules if word in (one.id, one.id.removeprefix(BUILT_IN))]
    by_id = plain or [one for one in rules if len(word) >= SHORTEST and one.id.startswith(word)]
    found = by_text or by_id
    if len(found) > 1:
        named = "are called" if by_text else "begin with"
        raise UsageError(
            f"{len(found)} rules {named} {word}: {', '.join(one.id for one in found[:5])}; give the id: ropewalk rules"
        )
    if not found:
        raise NotFound(f"no rule has the id or the text {word!r}; ropewalk rules lists them")
    return found[0]


async def switch(asking: Asking, word: str, on: bool) -> int:
    """``env``: both of its rules; ``built-in:env:read`` or ``env:read``: one."""
    known = [one for one in await asking.remote.rules() if one.source == "built_in"]
    plain = word.removeprefix(BUILT_IN)
    found = [one for one in known if one.id.removeprefix(BUILT_IN) == plain or one.id.split(":")[1] == plain]
    if not found:
        names = list(dict.fromkeys(one.id.split(":")[1] for one in known))
        check_word(f"no built-in rule is called {plain!r}", plain, names)
    changed = [await asking.remote.change_rule(one.id, enabled=on) for one in found]
    if asking.as_json:
        asking.object(Page(items=changed))
    elif not asking.ids_only:
        for one in changed:
            asking.screen.row(f"{'on' if one.enabled else 'off'}: {one.behavior} {one.text}   {one.note}")
    return DONE
