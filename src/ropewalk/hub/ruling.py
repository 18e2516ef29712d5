"""Rules and grants: listed, made, changed, ended, tried on the past before they are saved. Refuses a rule that can't be meant.

A rule is looked up by its id; those that are built in can be switched off and on, those of a file are changed in the file.
"""

from __future__ import annotations

import asyncio
import os

import msgspec

from ..errors import Conflict, NotFound, UsageError
from ..events import commands as c
from ..events import views as v
from ..events.commands import Principal
from ..permissions.learnt import learnt
from ..permissions.policy import decide
from ..permissions.request import Request
from ..permissions.rulebook import Rulebook
from ..permissions.rulefile import rules_from_lists
from ..permissions.rules import Rule, parse_rule
from ..permissions.secrets import built_in
from ..permissions.tags import tagged
from ..permissions.tried import Past, tried
from ..sessions.inforce import OFF, SAID, row_of
from ..sessions.looking import Looking
from ..sessions.verdicts import part_view
from ..store.base import Change, Entry, put
from ..store.rows import RuleRow, SettingRow
from .once import Once, Row
from .past import past_of, trial_view
from .reading import Reading, allow
from .rulings_shown import built_in_views, file_views, rule_view

TRIED = 1000
"""Recorded requests that a card or a suggestion looks at."""


class Ruling(Reading):
    once: Once

    async def rules(self, who: Principal, *, ended: bool = False) -> list[v.RuleView]:
        """As they decide: deny, then ask, then allow; within one the newest first."""
        allow(who, "watch")
        rules = self.roster.world.rules
        titles = {row.id: row.title for row in await self._rows_of({one.place for one in rules.rows if one.scope == "session"})}
        own = [rule_view(row, titles) for row in rules.rows if ended or row.ended_at is None]
        found = [*built_in_views(rules), *file_views(rules.file, self.rules_path, rules.configured), *own]
        rank = {"deny": 0, "ask": 1, "allow": 2}
        return sorted(found, key=lambda one: (rank[one.behavior], one.source == "built_in", -one.created_at))

    @property
    def rules_path(self) -> str:
        return self.roster.world.config.rules

    async def rule(self, who: Principal, rule: str) -> v.RuleView:
        for one in await self.rules(who, ended=True):
            if one.id == rule:
                return one
        raise NotFound(f"no rule {rule[:60]!r} here; `ropewalk rules` lists them")

    async def add_rule(self, who: Principal, command: c.NewRule) -> v.RuleView:
        allow(who, "admin")
        place = await self._place(command.scope, command.place)
        rule = parse_rule(command.text, command.behavior, scope=command.scope, place=place, note=command.note)
        if command.behavior != "allow" and (command.for_seconds or command.uses):
            raise UsageError("only an allow ends by itself; a deny or ask holds until somebody ends it")

        async def do(kept: Row) -> v.RuleView:
            world = self.roster.world
            now = world.clock()
            row = row_of(
                rule,
                RuleRow(
                    id=world.new_id(), behavior=rule.behavior, tool=rule.tool, by=who.name, door=who.door, created_at=now,
                    session=place if rule.scope == "session" else None,
                    ends_at=now + command.for_seconds if command.for_seconds else None, uses_left=command.uses,
                ),
            )  # fmt: skip
            await self.store.append(Entry(rows=[put(row), *kept({"rule": row.id})]))
            world.rules.put(row)
            return await self.rule(who, row.id)

        return await self.once.made(who, "add rule", None, command, do, lambda ref: self.rule(who, ref["rule"]))

    async def change_rule(self, who: Principal, rule: str, command: c.ChangeRule) -> v.RuleView:
        allow(who, "admin")
        if rule.startswith("built-in:"):
            return await self._switch(who, rule, command)
        if command.enabled is not None:
            raise UsageError("only built-in rules are switched off and on; a rule of your own is ended")
        self._own(rule)

        async def do() -> v.RuleView:
            rules = self.roster.world.rules
            async with rules.changing:
                row = self._own(rule)
                if row.ended_at is not None:
                    raise Conflict("this rule has ended: make a new one", code="ended")
                told = row_of(await self._told(row, command), row)
                values = {name: getattr(told, name) for name in SAID}
                await self.store.append(Entry(rows=[Change("rule", {"id": row.id}, values)]))
                rules.change(row.id, told)
            return await self.rule(who, row.id)

        return await self.once.carried_out(who, f"change rule {rule}", None, command, do, v.RuleView)

    async def _told(self, row: RuleRow, command: c.ChangeRule) -> Rule:
        """What the rule says with this change."""
        scope = command.scope or row.scope
        named = command.place if command.place is not None else row.place if scope == row.scope else None
        place = await self._place(scope, named or None)
        text, behavior = command.text or row.text, command.behavior or row.behavior
        note = command.note if command.note is not None else row.note
        return parse_rule(text, behavior, scope=scope, place=place, note=note)  # type: ignore[arg-type]

    async def end_rule(self, who: Principal, rule: str, command: c.EndRule) -> v.RuleView:
        """From now on it answers nothing. What it let run stays in the audit."""
        allow(who, "answer")
        row = self._own(rule)
        if row.behavior != "allow":
            allow(who, "admin")

        async def do() -> v.RuleView:
            rules, why = self.roster.world.rules, f"taken back by {who.name}"
            async with rules.changing:
                if row.behavior != "allow":
                    await self.store.append(Entry(rows=[rules.ending(row, why, who.name)]))
                    rules.end(row, why, who.name)
                elif row.ended_at is None:
                    await self.once.noted(Entry(rows=rules.end(row, why, who.name), keep=True))
            return await self.rule(who, rule)

        return await self.once.carried_out(who, f"end rule {rule}", None, command, do, v.RuleView)

    def _own(self, rule: str) -> RuleRow:
        row = self.roster.world.rules.get(rule)
        if row is not None:
            return row
        if rule.startswith("built-in:"):
            raise Conflict("a built-in rule is not ended: switch it off", code="built_in")
        if rule.startswith("file:"):
            raise Conflict(f"this rule stands in {self.rules_path}: change it there", code="in_a_file")
        raise NotFound(f"no rule {rule[:60]!r} here; `ropewalk rules` lists them")

    async def _switch(self, who: Principal, rule: str, command: c.ChangeRule) -> v.RuleView:
        fields = (command.text, command.behavior, command.scope, command.place, command.note)
        if command.enabled is None or any(one is not None for one in fields):
            raise UsageError("a built-in rule can only be switched off and on: enabled")
        if rule not in {one.id for one in built_in()}:
            raise NotFound(f"no built-in rule {rule[:60]!r}; `ropewalk rules` lists them")

        async def do() -> v.RuleView:
            rules = self.roster.world.rules
            async with rules.changing:
                off = sorted({*rules.off} - {rule} if command.enabled else {*rules.off, rule})
                row = SettingRow(person="", name=OFF, value=msgspec.json.encode(off), at=self.roster.world.clock())
                await self.store.append(Entry(rows=[put(row, over=True)]))
                rules.put_off(tuple(off))
            return await self.rule(who, rule)

        return await self.once.carried_out(who, f"switch {rule}", None, command, do, v.RuleView)

    async def _place(self, scope: str, place: str | None) -> str:
        if scope == "everywhere":
            if place:
                raise UsageError("a rule that holds everywhere has no place; give scope folder or session")
            return ""
        if not place:
            raise UsageError(f"a rule for a {scope} says which one: place")
        if scope == "session":
            return await self.whole_id(place)
        return folder_named(place)

    # -- tried before it is saved

    async def test_rules(self, who: Principal, command: c.RuleTest) -> v.TriedView | v.TrialView:
        allow(who, "watch")
        if (command.tool is None) == (command.rule is None):
            raise UsageError("give tool, input and cwd for one request, or rule for a trial over the last requests")
        if command.rule is not None:
            return await self._trial(command.rule, command.last)
        return await self._tried(command)

    async def _tried(self, command: c.RuleTest) -> v.TriedView:
        session = await self._awake(command.session) if command.session else None
        cwd = command.cwd or (session.row.cwd if session else "")
        if not cwd:
            raise UsageError("name the folder: cwd (or the session)")
        rules = self.roster.world.rules.book
        if command.rules is not None:
            lists = msgspec.to_builtins(command.rules)
            rules = Rulebook((*built_in(self.roster.world.rules.off), *rules_from_lists(lists)))
        request = Request(command.tool or "", command.input, folder_named(cwd))
        looking = Looking(self.roster.world, session.id if session else "", request.cwd, ())
        context = await looking.context(request)
        verdict = tagged(request, decide(request, rules, context), context)
        return v.TriedView(
            behavior=verdict.behavior, because=verdict.because, parts=[part_view(part) for part in verdict.parts],
            tags=list(verdict.tags), rule=verdict.rule,
        )  # fmt: skip

    async def _trial(self, asked: c.TriedRule, last: int) -> v.TrialView:
        rules = self.roster.world.rules
        place = await self._place(asked.scope, asked.place)
        new = parse_rule(asked.text, asked.behavior, scope=asked.scope, place=place, id="tried")
        kept = tuple(rule for rule in rules.book.rules if asked.instead is None or rule.id != asked.instead)
        past = await past_of(self.store, last)
        before = rules.book

        def work() -> v.TrialView:
            return trial_view(tried(before, Rulebook((*kept, new)), past), new, past)

        return await asyncio.to_thread(work)

    async def suggested_rules(self, who: Principal) -> list[v.Suggestion]:
        """Rules that would have answered what people keep approving; none wider than what was approved."""
        allow(who, "watch")
        past, book = await past_of(self.store, TRIED), self.roster.world.rules.book
        found = await asyncio.to_thread(learnt, past, book)
        return [
            v.Suggestion(rules=list(one.rules), times=one.times, example=what(one.example), folder=one.example.request.cwd)
            for one in found
        ]


def folder_named(place: str) -> str:
    folder = os.path.normpath(os.path.expanduser(place))
    if not os.path.isabs(folder):
        raise UsageError(f"the folder must be absolute, not {place!r}")
    return folder


def what(past: Past) -> str:
    given = past.request.input
    return str(given.get("command") or given.get("file_path") or given.get("url") or past.request.tool)[:300]
