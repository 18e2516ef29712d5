"""What a request can meet while it is judged: rules that come meanwhile, a hub or a process that goes, a sick disk, odd input."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
from typing import Any

import pytest

from ropewalk.errors import AlreadyAnswered, Conflict, StoreUnavailable, UsageError
from ropewalk.events import commands as c
from ropewalk.hub.hub import Hub
from ropewalk.sessions import judging
from ropewalk.sessions.session import Session
from ropewalk.store.base import Entry, put
from ropewalk.store.rows import RuleRow, VerdictRow
from tests.hub.house import JO, MIA, House, Talk, until

TOUCH: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
TOLD = {"text": "Verdict: {verdict} {reason}"}


@pytest.fixture(autouse=True)
def script(house: House) -> None:
    house.rule("touch", TOUCH, TOLD)
    house.rule("both", {"together": [TOUCH, {**TOUCH, "input": {"command": "touch it"}}]}, TOLD)
    house.rule("hang", TOUCH, {"wait": 600})
    house.rule("edit", {"tool": "Write", "input": {"file_path": str(house.project / "a.txt"), "content": "x"}, "ask": True}, TOLD)
    house.rule(
        "hook", {"tool": "Write", "input": {"file_path": str(house.project / ".git/hooks/x"), "content": "x"}, "ask": True}
    )


async def allow(talk: Talk, text: str, **more: Any) -> str:
    return (await talk.hub.add_rule(MIA, c.NewRule(text=text, behavior="allow", **more))).id


class Held:
    """Stands before one of the runner's answers about files: ``reached`` when it is asked, goes on when ``go`` is set."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        self._ask = getattr(hub.world.link.files, name)
        setattr(hub.world.link.files, name, self._held)

    async def _held(self, *words: Any) -> Any:
        self.reached.set()
        await self.go.wait()
        return await self._ask(*words)


async def in_time(event: asyncio.Event) -> None:
    async with asyncio.timeout(30):
        await event.wait()


async def test_a_rule_that_comes_while_names_are_looked_up_answers(talk: Talk) -> None:
    """ours: rules are looked at after the names"""
    held = Held(talk.hub, "realpaths")
    session = await talk.new("touch")
    await in_time(held.reached)
    await allow(talk, "Bash(touch:*)")
    held.go.set()
    assert (await talk.turns(session.id, 1))[0]["text"].startswith("Verdict: allowed")
    assert "question_opened" not in await talk.kinds(session.id)


async def test_a_rule_that_comes_while_the_file_is_read_for_the_card_answers(talk: Talk) -> None:
    """ours: else it would stay asked until the next rule comes"""
    held = Held(talk.hub, "read")
    (talk.house.project / "a.txt").write_text("before")
    session = await talk.new("edit")
    await in_time(held.reached)
    await allow(talk, "Edit(a.txt)")
    held.go.set()
    assert (await talk.turns(session.id, 1))[0]["text"].startswith("Verdict: allowed")
    assert "question_opened" not in await talk.kinds(session.id)


async def test_a_request_that_was_withdrawn_while_it_was_judged_is_nobodys(talk: Talk) -> None:
    """ours: neither asked nor answered, and it uses up nothing"""
    rule = await allow(talk, "Bash(touch:*)", uses=1)
    held = Held(talk.hub, "realpaths")
    session = await talk.new("touch")
    await in_time(held.reached)
    await talk.hub.interrupt(MIA, session.id, c.Interrupt())
    await talk.turns(session.id, 1)
    held.go.set()
    await talk.prompt(session.id, "touch")
    await talk.turns(session.id, 2)
    kinds = await talk.kinds(session.id)
    assert "question_opened" not in kinds and kinds.count("verdict_given") == 1
    assert (await talk.hub.rule(MIA, rule)).hits == 1


async def test_two_requests_judged_at_once_use_up_one_use_once(house: House, talk: Talk) -> None:
    """ours: the other is asked"""
    await allow(talk, "Bash(touch:*)", uses=1)
    session = await talk.new("both")
    question = await talk.question(session.id)
    kinds = await talk.kinds(session.id)
    assert kinds.count("verdict_given") == 1 and kinds.count("question_opened") == 1
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="deny"))
    await talk.turns(session.id, 1)


async def test_a_denied_request_uses_up_no_grant(house: House, talk: Talk) -> None:
    """ours: a part of it was allowed by the grant, and nothing ran"""
    house.rule("halves", {"tool": "Bash", "input": {"command": "touch it && curl x"}, "ask": True}, TOLD)
    rule = await allow(talk, "Bash(touch:*)", uses=1)
    deny = await talk.hub.add_rule(MIA, c.NewRule(text="Bash(curl:*)", behavior="deny"))
    session = await talk.new("halves")
    await talk.turns(session.id, 1)
    kept, denied = await talk.hub.rule(MIA, rule), await talk.hub.rule(MIA, deny.id)
    assert (kept.hits, kept.uses_left, denied.hits) == (0, 1, 1)


async def test_what_breaks_its_judge_is_asked(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: a fault of ours allows nothing and leaves no CLI waiting for ever"""
    failed: list[BaseException] = []
    talk.hub.world.tasks.failed = failed.append

    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(judging, "decide", broken)
    session = await talk.new("touch")
    question = await talk.question(session.id)
    assert question.once_only_because and [str(error) for error in failed] == ["broken"]
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
    await talk.turns(session.id, 1)


@pytest.mark.parametrize("odd", ["1e400", "9" * 400, "[" * 1500 + "]" * 1500, '"\\ud83d"'], ids=["huge", "long", "deep", "half"])
async def test_an_input_that_our_reader_refuses_is_asked(house: House, talk: Talk, odd: str) -> None:
    """ours: legal JSON that nobody can judge"""
    session = await talk.new("touch")
    await talk.question(session.id)
    wire = (await talk.hub.roster.get(session.id)).wire
    assert wire is not None
    asked = f'{{"subtype":"can_use_tool","tool_name":"Bash","input":{{"command":"touch it","odd":{odd}}},"tool_use_id":"t2"}}'
    line = f'{{"type":"control_request","request_id":"odd-1","request":{asked}}}\n'
    wire.lines(wire.heard + 100_000, line.encode())

    async def asked_too() -> bool:
        return len(await talk.hub.questions(MIA, session=session.id)) == 2

    await until(asked_too, "question with odd input")


async def test_a_grant_for_a_turn_ends_with_its_process(talk: Talk) -> None:
    """ours: a turn that was cut off ends no other way, and its grant must not live into the next"""
    session = await talk.new("hang")
    question = await talk.question(session.id)
    remember = c.Remember(rules=["Bash(touch it)"], scope="session", turn=True)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", remember=remember))
    os.kill(await talk.pid(session.id), signal.SIGKILL)
    assert (await talk.told(session.id, "grant_ended"))["why"] == "its turn is over"
    assert not [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]


# -- over a restart


async def test_a_question_of_an_earlier_life_can_be_remembered(house: House) -> None:
    """ours: what it is about is looked up again"""
    async with house.opened() as talk:
        session = await talk.new("touch")
        await talk.question(session.id)
    async with house.opened() as talk:
        question = await talk.question(session.id)
        remember = c.Remember(rules=["Bash(touch it)"], scope="folder")
        await talk.hub.answer(JO, question.id, c.Answer(behavior="allow", remember=remember, shown=question.hash))
        await talk.turns(session.id, 1)
        assert [rule.text for rule in await talk.hub.rules(MIA) if rule.source == "store"] == ["Bash(touch it)"]
        assert "question_opened" not in await talk.kinds((await talk.new("touch")).id)


async def test_a_rule_that_came_while_the_hub_was_down_answers_what_is_open(house: House) -> None:
    """ours: a file of rules that was changed meanwhile"""
    async with house.opened() as talk:
        session = await talk.new("touch")
        await talk.question(session.id)
    (house.home / "rules.toml").write_text('[rules]\nallow = ["Bash(touch:*)"]\n')
    async with house.opened() as talk:
        closed = await talk.told(session.id, "question_closed")
        assert (closed["behavior"], closed["because_kind"]) == ("allow", "rule")
        await talk.turns(session.id, 1)


async def test_a_mode_settles_questions_of_an_earlier_life(house: House) -> None:
    """ours"""
    async with house.opened() as talk:
        session = await talk.new("touch")
        await talk.question(session.id)
    async with house.opened() as talk:
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="dontAsk"))
        closed = await talk.told(session.id, "question_closed")
        assert (closed["behavior"], closed["because_kind"]) == ("deny", "mode")


async def test_a_bypass_whose_time_ended_while_the_hub_was_down_is_ended(house: House) -> None:
    """ours: by the stored deadline; and one that was only asked for has an end, too"""
    house.settings["allow_bypass"] = True
    async with house.opened() as talk:
        session = await talk.new("hello", options=c.SessionOptions(allow_bypass=True))
        await talk.turns(session.id, 1)
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions", for_seconds=0.5))
    async with house.opened() as talk:
        await talk.told(session.id, "mode_changed", mode="default", by="its time is over")
        awake = await talk.hub.roster.get(session.id)
        assert awake.wire is not None and awake.wire.connection.mode == "default" and awake.bypass is None


async def test_a_bypass_that_died_between_the_request_and_its_answer_has_an_end(house: House) -> None:
    """ours: it was stored before the CLI was asked"""
    house.settings["allow_bypass"] = True
    async with house.opened() as talk:
        session = await talk.new("hello", options=c.SessionOptions(allow_bypass=True))
        await talk.turns(session.id, 1)
        awake = await talk.hub.roster.get(session.id)

        async def dies(*_: Any) -> None:
            assert awake.wire is not None
            awake.wire.connection.send_request("set_permission_mode", {"mode": "bypassPermissions"}, lambda told: None)
            awake.wire.flush()
            raise Conflict("the hub is stopping")

        awake.request = dies  # type: ignore[method-assign, assignment]
        awake.post = lambda *_, **__: None  # type: ignore[method-assign]
        with pytest.raises(Conflict, match="stopping"):
            await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions", for_seconds=0.5))
    async with house.opened() as talk:
        await talk.told(session.id, "mode_changed", mode="default", by="its time is over")


async def test_bypass_comes_by_no_other_way(house: House) -> None:
    """ours: a control request has no length"""
    house.settings["allow_bypass"] = True
    async with house.opened() as talk:
        session = await talk.new("hello", options=c.SessionOptions(allow_bypass=True))
        await talk.turns(session.id, 1)
        command = c.Control(subtype="set_permission_mode", fields={"mode": "bypassPermissions"})
        with pytest.raises(UsageError, match="length"):
            await talk.hub.control(MIA, session.id, command)


async def test_accepting_edits_does_not_settle_what_claude_would_still_ask(talk: Talk) -> None:
    """ours: what git, editors or Claude itself run later is asked in that mode, too"""
    session = await talk.new("hook")
    await talk.question(session.id)
    await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="acceptEdits"))
    await talk.told(session.id, "mode_changed", mode="acceptEdits")
    assert (await talk.question(session.id)).state == "open"


async def test_who_comes_after_a_rule_reads_that_it_was_first(talk: Talk) -> None:
    """ours: 409 with the rule's words"""
    session = await talk.new("touch")
    question = await talk.question(session.id)
    await allow(talk, "Bash(touch:*)")
    await talk.turns(session.id, 1)
    with pytest.raises(AlreadyAnswered, match=r"without anybody: allowed by Bash\(touch:\*\) \(Mia\)"):
        await talk.hub.answer(JO, question.id, c.Answer(behavior="deny"))


# -- a sick disk


class Locked:
    """The database, held by another program's write until ``release``: what is stored waits, what is wished is refused."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._other = sqlite3.connect(hub.world.config.database, isolation_level=None)

    async def __aenter__(self) -> None:
        self._other.execute("BEGIN IMMEDIATE")
        self._hub.store.post(Entry(keep=True))

        async def sick() -> bool:
            return not self._hub.store.health.well

        await until(sick, "a sick store")

    async def __aexit__(self, *exc: object) -> None:
        self._other.execute("ROLLBACK")
        self._other.close()


def answers(house: House) -> list[tuple[str, str]]:
    told = [line["response"] for line in house.heard_by_cli() if line["type"] == "control_response"]
    return [(one["request_id"], one["response"]["behavior"]) for one in told]


def asks(talk: Session, name: str, command: str, number: int) -> None:
    """Its CLI asks this, as far as the hub can tell."""
    assert talk.wire is not None
    asked = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": command}, "tool_use_id": name}
    line = json.dumps({"type": "control_request", "request_id": name, "request": asked})
    talk.wire.lines(talk.wire.heard + 100_000 + number, line.encode() + b"\n")


async def test_on_a_sick_disk_a_rule_denies_at_once_and_allows_when_it_is_stored(house: House, talk: Talk) -> None:
    """PROOF G19: denials are answered, and nothing is allowed that is not stored"""
    await allow(talk, "Bash(touch:*)")
    await talk.hub.add_rule(MIA, c.NewRule(text="Bash(curl:*)", behavior="deny"))
    session = await talk.new("hello")
    await talk.turns(session.id, 1)
    awake = await talk.hub.roster.get(session.id)
    assert awake.wire is not None
    said = awake.wire.said
    async with Locked(talk.hub):
        asks(awake, "one", "touch it", 1)
        asks(awake, "two", "curl it", 2)

        async def denied() -> bool:
            return bool(answers(house)) and awake.wire is not None and awake.wire.said == said + 2

        await until(denied, "the denial, and an allow on its way to the disk")
        assert answers(house) == [("two", "deny")], "what is not stored is not said"
        with pytest.raises(StoreUnavailable):
            await allow(talk, "Bash(make:*)")

    async def allowed() -> bool:
        return answers(house) == [("two", "deny"), ("one", "allow")]

    await until(allowed, "the allow")
    assert sorted(row.behavior for row in await talk.hub.store.find(VerdictRow, {})) == ["allow", "deny"]
    assert {rule.text for rule in await talk.hub.rules(MIA) if rule.source == "store"} == {"Bash(curl:*)", "Bash(touch:*)"}


async def test_a_rule_is_taken_back_at_once_also_on_a_sick_disk_and_a_deny_is_not(talk: Talk) -> None:
    """ours: memory may be stricter than the disk, never laxer"""
    rule = await allow(talk, "Bash(touch:*)")
    deny = await talk.hub.add_rule(MIA, c.NewRule(text="Bash(curl:*)", behavior="deny"))
    async with Locked(talk.hub):
        assert (await talk.hub.end_rule(MIA, rule, c.EndRule())).ended_at
        with pytest.raises(StoreUnavailable):
            await talk.hub.end_rule(MIA, deny.id, c.EndRule())
        assert [one.text for one in await talk.hub.rules(MIA) if one.source == "store"] == ["Bash(curl:*)"]

    async def kept() -> bool:
        row = await talk.hub.store.get(RuleRow, rule)
        return row is not None and row.ended_at is not None

    await until(kept, "the end of the rule, stored")


async def test_what_a_sick_disk_stored_all_the_same_holds_when_it_is_well(talk: Talk) -> None:
    """ours: whoever asked was told that it failed; then the store and the rules in force must not differ"""
    row = RuleRow(id="unknown", text="Bash(touch it)", behavior="deny", tool="Bash", pattern="touch it", by="Mia")
    await talk.hub.store.append(Entry(rows=[put(row)]))
    assert not [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]
    async with Locked(talk.hub):
        pass

    async def holds() -> bool:
        return [rule.id for rule in await talk.hub.rules(MIA) if rule.source == "store"] == ["unknown"]

    await until(holds, "the rule that was stored")


async def test_changes_of_one_rule_at_once_are_all_kept_and_its_uses_are_counted_on(talk: Talk) -> None:
    """ours"""
    rule = await allow(talk, "Bash(touch:*)", uses=3)
    changes = [c.ChangeRule(note="a note"), c.ChangeRule(text="Bash(touch it)")]
    changing = asyncio.gather(*[talk.hub.change_rule(MIA, rule, change) for change in changes])
    session = await talk.new("touch")
    await changing
    await talk.turns(session.id, 1)
    kept = await talk.hub.rule(MIA, rule)
    assert (kept.note, kept.text, kept.uses_left) == ("a note", "Bash(touch it)", 2)
    stored = await talk.hub.store.get(RuleRow, rule)
    assert stored is not None and (stored.note, stored.text, stored.uses_left) == ("a note", "Bash(touch it)", 2)
    names = ("built-in:env:read", "built-in:env:edit")
    await asyncio.gather(*[talk.hub.change_rule(MIA, name, c.ChangeRule(enabled=False)) for name in names])
    assert {rule.id for rule in await talk.hub.rules(MIA) if rule.source == "built_in" and not rule.enabled} == set(names)
