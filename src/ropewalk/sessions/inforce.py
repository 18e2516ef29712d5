"""The rules in force: built in, from a file, made by people; grants end here. Refuses to judge, and to forget why one ended.

Held in memory and kept in step with the store: a change counts from the moment that it is stored. Every change is a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from ..errors import UsageError
from ..permissions.request import Behavior
from ..permissions.rulebook import Rulebook
from ..permissions.rulefile import RuleFile, rules_from_lists
from ..permissions.rules import Rule, Scope, parse_rule
from ..permissions.secrets import built_in
from ..store.base import Change, Entry, RowChange, Store, Value
from ..store.rows import RuleRow, SettingRow

KEPT_AFTER_END = 7 * 86400.0
"""Seconds for which lists still show a rule that has ended."""
MOST = 20_000
OFF = "built_in_off"
"""The setting that lists which built-in rules are switched off."""


class InForce:
    """``changed`` is called when other rules hold than before; ``ended`` when one has ended, with its row."""

    def __init__(self, store: Store, clock: Callable[[], float], allowed: Sequence[str] = ()) -> None:
        """``allowed``: what the configuration allows everywhere. Raises ``UsageError`` for what is no rule."""
        self._store, self._clock = store, clock
        self.configured = rules_from_lists({"allow": list(allowed)}, source="file", made_by="the configuration")
        self._rows: dict[str, RuleRow] = {}
        self._parsed: dict[str, Rule | None] = {}
        self._book: Rulebook | None = None
        self._next_end = 0.0
        self.file = RuleFile()
        self.off: tuple[str, ...] = ()
        self.version = 0
        self.changed: Callable[[], None] = lambda: None
        self.ended: Callable[[RuleRow], None] = lambda row: None

    async def load(self) -> None:
        """What the store holds."""
        setting = await self._store.get(SettingRow, "", OFF)
        self.off = tuple(_names(setting.value)) if setting else ()
        for row in await self._store.find(RuleRow, {}, limit=MOST):
            self._rows[row.id] = row
        self._new_book()

    # -- what holds

    @property
    def book(self) -> Rulebook:
        """Of the rules that hold at this moment."""
        self.expire()
        assert self._book is not None
        return self._book

    def _built(self) -> Rulebook:
        live = [row for row in self._rows.values() if row.ended_at is None]
        self._next_end = min((row.ends_at for row in live if row.ends_at is not None), default=float("inf"))
        off = {*self.off, *self.file.off}
        own = [rule for row in live if (rule := self.rule(row)) is not None]
        return Rulebook((*built_in(sorted(off)), *self.configured, *self.file.rules, *own))

    def rule(self, row: RuleRow) -> Rule | None:
        """None for an allow that can't be read. A deny or ask that can't be is read as *ask* for every use of its tool."""
        if row.id not in self._parsed:
            try:
                self._parsed[row.id] = rule_of(row)
            except UsageError:
                self._parsed[row.id] = None if row.behavior == "allow" else Rule(row.text, "ask", row.tool, id=row.id)
        return self._parsed[row.id]

    @property
    def rows(self) -> list[RuleRow]:
        """Those of people that hold, and those that ended a short while ago."""
        self._end_what_is_over()
        since = self._clock() - KEPT_AFTER_END
        return [row for row in self._rows.values() if row.ended_at is None or row.ended_at > since]

    def get(self, rule: str) -> RuleRow | None:
        return self._rows.get(rule)

    # -- what changes it

    def put(self, row: RuleRow) -> None:
        """It is stored."""
        self._rows[row.id] = row
        self._parsed.pop(row.id, None)
        self._new_book()

    def put_file(self, file: RuleFile) -> None:
        if file != self.file:
            self.file = file
            self._new_book()

    def put_off(self, off: tuple[str, ...]) -> None:
        self.off = off
        self._new_book()

    def _new_book(self) -> None:
        self._book = None
        self.version += 1
        self.changed()

    def end(self, row: RuleRow, why: str, by: str = "") -> list[RowChange]:
        """It does not hold from now on; the row changes that say so."""
        row.ended_at, row.ended_why, row.ended_by = self._clock(), why, by
        self._new_book()
        self.ended(row)
        return [Change("rule", {"id": row.id}, {"ended_at": row.ended_at, "ended_why": why, "ended_by": by}, must=False)]

    def end_with(self, session: str, turn: int | None) -> list[RowChange]:
        """A turn of this session ended: with it what was granted for it."""
        return [
            change
            for row in self._of(session)
            if row.turn is not None and (turn is None or row.turn <= turn)
            for change in self.end(row, "its turn is over")
        ]

    def _of(self, session: str) -> list[RuleRow]:
        return [row for row in self._rows.values() if row.ended_at is None and row.session == session]

    def _end_what_is_over(self) -> None:
        now = self._clock()
        over = [r for r in self._rows.values() if r.ended_at is None and r.ends_at is not None and not now < r.ends_at]
        changes = [change for row in over for change in self.end(row, "its time is over")]
        if changes:
            self._store.post(Entry(rows=changes, keep=True))

    def expire(self) -> None:
        """End what is over; called now and then, so that an end is told when it comes and not when somebody looks."""
        if self._book is None or self._clock() >= self._next_end:
            self._end_what_is_over()
            self._book = self._built()

    def used(self, rules: Iterable[str], now: float) -> list[RowChange]:
        """These had a say in one verdict: a hit each, and of a count one use. To be stored with the verdict."""
        changes: list[RowChange] = []
        for name in rules:
            row = self._rows.get(name)
            if row is None:
                continue
            row.hits, row.hit_at = row.hits + 1, now
            values: dict[str, Value] = {"hits": row.hits, "hit_at": now}
            if row.uses_left is not None:
                row.uses_left = values["uses_left"] = max(0, row.uses_left - 1)
            changes.append(Change("rule", {"id": row.id}, values, must=False))
            if row.uses_left == 0 and row.ended_at is None:
                changes += self.end(row, "it is used up")
        return changes

    def kind_of(self, rule: str | None) -> str:
        """What a reason that names this rule is called: grant, built_in or rule."""
        if rule is not None and rule.startswith("built-in:"):
            return "built_in"
        row = self._rows.get(rule or "")
        return "grant" if row is not None and is_grant(row) else "rule"


def is_grant(row: RuleRow) -> bool:
    """A rule with an end."""
    return row.ends_at is not None or row.uses_left is not None or row.turn is not None or row.scope == "session"


def rule_of(row: RuleRow) -> Rule:
    behavior: Behavior = row.behavior  # type: ignore[assignment]
    scope: Scope = row.scope  # type: ignore[assignment]
    made_by = row.by or "made by nobody known"
    return parse_rule(row.text, behavior, scope=scope, place=row.place, id=row.id, made_by=made_by, source="store", note=row.note)


def row_of(rule: Rule, row: RuleRow) -> RuleRow:
    """``row`` with what the rule says: tool and pattern apart, for filters."""
    inside = rule.text.partition("(")[2]
    return replace(
        row, text=rule.text, behavior=rule.behavior, tool=rule.tool, pattern=inside[:-1] if inside else "", scope=rule.scope,
        place=rule.place, note=rule.note,
    )  # fmt: skip


def _names(value: bytes) -> list[str]:
    return msgspec.json.decode(value, type=list[str])
