"""The steps that every judgement takes: deny, then ask, then doubt, then allow. Refuses to know what is judged."""

from __future__ import annotations

from collections.abc import Callable

from .request import STRICT, Behavior, PartVerdict
from .rules import Rule

LONGEST = 240
"""Characters of a reason."""
Finder = Callable[[Behavior], Rule | None]


def judged(
    text: str, find: Finder, *, kind: str = "", doubt: str = "", otherwise: str = "no rule matches", tags: tuple[str, ...] = ()
) -> PartVerdict:
    """The verdict on one part by the rules that ``find`` finds. A rule of a person never covers doubt; a deny rule does."""
    for behavior in STRICT:
        rule = find(behavior)
        if rule is not None:
            return by_rule(text, rule, kind, tags)
    if doubt:
        return PartVerdict(text, "ask", doubt, kind, None, tags)
    rule = find("allow")
    return by_rule(text, rule, kind, tags) if rule is not None else PartVerdict(text, "ask", otherwise, kind, None, tags)


def one_line(because: str) -> str:
    """A reason as it can be shown: in one line, without control characters, not endless."""
    plain = because if because.isprintable() else "".join(char if char.isprintable() else "�" for char in because)
    return plain if len(plain) <= LONGEST else plain[: LONGEST - 1] + "…"


def by_rule(text: str, rule: Rule, kind: str = "", tags: tuple[str, ...] = ()) -> PartVerdict:
    says = {"deny": "denied by", "ask": "asked because of", "allow": "allowed by"}[rule.behavior]
    note = f": {rule.note}" if rule.note and rule.behavior != "allow" else ""
    return PartVerdict(text, rule.behavior, f"{says} {rule.words()}{note}", kind, rule.id or rule.text, tags)
