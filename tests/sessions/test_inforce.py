"""The rules in force: what holds now, how it ends, what is counted, and that memory is never laxer than the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Context, PartVerdict, Request, Verdict
from ropewalk.sessions.inforce import KEPT_AFTER_END, InForce, telling
from ropewalk.store.base import Change, Entry, Value, put
from ropewalk.store.memory import MemoryStore, open_memory
from ropewalk.store.rows import RuleRow


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Held:
    """Rules in force over a store, and what they told."""

    def __init__(self, store: MemoryStore) -> None:
        self.store, self.clock = store, Clock()
        self.rules = self.begun()

    def begun(self) -> InForce:
        rules = InForce(self.store, self.clock)
        self.changes, self.ended = list[int](), list[str]()
        rules.changed = lambda: self.changes.append(rules.version)
        rules.ended = lambda row: self.ended.append(f"{row.id}: {row.ended_why}")
        return rules

    async def put(self, name: str, text: str = "Bash(touch:*)", behavior: str = "allow", **more: Any) -> RuleRow:
        row = RuleRow(id=name, text=text, behavior=behavior, tool=text.partition("(")[0], by="Mia", created_at=1.0, **more)
        await self.store.append(Entry(rows=[put(row)]))
        self.rules.put(row)
        return row

    def says(self, command: str = "touch it") -> Verdict:
        return decide(Request("Bash", {"command": command}, "/w"), self.rules.book, Context(resolved={"/w": "/w"}))

    async def stored(self, name: str) -> RuleRow:
        row = await self.store.get(RuleRow, name)
        assert row is not None
        return row


@pytest.fixture
async def held() -> AsyncIterator[Held]:
    async with open_memory() as store:
        made = Held(store)
        await made.rules.load()
        yield made


async def test_a_grant_ends_at_its_moment_and_not_when_somebody_looks(held: Held) -> None:
    """ours"""
    await held.put("g", ends_at=held.clock.now + 10)
    assert held.says().behavior == "allow"
    held.clock.now += 10
    held.rules.expire()
    assert held.ended == ["g: its time is over"] and held.says().behavior == "ask"
    await held.store.settled()
    assert (await held.stored("g")).ended_at == held.clock.now


async def test_a_count_is_used_up_in_memory_at_once_and_in_the_store_with_its_verdict(held: Held) -> None:
    """ours: of two requests at once the second is asked; a death before it is stored has said nothing"""
    await held.put("g", uses_left=1)
    rows = held.rules.used(held.says(), held.clock.now)
    assert held.says().behavior == "ask" and held.ended == ["g: it is used up"]
    assert (await held.stored("g")).uses_left == 1, "until the verdict is stored"
    await held.store.append(Entry(rows=rows))
    kept = await held.stored("g")
    assert (kept.uses_left, kept.hits, kept.ended_why) == (0, 1, "it is used up")
    again = held.begun()
    await again.load()
    assert not [rule for rule in again.book.rules if rule.id == "g"]


async def test_only_what_made_the_verdict_is_counted(held: Held) -> None:
    """ours: an allow of one half is not used up by the denial of the other"""
    await held.put("g", uses_left=1)
    await held.put("d", "Bash(curl:*)", "deny")
    assert telling(held.says("touch it && curl x")) == ["d"]
    await held.put("m", "Bash(make:*)")
    assert telling(held.says("touch it && make x")) == ["g", "m"]
    assert telling(Verdict("deny", "as a whole", (PartVerdict("x", "allow", "", rule="g"),), rule="w")) == ["w"]


async def test_what_is_for_a_turn_ends_with_it_or_with_its_process(held: Held) -> None:
    """ours: of this session alone, and not what was granted for a later turn"""
    for name, session, turn in (("a", "s", 1), ("b", "s", 2), ("c", "other", 1), ("d", "s", None)):
        await held.put(name, session=session, turn=turn)
    await held.store.append(Entry(rows=held.rules.end_with("s", 1)))
    assert held.ended == ["a: its turn is over"]
    await held.store.append(Entry(rows=held.rules.end_with("s", None)))
    assert held.ended == ["a: its turn is over", "b: its turn is over"]
    assert [(await held.stored(name)).ended_at is None for name in "abcd"] == [False, False, True, True]


async def test_a_rule_that_ended_twice_keeps_its_first_reason(held: Held) -> None:
    """ours"""
    row = await held.put("g")
    first, second = held.rules.end(row, "first"), held.rules.end(row, "second")
    await held.store.append(Entry(rows=[*first, *second]))
    assert held.ended == ["g: first"] and (await held.stored("g")).ended_why == row.ended_why == "first"


async def test_a_changed_rule_keeps_its_uses_and_its_end(held: Held) -> None:
    """ours: it was used, and used up, while the change was on its way to the disk"""
    row = await held.put("g", uses_left=1)
    told = RuleRow(id="g", text="Bash(touch:*)", behavior="allow", tool="Bash", pattern="touch:*", note="new", uses_left=1)
    held.rules.used(held.says(), held.clock.now)
    held.rules.change("g", told)
    assert (row.note, row.uses_left, row.hits) == ("new", 0, 1) and held.says().behavior == "ask"


async def test_a_deny_that_can_not_be_read_is_asked_and_an_allow_is_nothing(held: Held) -> None:
    """ours: a row that a newer version wrote"""
    await held.put("a", "Bash(touch:*)")
    assert held.says().behavior == "allow"
    await held.put("d", "Bash(what is this", "deny")
    assert held.says().behavior == "ask"
    await held.put("x", "Bash(nor this", "allow")
    assert held.rules.rule(await held.stored("x")) is None


async def test_what_holds_is_loaded_whole_and_what_ended_long_ago_is_not(held: Held) -> None:
    """ours: a deny among many must not be left out"""
    long_ago = held.clock.now - KEPT_AFTER_END - 1
    rows = [put(RuleRow(id=f"old{at}", text="Bash(x)", behavior="allow", tool="Bash", ended_at=long_ago)) for at in range(50)]
    rows.append(put(RuleRow(id="lately", text="Bash(x)", behavior="allow", tool="Bash", ended_at=held.clock.now - 1)))
    rows.append(put(RuleRow(id="last", text="Bash(touch:*)", behavior="deny", tool="Bash")))
    await held.store.append(Entry(rows=rows))
    again = held.begun()
    await again.load()
    assert {row.id for row in again.rows} == {"lately", "last"}
    held.rules = again
    assert held.says().behavior == "deny"


async def test_after_a_sick_disk_memory_follows_the_store_and_keeps_its_own_ends(held: Held) -> None:
    """ours: whichever is stricter"""
    mine, theirs = await held.put("mine"), await held.put("theirs")
    held.rules.end(mine, "taken back")  # on its way to the disk
    ended: dict[str, Value] = {"ended_at": held.clock.now - 1, "ended_why": "elsewhere"}
    await held.store.append(Entry(rows=[Change("rule", {"id": "theirs"}, ended)]))
    await held.store.append(Entry(rows=[put(RuleRow(id="new", text="Bash(curl:*)", behavior="deny", tool="Bash"))]))
    await held.rules.look_again()
    assert (mine.ended_why, theirs.ended_why) == ("taken back", "elsewhere")
    assert held.says().behavior == "ask" and held.says("curl x").behavior == "deny"
