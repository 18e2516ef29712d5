"""The card of a question of the hub: parts with their verdicts, rules that are read before they are granted, and who answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.cli.hub.conftest import HubDesk
from tests.cli.terminal import ENTER, Terminal
from tests.client.scripted_hub import http_hub

pytestmark = pytest.mark.slow

Json = dict[str, Any]
TOUCH: Json = {"tool": "Bash", "input": {"command": "touch a.txt"}, "ask": True, "if_denied": [{"text": "Because: {reason}"}]}
MANY: Json = {"tool": "Bash", "input": {"command": "cd db && npm run migrate > /tmp/migrate.log"}, "ask": True}
OPAQUE: Json = {"tool": "Bash", "input": {"command": 'eval "$X"'}, "ask": True}


def rules(hub: HubDesk) -> list[tuple[str, str, str]]:
    """Those that people made: what they say, their text, where they hold."""
    found = hub.json("rules")["items"]
    return [(one["behavior"], one["text"], one["scope"]) for one in found if one["source"] == "store"]


def test_each_part_stands_on_the_card_with_its_own_verdict_and_reason(hub: HubDesk) -> None:
    """ours: the whole command above, unchanged; then what the rules say of each part, with tags"""
    hub.ropewalk("rules", "add", "allow", "Bash(npm run migrate:*)")
    hub.script(MANY, {"text": "Done."})
    with hub.terminal("run", "go", columns=120) as terminal:
        card = terminal.until("d ›")
        assert "    cd db && npm run migrate > /tmp/migrate.log\n" in card
        rows = [" ".join(line.split()) for line in card.splitlines() if line.startswith("    ")]
        assert any(row.startswith("1 cd db allow") for row in rows)
        assert any(row.startswith("2 npm run migrate allow allowed by Bash(npm run migrate:*)") for row in rows)
        assert any(row.startswith("3 > /tmp/migrate.log ask") and row.endswith("writes outside the folder") for row in rows)
        terminal.press("w")
        assert "ropewalk: part 3, > /tmp/migrate.log" in terminal.until("d ›")
        terminal.press("a")
        assert terminal.end() == 0
    show = hub.ropewalk("show", hub.json("ls")["items"][0]["id"]).out
    assert "✓ Bash  cd db && npm run migrate > /tmp/migrate.log  allowed by " in show


def test_what_can_not_be_taken_apart_is_offered_once_and_says_why(hub: HubDesk) -> None:
    """ours: neither rules of ours nor Claude Code's own offers"""
    hub.script({**OPAQUE, "suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]})
    with hub.terminal("run", "go") as terminal:
        card = terminal.until("a/d ›")
        assert "Once only: eval runs what its words say" in card and "Claude's own offer" not in card
        for key in "sAc+":
            terminal.press_alone(key)
        terminal.press("D")
        assert terminal.end() == 130
    session = hub.json("ls")["items"][0]["id"]
    assert rules(hub) == [] and len(hub.answers) == 1
    refused = hub.ropewalk("answer", session, "--always", "--yes")
    assert refused.code == 7


def test_a_grant_is_read_first_and_what_is_kept_is_what_was_shown(hub: HubDesk) -> None:
    """ours (F-13, F-15): the exact rules, the place, what they matched and whom else they answer; n grants nothing"""
    hub.script(TOUCH, {"text": "Done."})
    first = hub.new("go")
    hub.question(first)
    assert hub.ropewalk("answer", first, "--deny", "not now").code == 0
    hub.status(first, "idle")
    second = hub.new("--title", "Second", "go")
    other = hub.question(second)
    third = hub.new("go")
    hub.question(third)
    with hub.terminal("answer", third, columns=120) as terminal:
        card = terminal.until("a/s/A/d ›")
        assert "A  always in this folder   the same\n" in card and "matches 1 of the last 1, denied" in card
        terminal.press("+")
        assert "allow for this session  Bash(touch:*)" in terminal.until("a/s/A/d ›")
        terminal.press("-")
        terminal.until("a/s/A/d ›")
        terminal.press("A")
        read = terminal.until("Grant this rule? y/n ›")
        assert "Grants, always in " in read and "\n    Bash(touch a.txt)\n" in read
        assert "matches 1 of the last 1, denied" in read
        assert "Also answers 1 other open question:\n    Second: Run: touch a.txt\n" in read
        terminal.press("n")
        terminal.until("a/s/A/d ›")
        assert rules(hub) == []
        terminal.press("A")
        terminal.until("Grant this rule? y/n ›")
        terminal.press("y")
        assert terminal.end() == 0
    assert rules(hub) == [("allow", "Bash(touch a.txt)", "folder")]
    hub.status(second, "idle")
    late = hub.ropewalk("answer", other["id"], "--allow")
    assert late.code == 7 and "allowed by rule Bash(touch a.txt)" in late.err
    assert "allowed by rule Bash(touch a.txt)" in hub.ropewalk("logs", second).out


def test_a_grant_for_the_session_answers_its_next_question_and_says_so_on_the_row(hub: HubDesk) -> None:
    """ours: s; the next turn's tool row names the grant"""
    hub.script(TOUCH, {"text": "Done."})
    with hub.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d ›")
        terminal.press("s")
        assert "Grants, for this session, until it ends:" in terminal.until("Grant this rule? y/n ›")
        terminal.press("y")
        assert "allowed for this session" in terminal.until("Done.")
        assert terminal.end() == 0
    again = hub.ropewalk("run", "--continue", "go")
    assert again.code == 0 and "grant Bash(touch a.txt)" in again.err
    session = hub.json("ls")["items"][0]["id"]
    assert "verdict_given Bash allowed: grant Bash(touch a.txt)" in " ".join(hub.ropewalk("logs", session).out.split())
    assert rules(hub) == [("allow", "Bash(touch a.txt)", "session")]


def test_claudes_own_offers_stay_a_further_choice(hub: HubDesk) -> None:
    """ours: c hands one of them back unchanged, after a y, and makes no rule of ours"""
    offer = {
        "type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}], "behavior": "allow",
        "destination": "localSettings",
    }  # fmt: skip
    hub.script({**TOUCH, "suggestions": [offer]}, {"text": "Done."})
    with hub.terminal("run", "go") as terminal:
        card = terminal.until("a/s/A/d ›")
        assert "c  Claude's own offer: Bash(touch:*)   kept in .claude/settings.local.json" in card
        terminal.press("c")
        assert "Claude Code no longer asks" in terminal.until("y/n ›")
        terminal.press("y")
        assert terminal.end() == 0
    assert hub.answers[-1]["updatedPermissions"] == [offer] and rules(hub) == []


def test_where_no_lasting_rule_is_wanted_always_is_absent_and_deny_stands_first(hub: HubDesk) -> None:
    """ours (F-16)"""
    hub.script({**TOUCH, "with_question": {"suppress_always_allow_rule": True, "default_to_no": True}})
    with hub.terminal("run", "go") as terminal:
        card = terminal.until("d/a/s ›")
        assert "always in this folder" not in card and "Claude Code wants no lasting rule for this." in card
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press(f"use the test database{ENTER}")
        terminal.until("Because: use the test database")
        assert terminal.end() == 0


def test_ones_own_version_is_granted_nothing(hub: HubDesk) -> None:
    """ours (F-17): exactly the edited text runs, once; the receipt of it says so"""
    hub.script(TOUCH, {"text": "Done."})
    editor = hub.program("editor", '#!/bin/sh\nprintf "touch b.txt" > "$1"\n')
    with hub.terminal("run", "go", EDITOR=editor) as terminal:
        terminal.until("a/s/A/d ›")
        terminal.press("e")
        card = terminal.until("a/d ›")
        assert "touch b.txt" in card and "no rule matches" not in card and "this folder" not in card
        terminal.press("a")
        assert terminal.end() == 0
    assert hub.answers[-1]["updatedInput"]["command"] == "touch b.txt"
    assert "another version" in hub.ropewalk("logs", hub.json("ls")["items"][0]["id"]).out


def test_an_edit_is_compared_with_the_file_as_the_hub_read_it_and_a_change_since_is_told(hub: HubDesk) -> None:
    """ours: one, then another hand on the same file while it is asked"""
    (hub.project / "a.txt").write_text("one\ntwo\n")
    change = {"file_path": str(hub.project / "a.txt"), "old_string": "two", "new_string": "2"}
    hub.script({"tool": "Edit", "input": change, "ask": True}, {"text": "Done."})
    session = hub.new("go")
    hub.question(session)
    (hub.project / "a.txt").write_text("one\ntwo\nthree\n")
    with hub.terminal("answer", session) as terminal:
        card = terminal.until("d ›")
        assert "the file has changed since this was asked" in card and "2 - two" in card and "2 + 2" in card
        assert "three" not in card
        terminal.press("a")
        assert terminal.end() == 0


def test_a_file_behind_a_link_is_granted_by_both_of_its_names(hub: HubDesk) -> None:
    """ours: one alone would allow nothing"""
    (hub.home / "real.txt").write_text("one\n")
    (hub.project / "link.txt").symlink_to(hub.home / "real.txt")
    given = {"file_path": str(hub.project / "link.txt"), "content": "two\n"}
    hub.script({"tool": "Write", "input": given, "ask": True}, {"text": "Done."})
    with hub.terminal("run", "go") as terminal:
        card = terminal.until("a/s/A/d ›")
        assert "a link: it is really" in card
        terminal.press("s")
        terminal.until("Grant these 2 rules? y/n ›")
        terminal.press("y")
        assert terminal.end() == 0
    assert sorted(text for _, text, _ in rules(hub)) == ["Edit(link.txt)", "Edit(~/real.txt)"]


# -- plans

WISHES = [{"tool": "Bash", "prompt": "npm test"}, {"tool": "Bash", "prompt": "look around a bit"}]


def test_what_a_plan_asks_for_is_ticked_read_and_granted_with_it(hub: HubDesk) -> None:
    """ours: only what is ticked, as a rule of ours for this session; mere words can't be"""
    hub.script({"plan": "# The plan", "allowed_prompts": WISHES}, {"text": "Done."})
    with hub.terminal("run", "--mode", "plan", "go") as terminal:
        card = terminal.until("1/2/3/d/D ›")
        assert "1  Bash: npm test   Bash(npm test)" in card and "2  Bash: look around a bit   mere words" in card
        terminal.press("t")
        terminal.until("(Enter: nothing)")
        terminal.press(f"1 2{ENTER}")
        read = terminal.until("Grant this rule? y/n ›")
        assert "for this session, until it ends:\n    Bash(npm test)\n" in read
        terminal.press("y")
        terminal.until("1/2/3/d/D ›")
        assert rules(hub) == []
        terminal.press("3")
        terminal.until("Done.")
        assert terminal.end() == 0
    assert rules(hub) == [("allow", "Bash(npm test)", "session")]


def test_a_plan_is_sent_back_for_an_outline(hub: HubDesk) -> None:
    """ours: with the hub's words for it; by a key, and by a flag"""
    hub.script({"plan": "# The plan", "if_denied": [{"text": "Told: {reason}"}]})
    with hub.terminal("run", "--mode", "plan", "go") as terminal:
        terminal.until("1/2/3/d/D ›")
        terminal.press("o")
        assert "outline" in terminal.until("Told: Not yet: first write the plan out")
        assert terminal.end() == 0
    session = hub.new("--mode", "plan", "go")
    hub.question(session)
    assert hub.ropewalk("answer", session, "--plan", "outline").code == 0
    hub.status(session, "idle")
    assert hub.answers[-1]["behavior"] == "deny"


# -- by flags


def asked(hub: HubDesk) -> str:
    hub.script(TOUCH, {"text": "Done."})
    session = hub.new("go")
    hub.question(session)
    return session


def test_always_with_yes_grants_the_narrowest_offer_in_the_folder(hub: HubDesk) -> None:
    """ours: what is granted is printed all the same"""
    session = asked(hub)
    done = hub.ropewalk("answer", session, "--always", "--yes")
    assert (done.code, done.out) == (0, "allowed, and granted Bash(touch a.txt): touch a.txt\n"), done.err
    assert rules(hub) == [("allow", "Bash(touch a.txt)", "folder")]


def test_a_rule_of_ones_own_and_an_end(hub: HubDesk) -> None:
    """ours: word for word; one that has no say in it is refused and the question stays"""
    session = asked(hub)
    refused = hub.ropewalk("answer", session, "--always", "--rule", "Bash(make:*)", "--yes")
    assert refused.code == 2 and "no say in what is asked" in refused.err
    whole = hub.ropewalk("answer", session, "--always", "--rule", "Bash", "--yes")
    assert whole.code == 2 and rules(hub) == []
    words = ("--session", "--rule", "Bash(touch:*)", "--uses", "3", "--for", "1h", "--yes")
    assert hub.ropewalk("answer", session, *words).code == 0
    (made,) = [one for one in hub.json("rules")["items"] if one["source"] == "store"]
    assert (made["text"], made["scope"], made["uses_left"], made["ends_with"]) == ("Bash(touch:*)", "session", 3, "session")
    assert made["ends_at"]


def test_everywhere_and_folders_above_are_named(hub: HubDesk) -> None:
    """ours"""
    session = asked(hub)
    wrong = hub.ropewalk("answer", session, "--always", "--in", "/nowhere", "--yes")
    assert wrong.code == 2 and "not the session's folder" in wrong.err
    assert hub.ropewalk("answer", session, "--always", "--in", "everywhere", "--yes").code == 0
    assert rules(hub) == [("allow", "Bash(touch a.txt)", "everywhere")]


def test_without_a_yes_and_without_a_terminal_nothing_is_granted(hub: HubDesk) -> None:
    """ours: the rule is shown, the question stays open, and the code says so"""
    session = asked(hub)
    done = hub.ropewalk("answer", session, "--session")
    assert done.code == 6 and "Bash(touch a.txt)" in done.err and "--yes" in done.err and done.out == ""
    assert hub.question(session)["state"] == "open" and rules(hub) == []


def test_at_a_terminal_a_grant_by_flags_is_asked_for(hub: HubDesk) -> None:
    """ours"""
    session = asked(hub)
    with hub.terminal("answer", session, "--always") as terminal:
        read = terminal.until("Grant this rule? y/n ›")
        assert "Run: touch a.txt" in read and "Bash(touch a.txt)" in read
        terminal.press("y")
        assert terminal.end() == 0
    assert rules(hub) == [("allow", "Bash(touch a.txt)", "folder")]


@pytest.mark.parametrize(
    "words",
    [
        ("--session", "--always"),
        ("--yes",),
        ("--rule", "Bash(x:*)"),
        ("--allow", "--in", "."),
        ("--always", "--deny", "x"),
        ("--always", "--suggestion", "1"),
        ("--session", "--edit"),
    ],
)
def test_grants_that_can_not_be_meant_are_two(hub: HubDesk, words: tuple[str, ...]) -> None:
    """ours: nothing is answered"""
    done = hub.ropewalk("answer", "abcd", *words)
    assert done.code == 2 and len(done.err.splitlines()) == 1


# -- what is answered is what was drawn

VIEW: Json = {
    "id": "abcdq", "session": "abcd", "asks": "permission", "tool": "Bash", "title_words": "Run a command?", "line": "Run: make",
    "input": {"command": "make"}, "hash": "one", "cwd": "/", "opened_at": 1.0,
}  # fmt: skip
SESSION: Json = {
    "id": "abcd", "title": "t", "status": "waiting", "why": "asks", "status_at": 1.0, "group": "needs_you", "cwd": "/",
}  # fmt: skip
NOT_SHOWN: Json = {"title": "no", "status": 409, "detail": "This is not what was shown.", "code": "not_as_shown"}


async def test_an_answer_to_something_else_than_was_drawn_is_not_taken_and_the_card_is_drawn_again(place: HubDesk) -> None:
    """ours: the answer carries the hash of what the person saw"""
    now = {**VIEW, "input": {"command": "make install"}, "hash": "two"}
    steps = [
        (200, {"items": [VIEW]}), (200, {"session": SESSION}), (200, VIEW), (409, NOT_SHOWN), (200, now),
        (200, {**now, "state": "answered"}),
    ]  # fmt: skip
    async with http_hub(*steps) as hub:
        env = {**place.env, "ROPEWALK_URL": hub.url, "ROPEWALK_TOKEN": "key"}

        def play() -> None:
            with Terminal(("answer", "abcd"), place.project, env) as terminal:
                assert "\n    make\n" in terminal.until("a/d ›")
                terminal.press("a")
                again = terminal.until("a/d ›")
                assert "not what was shown" in again and "\n    make install\n" in again
                terminal.press("a")
                assert terminal.end() == 0

        await asyncio.to_thread(play)
    sent = [asked.object.get("shown") for asked in hub.asked if asked.method == "POST"]
    assert sent == ["one", "two"]
