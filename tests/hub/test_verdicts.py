"""Rules that answer before anybody is asked, answers that make rules, grants that end, modes that settle questions."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from ropewalk.errors import Conflict, NotAllowed, UsageError
from ropewalk.events import commands as c
from ropewalk.events import views as v
from ropewalk.store.rows import VerdictRow
from tests.demand import demand
from tests.hub.house import EVE, JO, MIA, House, Talk, until

TOUCH: dict[str, Any] = {"tool": "Bash", "input": {"command": "touch it"}, "ask": True}
MAKE: dict[str, Any] = {"tool": "Bash", "input": {"command": "make test -j2"}, "ask": True}
BOTH: dict[str, Any] = {"tool": "Bash", "input": {"command": "make test && touch it"}, "ask": True}
TOLD = {"text": "Verdict: {verdict} {reason}"}


@pytest.fixture(autouse=True)
def script(house: House) -> None:
    house.rule("touch", TOUCH, TOLD)
    house.rule("make", MAKE, TOLD)
    house.rule("both", BOTH, TOLD)
    house.rule("secret", {"tool": "Read", "input": {"file_path": str(house.project / ".env")}, "ask": True}, TOLD)
    house.rule("choose", {"ask": [{"question": "Which?", "options": ["A", "B"]}]}, {"text": "{answer}"})
    house.rule("draw it up", {"plan": "# Plan\n1. One\n2. Two"}, {"text": "Mode {mode}"})


async def allow(talk: Talk, text: str, **more: Any) -> v.RuleView:
    return await talk.hub.add_rule(MIA, c.NewRule(text=text, behavior="allow", **more))


async def verdicts(talk: Talk, session: str) -> list[VerdictRow]:
    return await talk.hub.store.find(VerdictRow, {"session": session}, order="at")


@demand("000-23", tag="sim")
@demand("001-82", tag="sim")
async def test_a_rule_answers_before_anybody_is_asked(house: House, talk: Talk) -> None:
    """seed: the permission engine is consulted first; no card, no push, one row in the audit"""
    rule = await allow(talk, "Bash(touch:*)")
    session = await talk.new("touch")
    [ended] = await talk.turns(session.id, 1)
    assert ended["text"].startswith("Verdict: allowed")
    kinds = await talk.kinds(session.id)
    assert "question_opened" not in kinds and kinds.count("verdict_given") == 1
    given = await talk.told(session.id, "verdict_given")
    assert (given["behavior"], given["rules"], given["because"]) == ("allow", [rule.id], "allowed by Bash(touch:*) (Mia)")
    [row] = await verdicts(talk, session.id)
    assert (row.because_kind, row.because_id, row.behavior, row.tool_use) == ("rule", rule.id, "allow", given["tool_use"])
    assert (await talk.hub.rule(MIA, rule.id)).hits == 1


async def test_a_rule_denies_and_the_model_reads_why(house: House, talk: Talk) -> None:
    """ours: the sentence names the rule"""
    await allow(talk, "Bash(touch:*)")
    await talk.hub.add_rule(MIA, c.NewRule(text="Bash(touch it)", behavior="deny", note="not today"))
    session = await talk.new("touch")
    [ended] = await talk.turns(session.id, 1)
    assert "denied" in ended["text"] and "Bash(touch it) (Mia): not today" in ended["text"]
    assert "question_opened" not in await talk.kinds(session.id)


@demand("000-24", tag="sim")
async def test_what_no_rule_decides_is_asked_with_its_parts(house: House, talk: Talk) -> None:
    """seed: with no matching rule the request goes to the clients; each part has its own verdict and reason"""
    rule = await allow(talk, "Bash(make test:*)")
    session = await talk.new("both")
    question = await talk.question(session.id)
    assert [(part.text, part.verdict) for part in question.parts] == [("make test", "allow"), ("touch it", "ask")]
    assert question.parts[0].because == f"allowed by {rule.text} (Mia)"
    assert question.because == "part 2, touch it: no rule matches"
    assert [offer.scope for offer in question.offers] == ["session", "folder"]
    assert question.offers[1].rules == ["Bash(touch it)"] and question.hash
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", shown=question.hash))
    await talk.turns(session.id, 1)


@demand("000-25", tag="sim")
@demand("003-33", tag="unit")
async def test_choices_and_plans_go_to_people_whatever_the_rules_say(house: House, talk: Talk) -> None:
    """seed: no rule allows them; rules that would are refused"""
    for tool in ("AskUserQuestion", "ExitPlanMode", "EnterPlanMode"):
        with pytest.raises(UsageError, match="only a person"):
            await allow(talk, tool)
    for prompt, kind in (("choose", "choice"), ("draw it up", "plan")):
        session = await talk.new(prompt)
        question = await talk.question(session.id)
        assert question.asks == kind and not question.offers and question.once_only_because


async def test_a_built_in_rule_keeps_secrets_until_an_admin_switches_it_off(house: House, talk: Talk) -> None:
    """ours: .env at any depth is denied though reading is allowed"""
    (house.project / ".env").write_text("KEY=1")
    await allow(talk, "Read(**)")
    [ended] = await talk.turns((await talk.new("secret")).id, 1)
    assert "built in" in ended["text"]
    with pytest.raises(NotAllowed):
        await talk.hub.change_rule(JO, "built-in:env:read", c.ChangeRule(enabled=False))
    off = await talk.hub.change_rule(MIA, "built-in:env:read", c.ChangeRule(enabled=False))
    assert not off.enabled
    [ended] = await talk.turns((await talk.new("secret")).id, 1)
    assert ended["text"].startswith("Verdict: allowed")


async def test_remembering_makes_the_rule_that_was_shown_and_answers_what_else_is_open(house: House, talk: Talk) -> None:
    """ours: the stored rule equals the shown text; other open questions that it covers are closed with that reason"""
    one, two = await talk.new("make"), await talk.new("make")
    first, second = await talk.question(one.id), await talk.question(two.id)
    shown = await talk.hub.question(MIA, first.id)
    step = next(
        step for offer in shown.offers if offer.scope == "folder" for step in offer.steps if "make test:*" in step.rules[0]
    )
    assert step.also_answers == [second.id]
    answer = c.Answer(behavior="allow", remember=c.Remember(rules=step.rules), shown=shown.hash)
    await talk.hub.answer(JO, first.id, answer)
    closed = await talk.told(two.id, "question_closed")
    assert (closed["because_kind"], closed["behavior"], closed["because"]) == (
        "rule", "allow", "allowed by Bash(make test:*) (Jo)",
    )  # fmt: skip
    [made] = [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]
    assert (made.text, made.scope, made.place, made.question) == (step.rules[0], "folder", str(house.project), first.id)
    assert (await talk.told(one.id, "question_closed"))["rules"] == step.rules
    for session in (one, two):
        assert (await talk.turns(session.id, 1))[0]["text"].startswith("Verdict: allowed")
    assert "question_opened" not in await talk.kinds((await talk.new("make")).id)


async def test_nothing_is_granted_that_was_not_on_the_card(talk: Talk) -> None:
    """ours: whole tools, rules about something else, other folders, an answer to something else"""
    session = await talk.new("make")
    question = await talk.question(session.id)

    async def refused(words: str, **remember: Any) -> None:
        with pytest.raises((UsageError, Conflict), match=words):
            await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", remember=c.Remember(**remember)))

    await refused("every use of Bash", rules=["Bash"])
    await refused("no say in what is asked", rules=["Bash(touch:*)"])
    await refused("not taken", rules=["Bash(make"])
    await refused("not the session's folder", rules=["Bash(make test:*)"], place="/elsewhere")
    await refused("either rules", rules=[])
    with pytest.raises(Conflict, match="not what was shown"):
        await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", shown="something else"))
    assert (await talk.hub.question(MIA, question.id)).state == "open"
    assert not [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]


@pytest.mark.parametrize(
    ("ends", "why"),
    [({"uses": 1}, "it is used up"), ({"turn": True}, "its turn is over"), ({"for_seconds": 0.2}, "its time is over")],
)
async def test_a_grant_ends_by_itself_and_the_next_is_asked(house: House, talk: Talk, ends: dict[str, Any], why: str) -> None:
    """ours: by count, by turn, by time; told by an event"""
    session = await talk.new("touch")
    question = await talk.question(session.id)
    remember = c.Remember(rules=["Bash(touch it)"], scope="session", **ends)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow", remember=remember))
    await talk.turns(session.id, 1)
    if "uses" in ends:
        await talk.prompt(session.id, "touch")
        await talk.turns(session.id, 2)
        assert len([kind for kind in await talk.kinds(session.id) if kind == "question_opened"]) == 1
    ended = await talk.told(session.id, "grant_ended")
    assert (ended["text"], ended["why"]) == ("Bash(touch it)", why)
    await talk.prompt(session.id, "touch")
    assert (await talk.question(session.id)).line == "Run: touch it"
    [kept] = [rule for rule in await talk.hub.rules(MIA, ended=True) if rule.source == "store"]
    assert kept.ended_why == why and not [rule for rule in await talk.hub.rules(MIA) if rule.source == "store"]


async def test_a_rule_taken_back_answers_nothing_more(talk: Talk) -> None:
    """ours: the next equal request is asked, and the audit has both"""
    rule = await allow(talk, "Bash(touch:*)")
    session = await talk.new("touch")
    await talk.turns(session.id, 1)
    ended = await talk.hub.end_rule(JO, rule.id, c.EndRule())
    assert ended.ended_why == "taken back by Jo"
    await talk.prompt(session.id, "touch")
    question = await talk.question(session.id)
    await talk.hub.answer(MIA, question.id, c.Answer(behavior="deny"))
    await talk.turns(session.id, 2)
    assert [(row.because_kind, row.behavior) for row in await verdicts(talk, session.id)] == [
        ("rule", "allow"),
        ("person", "deny"),
    ]


async def test_who_may_only_answer_makes_no_rules_of_their_own(talk: Talk) -> None:
    """ours: watch < prompt, answer < admin"""
    for who in (JO, EVE):
        with pytest.raises(NotAllowed):
            await talk.hub.add_rule(who, c.NewRule(text="Bash(touch:*)", behavior="allow"))
    rule = await allow(talk, "Bash(touch:*)")
    with pytest.raises(NotAllowed):
        await talk.hub.end_rule(EVE, rule.id, c.EndRule())
    deny = await talk.hub.add_rule(MIA, c.NewRule(text="Bash(rm:*)", behavior="deny"))
    with pytest.raises(NotAllowed):
        await talk.hub.end_rule(JO, deny.id, c.EndRule())


async def test_another_mode_settles_what_it_would_not_have_asked(house: House, talk: Talk) -> None:
    """measured: no CLI does it by itself"""
    house.rule("edit", {"tool": "Write", "input": {"file_path": str(house.project / "a.txt"), "content": "x"}, "ask": True}, TOLD)
    edit, run = await talk.new("edit"), await talk.new("touch")
    await talk.question(edit.id)
    await talk.question(run.id)
    for session in (edit, run):
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="acceptEdits"))
    closed = await talk.told(edit.id, "question_closed")
    assert (closed["behavior"], closed["because_kind"], closed["because"]) == ("allow", "mode", "Mia set the mode acceptEdits")
    await talk.turns(edit.id, 1)
    assert (await talk.question(run.id)).state == "open"
    await talk.hub.set_mode(MIA, run.id, c.SetMode(mode="dontAsk"))
    assert (await talk.told(run.id, "question_closed"))["behavior"] == "deny"


async def test_a_deadline_denies_only_where_a_policy_sets_one(house: House) -> None:
    """ours: a timer that answers; told as expired"""
    house.settings["question_deadline"] = 0.3
    async with house.opened() as talk:
        session = await talk.new("touch")
        closed = await talk.told(session.id, "question_closed")
        assert (closed["fate"], closed["behavior"], closed["because_kind"]) == ("expired", "deny", "policy")
        [ended] = await talk.turns(session.id, 1)
        assert "Nobody answered in time" in ended["text"]


@demand("000-34", tag="sim")
@demand("000-35", tag="sim")
async def test_policies_change_what_runs_and_the_audit_keeps_both(house: House) -> None:
    """seed: a sandbox around commands, absolute names"""
    house.settings |= {"sandbox": ("env", "-i"), "absolute_paths": True}
    house.rule("read", {"tool": "Read", "input": {"file_path": "a.txt"}, "ask": True}, TOLD)
    async with house.opened() as talk:
        await allow(talk, "Bash(touch:*)")
        await allow(talk, "Read(a.txt)")
        ran = []
        for prompt in ("touch", "read", "make"):
            session = await talk.new(prompt)
            if prompt == "make":
                question = await talk.question(session.id)
                await talk.hub.answer(MIA, question.id, c.Answer(behavior="allow"))
            await talk.turns(session.id, 1)
            [row] = await verdicts(talk, session.id)
            ran.append((json.loads(row.input), json.loads(row.ran or b"{}")))
        said = [
            line["response"]["response"]["updatedInput"] for line in house.heard_by_cli() if line["type"] == "control_response"
        ]
    assert ran[0] == ({"command": "touch it"}, {"command": "env -i bash -c 'touch it'"})
    assert ran[1] == ({"file_path": "a.txt"}, {"file_path": f"{house.project}/a.txt"})
    assert ran[2][1] == {"command": "env -i bash -c 'make test -j2'"}
    assert [given for given in said if given in [one for _, one in ran]] == [one for _, one in ran]


async def test_rules_of_a_file_hold_and_a_bad_file_changes_nothing(house: House) -> None:
    """ours: read again when it changes; a mistake is said and what held goes on"""
    file = house.home / "rules.toml"
    file.write_text('[rules]\nallow = ["Bash(touch:*)"]\n')
    async with house.opened() as talk:
        assert [rule.text for rule in await talk.hub.rules(MIA) if rule.source == "file"] == ["Bash(touch:*)"]
        await talk.turns((await talk.new("touch")).id, 1)
        file.write_text('[rules]\nallow = ["Bash(touch"]\n')
        talk.hub.rules_file.look()
        assert "Bash(touch" in talk.hub.health().why and talk.hub.health().state == "degraded"
        await talk.turns((await talk.new("touch")).id, 1)
        file.write_text('[rules]\ndeny = ["Bash(touch:*)"]\n')
        talk.hub.rules_file.look()
        assert talk.hub.health().state == "ok"
        [ended] = await talk.turns((await talk.new("touch")).id, 1)
        assert "denied" in ended["text"]


@demand("004-36", tag="sim")
@demand("004-39", tag="sim")
async def test_what_the_configuration_allows_is_not_asked(house: House) -> None:
    """seed: a set of tools, approved without a person; it reaches the rules"""
    house.rule("fetch", {"tool": "WebFetch", "input": {"url": "https://example.com/a", "prompt": "?"}, "ask": True}, TOLD)
    house.settings["allowed_tools"] = ("WebFetch(domain:example.com)", "WebSearch")
    async with house.opened() as talk:
        session = await talk.new("fetch")
        [ended] = await talk.turns(session.id, 1)
        assert ended["text"].startswith("Verdict: allowed") and "question_opened" not in await talk.kinds(session.id)
        given = await talk.told(session.id, "verdict_given")
        assert given["because"] == "allowed by WebFetch(domain:example.com) (the configuration)"
        assert (await talk.question((await talk.new("touch")).id)).line == "Run: touch it"
    house.settings["allowed_tools"] = ("Bash(",)
    with pytest.raises(UsageError, match="not taken"):
        async with house.opened():
            pass


async def test_bypass_has_a_length_and_ends_by_itself(house: House) -> None:
    """ours: by name, where the configuration permits it, for a time; another process never inherits it"""
    house.settings["allow_bypass"] = True
    async with house.opened() as talk:
        session = await talk.new("hello", options=c.SessionOptions(allow_bypass=True))
        await talk.turns(session.id, 1)
        with pytest.raises(UsageError, match="for how long"):
            await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions"))
        with pytest.raises(UsageError, match="at most"):
            await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions", for_seconds=80000))
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions", for_seconds=0.3))
        over = await talk.told(session.id, "mode_changed", mode="default", by="its time is over")
        assert over["seq"]
        assert (await talk.hub.session(MIA, session.id)).mode == "default"
        await talk.hub.set_mode(MIA, session.id, c.SetMode(mode="bypassPermissions", for_seconds=600))
        await talk.hub.stop(MIA, session.id, c.Stop())
        assert (await talk.hub.session(MIA, session.id)).mode == "default"
        await talk.hub.wake(JO, session.id, c.Wake())
        started = [event for event in await talk.events(session.id) if event["kind"] == "process_started"][-1]
        assert "--permission-mode=default" in started["argv"]


async def test_trying_a_rule_tells_what_it_would_have_changed(talk: Talk) -> None:
    """ours: over what was asked before; conflicts are what a person decided otherwise"""
    for prompt, behavior in (("touch", "allow"), ("touch", "deny"), ("make", "allow")):
        session = await talk.new(prompt)
        question = await talk.question(session.id)
        await talk.hub.answer(MIA, question.id, c.Answer(behavior=behavior))  # type: ignore[arg-type]
        await talk.turns(session.id, 1)
    trial = await talk.hub.test_rules(EVE, c.RuleTest(rule=c.TriedRule(text="Bash(touch:*)", behavior="allow")))
    assert isinstance(trial, v.TrialView)
    assert (trial.total, trial.more, trial.fewer, trial.matches, len(trial.conflicts)) == (3, 2, 0, 2, 1)
    assert (trial.conflicts[0].decided, trial.conflicts[0].what) == ("deny", "Run: touch it")
    tried = await talk.hub.test_rules(EVE, c.RuleTest(tool="Bash", input={"command": "git status; rm -rf ~"}, cwd="/tmp"))
    assert isinstance(tried, v.TriedView) and tried.behavior == "ask" and tried.parts[1].verdict == "ask"


async def test_a_request_that_a_dead_hub_had_heard_is_judged_by_the_next(house: House) -> None:
    """ours: neither answered nor asked when the hub went: it is judged again, and never lost"""
    async with house.opened() as talk:
        world = talk.hub.world
        held = asyncio.Event()

        async def never(*_: Any) -> tuple[str, ...]:
            held.set()
            await asyncio.get_running_loop().create_future()
            return ()

        world.link.files.realpaths = never  # type: ignore[method-assign, assignment]
        session = await talk.new("touch")
        async with asyncio.timeout(30):
            await held.wait()
        assert "question_opened" not in await talk.kinds(session.id)
    async with house.opened() as talk:
        question = await talk.question(session.id)
        assert question.line == "Run: touch it"
        await allow(talk, "Bash(touch:*)")
        await talk.turns(session.id, 1)

        async def closed() -> bool:
            return (await talk.hub.question(MIA, question.id)).state == "answered"

        await until(closed, "answer by the rule")
