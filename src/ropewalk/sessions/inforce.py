"""The rules in force: built in, from a file, made by people; grants end here. Refuses to judge, and to forget why one ended.

Held in memory and kept in step with the store: a change counts from the moment that it is stored. Every change is a new version.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from ..errors import UsageError
from ..permissions.request import Behavior, Verdict
from ..permissions.rulebook import Rulebook
from ..permissions.rulefile import RuleFile, rules_from_lists
from ..permissions.rules import Rule, Scope, parse_rule
from ..permissions.secrets import built_in
from ..store.base import Change, Entry, More, RowChange, Store, Value
from ..store.rows import RuleRow, SettingRow

KEPT_AFTER_END = 7 * 86400.0
"""Seconds for which lists still show a rule that has ended."""
MOST = 1_000_000
"""All of those that hold: one that was left out might be a deny."""
SAID = ("text", "behavior", "tool", "pattern", "scope", "place", "note")
"""What people change of a rule that is there."""
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
        self.changing = asyncio.Lock()
        """Held by whoever changes what stands there already, from reading it to keeping it."""
        self.file = RuleFile()
        self.off: tuple[str, ...] = ()
        self.version = 0
        self.changed: Callable[[], None] = lambda: None
        self.ended: Callable[[RuleRow], None] = lambda row: None

    async def load(self) -> None:
        """What the store holds."""
        setting = await self._store.get(SettingRow, "", OFF)
        self.off = tuple(_names(setting.value)) if setting else ()
        for row in await self._stored():
            self._rows[row.id] = row
        self._new_book()

    async def _stored(self) -> list[RuleRow]:
        ended_lately = {"ended_at": More(self._clock() - KEPT_AFTER_END)}
        holding = await self._store.find(RuleRow, {"ended_at": None}, limit=MOST)
        return [*holding, *await self._store.find(RuleRow, ended_lately, limit=MOST)]

    async def look_again(self) -> None:
        """After a sick disk: what failed there may have been stored all the same. What it says is taken over; an end that is
        on its way there is kept."""
        async with self.changing:
            setting = await self._store.get(SettingRow, "", OFF)
            self.off = tuple(_names(setting.value)) if setting else ()
            for row in await self._stored():
                known = self._rows.setdefault(row.id, row)
                for name in SAID:
                    setattr(known, name, getattr(row, name))
                if row.ended_at is not None and known.ended_at is None:
                    known.ended_at, known.ended_why, known.ended_by = row.ended_at, row.ended_why, row.ended_by
                self._parsed.pop(row.id, None)
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

    def change(self, rule: str, said: RuleRow) -> None:
        """It is stored that this rule says what ``said`` does; its uses and hits are counted on."""
        row = self._rows[rule]
        for name in SAID:
            setattr(row, name, getattr(said, name))
        self._parsed.pop(rule, None)
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
        """It does not hold from now on; the row changes that say so. For what allows: that it ends a moment before this is
        stored is the safe side. An end of what forbids is stored first."""
        change = self.ending(row, why, by)
        if row.ended_at is None:
            row.ended_at, row.ended_why, row.ended_by = self._clock(), why, by
            self._new_book()
            self.ended(row)
        return [change]

    def ending(self, row: RuleRow, why: str, by: str) -> Change:
        values: dict[str, Value] = {"ended_at": self._clock(), "ended_why": why, "ended_by": by}
        return Change("rule", {"id": row.id}, values, {"ended_at": None}, must=False)

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

    def used(self, verdict: Verdict, now: float) -> list[RowChange]:
        """A hit for each rule that had a say in it, and of a count one use: a denied request uses up nothing that would have
        allowed a part of it. To be stored with the verdict."""
        changes: list[RowChange] = []
        for name in telling(verdict):
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


def telling(verdict: Verdict) -> list[str]:
    """The rules that made it what it is, once each."""
    parts = [part.rule for part in verdict.parts if part.behavior == verdict.behavior]
    return [rule for rule in dict.fromkeys((verdict.rule, *parts)) if rule is not None]


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
