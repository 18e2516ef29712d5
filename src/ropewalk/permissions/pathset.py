"""Many path rules asked at once: is any of them about this file? Refuses to decide: it names the rule.

The rules that begin at the same place are joined, so that a file is compared with sixteen of them in one step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from .globs import regex_of
from .paths import Anchor, Name, PathPattern, bases, below, normal
from .request import Context
from .rules import Rule

Chunk = tuple[re.Pattern[str], list[Rule]]
TOGETHER = 16
"""Rules in one expression: the built-in ones fill the first, so that it is compiled once for all rule sets."""


@lru_cache(maxsize=2048)
def _expression(globs: tuple[str, ...], wide: bool) -> re.Pattern[str]:
    text = "|".join(f"(?:{regex_of(glob, wide=wide)})" for glob in globs)
    return re.compile(text, re.DOTALL | (re.IGNORECASE if wide else 0))


class PathSet:
    """Path rules of one behaviour. ``wide``: as deny and ask read them."""

    def __init__(self, rules: Iterable[Rule], *, wide: bool) -> None:
        self._wide = wide
        self._by_anchor: dict[Anchor, list[Chunk]] = {}
        self._last: tuple[str, Context | None, list[tuple[str, list[Chunk]]]] = ("", None, [])
        sorted_in: dict[Anchor, list[Rule]] = {}
        for rule in rules:
            if isinstance(rule.pattern, PathPattern):
                sorted_in.setdefault(rule.pattern.anchor, []).append(rule)
        for anchor, found in sorted_in.items():
            self._by_anchor[anchor] = [self._chunk(found[at : at + TOGETHER]) for at in range(0, len(found), TOGETHER)]

    def __bool__(self) -> bool:
        return bool(self._by_anchor)

    def _chunk(self, rules: list[Rule]) -> Chunk:
        return _expression(tuple(_glob(rule) for rule in rules), self._wide), rules

    def one_name(self, name: str, cwd: str, context: Context) -> list[Rule]:
        """The rules that match this one absolute name, whatever their scope."""
        found: list[Rule] = []
        if self._wide:
            name = name.lower()
        for base, chunks in self._begun(cwd, context):
            rest = below(name, base)
            if rest is not None:
                for together, rules in chunks:
                    if together.fullmatch(rest):
                        found += [rule for rule in rules if _expression((_glob(rule),), self._wide).fullmatch(rest)]
        return found

    def _begun(self, cwd: str, context: Context) -> list[tuple[str, list[Chunk]]]:
        """Where the rules begin in this folder; kept for the next name, which is mostly of the same request."""
        seen_cwd, seen, begun = self._last
        if seen is not context or seen_cwd != cwd:
            begun = [
                (base.lower() if self._wide else base, chunks)
                for anchor, chunks in self._by_anchor.items()
                for base in bases(anchor, cwd, context)
            ]
            self._last = (cwd, context, begun)
        return begun

    def either(self, name: Name, cwd: str, context: Context) -> list[Rule]:
        """For deny and ask: rules that match one of the file's names."""
        found = self.one_name(name.given, cwd, context)
        if name.real is not None and name.real != name.given:
            found += self.one_name(name.real, cwd, context)
        if name.shown.startswith("~"):  # in quotes it is a file of that name in the folder
            found += self.one_name(normal(f"{cwd}/{name.shown}"), cwd, context)
        return found

    def both(self, name: Name, cwd: str, context: Context) -> list[Rule]:
        """For allow: every name is matched by some rule; the rules for the name as given."""
        if name.doubt or name.real is None:
            return []
        given = self.one_name(name.given, cwd, context)
        return given if name.real == name.given or (given and self.one_name(name.real, cwd, context)) else []

    def whole_folder(self, name: Name, cwd: str, context: Context) -> list[Rule]:
        """For allow: rules that match everything below this folder, at any depth."""
        if name.doubt or name.real is None:
            return []
        probes = [f"{folder.rstrip('/')}/{rest}" for folder in (name.given, name.real) for rest in ("\1", "\1/\1", "\1/\1/\1")]
        found = [self.one_name(probe, cwd, context) for probe in probes]
        return [rule for rule in found[0] if all(rule in rules for rules in found)]


def _glob(rule: Rule) -> str:
    return rule.pattern.glob if isinstance(rule.pattern, PathPattern) else ""


def least(rules: Sequence[Rule], cwd: str, session: str) -> Rule | None:
    """The one of several matching rules that is named as the reason: always the same, in whatever order they come."""
    if not rules:
        return None
    in_scope = [rule for rule in rules if rule.in_scope(cwd, session)]
    return min(in_scope, key=lambda rule: (rule.text, rule.id, rule.made_by)) if in_scope else None
