"""``answer`` from any terminal: by flags, by keys, too late; and what each flag sends to claude."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow

Json = dict[str, Any]
MAKE: Json = {"tool": "Bash", "input": {"command": "touch a.txt"}, "ask": True, "if_denied": [{"text": "Because: {reason}"}]}
TWO: Json = {
    "ask": [
        {"question": "Keep the view?", "options": ["Keep it", "Drop it"]},
        {"question": "Which reports?", "options": ["Revenue", "VAT"], "multi": True},
    ]
}


def asked(hub: HubDesk, *steps: Json, mode: str = "default") -> str:
    hub.script(*steps, {"text": "Done."})
    session = hub.new("--mode", mode, "go")
    hub.question(session)
    return session


def test_allow_runs_it_once_and_says_what(hub: HubDesk) -> None:
    """ours"""
    session = asked(hub, MAKE)
    done = hub.ropewalk("answer", session[:4], "--allow")
    assert (done.code, done.out, done.err) == (0, "allowed once: touch a.txt\n", "")
    hub.status(session, "idle")
    assert [answer["behavior"] for answer in hub.answers] == ["allow"]


def test_a_second_answer_is_seven_and_says_who_was_first(hub: HubDesk) -> None:
    """ours (F-55): by the session, and by the question's own id"""
    session = asked(hub, MAKE)
    question = hub.question(session)["id"]
    assert hub.ropewalk("answer", question, "--deny", "no").code == 0
    for word in (session, question):
        late = hub.ropewalk("answer", word, "--allow")
        assert late.code == 7 and late.out == "" and "already answered by " in late.err and "denied" in late.err, late.err
    hub.status(session, "idle")
    assert len(hub.answers) == 1


def test_a_reason_reaches_claude_and_does_not_interrupt(hub: HubDesk) -> None:
    """ours (F-18)"""
    session = asked(hub, MAKE)
    assert hub.ropewalk("answer", session, "--deny", "use the test database").code == 0
    hub.status(session, "idle")
    assert hub.answers[-1] == {
        "behavior": "deny",
        "message": "use the test database",
        "toolUseID": hub.answers[-1].get("toolUseID"),
    }
    assert "Because: use the test database" in hub.ropewalk("show", session).out


def test_deny_and_stop_ends_the_turn(hub: HubDesk) -> None:
    """ours"""
    session = asked(hub, MAKE)
    assert hub.ropewalk("answer", session, "--deny", "no", "--stop").code == 0
    hub.status(session, "idle")
    assert hub.answers[-1]["interrupt"] is True


def test_a_suggestion_of_claude_goes_back_unchanged(hub: HubDesk) -> None:
    """ours: one at a time, counted from 1"""
    session = asked(hub, MAKE)
    offers = hub.question(session)["suggestions"]
    assert hub.ropewalk("answer", session, "--suggestion", "9").code == 2
    assert hub.ropewalk("answer", session, "--suggestion", "1").code == 0
    hub.status(session, "idle")
    assert hub.answers[-1]["updatedPermissions"] == [offers[0]]


def test_choices_are_answered_by_number_label_and_own_words(hub: HubDesk) -> None:
    """ours (F-20)"""
    session = asked(hub, TWO)
    assert hub.ropewalk("answer", session, "--choose", "1").code == 2
    beyond = hub.ropewalk("answer", session, "--choose", "3", "--choose", "2=1")
    assert beyond.code == 2 and "1 Keep it, 2 Drop it" in beyond.err, "a number that is none of the options is a slip"
    done = hub.ropewalk("answer", session, "--choose", "2", "--choose", "2=1,the Norwegian one")
    assert done.code == 0, done.err
    assert done.out.startswith("answered Drop it; Revenue, the Norwegian one: ")
    late = hub.ropewalk("answer", session, "--choose", "1", "--choose", "2=1")
    assert late.code == 7 and "Drop it; Revenue" in late.err
    hub.status(session, "idle")
    assert hub.answers[-1]["updatedInput"]["answers"] == {
        "Keep the view?": "Drop it",
        "Which reports?": "Revenue, the Norwegian one",
    }


@pytest.mark.parametrize("way", ["keep-edits", "keep-ask"])
def test_a_plan_is_gone_on_with(hub: HubDesk, way: str) -> None:
    """ours: the mode that follows is the one that was chosen"""
    session = asked(hub, {"plan": "# Plan"}, mode="plan")
    assert hub.ropewalk("answer", session, "--allow").code == 2
    assert hub.ropewalk("answer", session, "--plan", way).code == 0
    mode = hub.status(session, "idle")["mode"]
    assert mode == {"keep-edits": "acceptEdits", "keep-ask": "default"}[way]


def test_a_plan_is_sent_back_with_words(hub: HubDesk) -> None:
    """ours: never empty"""
    session = asked(hub, {"plan": "# Plan", "if_denied": [{"text": "Again: {reason}"}]}, mode="plan")
    assert hub.ropewalk("answer", session, "--plan", "revise").code == 2
    assert hub.ropewalk("answer", session, "--plan", "revise", "also the tests").code == 0
    hub.status(session, "idle")
    assert "also the tests" in hub.ropewalk("show", session).out


def test_without_a_terminal_and_without_a_verdict_it_is_six(hub: HubDesk) -> None:
    """ours: the question is named and stays open"""
    session = asked(hub, MAKE)
    done = hub.ropewalk("answer", session)
    assert done.code == 6 and hub.question(session)["id"] in done.err
    assert hub.answers == []


def test_at_a_terminal_the_card_is_shown_and_a_key_answers(hub: HubDesk) -> None:
    """ours: the same card and keys as in run"""
    session = asked(hub, {**MAKE, "suggestions": []})
    with hub.terminal("answer", session[:5]) as terminal:
        terminal.until("◆ Run a command?")
        terminal.until("touch a.txt")
        terminal.until("a/s/A/d ›")
        terminal.press("a")
        terminal.until("allowed once: touch a.txt")
        assert terminal.end() == 0
    hub.status(session, "idle")


def test_ones_own_version_runs(hub: HubDesk) -> None:
    """ours (F-17): --edit begins with the editor, and shows it again before it runs"""
    session = asked(hub, {**MAKE, "suggestions": []})
    editor = hub.program("editor", '#!/bin/sh\nprintf "touch b.txt" > "$1"\n')
    with hub.terminal("answer", session, "--edit", EDITOR=editor) as terminal:
        terminal.until("touch b.txt")
        terminal.until("a/d ›")
        terminal.press("a")
        assert terminal.end() == 0
    hub.status(session, "idle")
    assert hub.answers[-1]["updatedInput"]["command"] == "touch b.txt"


@pytest.mark.parametrize(
    "words",
    [
        ("--allow", "--deny", "x"),
        ("--stop",),
        ("--plan", "maybe"),
        ("words",),
        ("--edit", "--deny", "x"),
        ("--choose", "1", "--allow"),
    ],
)
def test_verdicts_that_can_not_be_meant_are_two(hub: HubDesk, words: tuple[str, ...]) -> None:
    """ours: nothing is answered"""
    done = hub.ropewalk("answer", "abcd", *words)
    assert done.code == 2 and len(done.err.splitlines()) == 1
