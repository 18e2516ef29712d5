"""A plan's ways on, and AskUserQuestion, at a real terminal on the stand-in."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cli.conftest import Desk
from tests.cli.terminal import CTRL_D, CTRL_G, ENTER, SHIFT_TAB

pytestmark = pytest.mark.slow

PLAN = "# Plan\n\n1. Read the README\n2. Write `hello.txt`\n"
STEPS: tuple[dict[str, Any], ...] = (
    {"plan": PLAN, "if_denied": [{"text": "I think again: {reason}"}]},
    {"text": "Now in mode {mode}."},
)


def mode(name: str) -> dict[str, str]:
    return {"type": "setMode", "mode": name, "destination": "session"}


@pytest.mark.parametrize(("key", "chosen"), [("2", "acceptEdits"), ("3", "default")])
def test_going_on_with_a_plan_sets_the_mode_in_the_answer_itself(desk: Desk, key: str, chosen: str) -> None:
    """measured (all): setMode inside the answer takes effect at once, before the tool runs"""
    desk.script(*STEPS)
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        card = terminal.until("1/2/3/d/D › ")
        terminal.press(key)
        assert terminal.end() == 0
    assert "◆ Plan to review\n    # Plan\n    \n    1. Read the README\n    2. Write `hello.txt`\n" in card
    (answer,) = desk.answers
    assert (answer["behavior"], answer["updatedPermissions"]) == ("allow", [mode(chosen)])
    assert answer["updatedInput"]["plan"] == PLAN
    assert f"Now in mode {chosen}." in terminal.text


def test_not_yet_sends_the_words_and_stays_in_plan_mode(desk: Desk) -> None:
    """measured (all): the deny message is the model's feedback; ours: never an empty one"""
    desk.script(*STEPS)
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        terminal.until("1/2/3/d/D › ")
        terminal.press("d")
        terminal.until("what should change?")
        terminal.press(ENTER)
        terminal.until("1/2/3/d/D › ")
        assert desk.answers == []
        terminal.press("d")
        terminal.until("what should change?")
        terminal.press(f"also run the tests{ENTER}")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert (answer["behavior"], answer["message"], answer.get("interrupt")) == ("deny", "also run the tests", None)


def test_keeping_the_plan_and_stopping_ends_the_turn(desk: Desk) -> None:
    """ours"""
    desk.script(*STEPS)
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        terminal.until("1/2/3/d/D › ")
        terminal.press("D")
        assert terminal.end() == 130
    (answer,) = desk.answers
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)


@pytest.mark.parametrize("key", ["1", SHIFT_TAB], ids=["1", "shift+tab"])
def test_a_fresh_start_is_a_new_process_that_knows_only_the_plan(desk: Desk, key: str) -> None:
    """seed 003 (choice 1): deny, end the process, a new one without resume in acceptEdits with the plan as its first prompt"""
    desk.script(rules=[{"prompt": "Implement this plan", "steps": [{"text": "Fresh, in mode {mode}."}]}, {"steps": list(STEPS)}])
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        terminal.until("1/2/3/d/D › ")
        terminal.press(key)
        terminal.until("Start fresh?")
        terminal.press("n")
        terminal.until("1/2/3/d/D › ")
        terminal.press(key)
        terminal.until("Start fresh?")
        terminal.press("y")
        terminal.until("Fresh conversation from here")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert (answer["behavior"], answer["interrupt"]) == ("deny", True)
    assert len(desk.pids) == 2
    assert desk.prompts == ["plan it", f"Implement this plan:\n\n{PLAN}"]
    assert "Fresh, in mode acceptEdits." in terminal.text and terminal.text.count("done in") == 1


@pytest.mark.parametrize(("version", "behavior"), [("2.1.326", "allow"), ("2.1.62", "deny")])
def test_an_edited_plan_goes_the_way_that_the_version_understands(desk: Desk, version: str, behavior: str) -> None:
    """measured: 2.1.326 uses an edited plan of the answer, 2.1.37 and 2.1.62 ignore it: there it is feedback"""
    desk.script(*STEPS, version=version)
    desk.env["VISUAL"] = desk.program("editor", '#!/bin/sh\necho "3. Run the tests" >> "$1"\n')
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        terminal.until("1/2/3/d/D › ")
        terminal.press(CTRL_G)
        assert "    3. Run the tests\n" in terminal.until("1/2/3/d/D › ")
        terminal.press("3")
        assert terminal.end() == 0
    (answer,) = desk.answers
    edited = PLAN + "3. Run the tests\n"
    assert answer["behavior"] == behavior
    assert edited in (answer["updatedInput"]["plan"] if behavior == "allow" else answer["message"])


def test_a_plan_without_text_can_not_start_fresh(desk: Desk) -> None:
    """measured (all): no plan file, then the input is empty"""
    desk.script({"plan": PLAN, "write": False, "if_denied": []}, {"text": "ok"})
    with desk.terminal("run", "--mode", "plan", "plan it") as terminal:
        card = terminal.until("2/3/d/D › ")
        assert "Claude gave no plan text." in card and "fresh start" not in card
        terminal.press_alone("1")
        terminal.press("3")
        assert terminal.end() == 0
    assert [answer["behavior"] for answer in desk.answers] == ["allow"]


DATABASE = {
    "question": "Which database?",
    "header": "Database",
    "options": [{"label": "SQLite", "description": "one file"}, "PostgreSQL"],
}
REPORTS = {"question": "Which reports?", "multi": True, "options": ["Revenue", "VAT", "Returns"]}


def test_choices_are_numbers_several_or_own_words_and_are_sent_together_after_a_look(desk: Desk) -> None:
    """measured (all): answers by question text, with the questions; ours: nothing is sent before y"""
    desk.script({"ask": [DATABASE, REPORTS]}, {"text": "Heard: {answer}"})
    with desk.terminal("run", "go") as terminal:
        assert "◆ Which database?   1 of 2\n   1  SQLite       one file\n   2  PostgreSQL\n" in terminal.until(
            "own words (^D: skip) › "
        )
        terminal.press(ENTER)
        terminal.until("number or own words (^D: skip) › ")
        terminal.press(f"2{ENTER}")
        assert "◆ Which reports?   2 of 2   several\n" in terminal.until("numbers or own words (^D: skip) › ")
        terminal.press(f"1, 3, the Norwegian one{ENTER}")
        assert "Which reports?  › Revenue, Returns, the Norwegian one\n" in terminal.until("Send? y")
        assert desk.answers == []
        terminal.press("n")
        terminal.until("own words (^D: skip) › ")
        terminal.press(f"DuckDB, if it must be{ENTER}")
        terminal.until("own words (^D: skip) › ")
        terminal.press(f"2 3{ENTER}")
        terminal.until("Send? y")
        terminal.press("y")
        assert terminal.end() == 0
    (answer,) = desk.answers
    assert answer["updatedInput"]["answers"] == {"Which database?": "DuckDB, if it must be", "Which reports?": "VAT, Returns"}
    assert [one["question"] for one in answer["updatedInput"]["questions"]] == ["Which database?", "Which reports?"]


def test_choices_can_be_skipped_with_or_without_ending_the_turn(desk: Desk) -> None:
    """ours"""
    desk.script({"ask": [DATABASE], "if_denied": [{"text": "Then I decide."}]})
    for key, code in (("d", 0), ("D", 130)):
        with desk.terminal("run", "go") as terminal:
            terminal.until("own words (^D: skip) › ")
            terminal.press(CTRL_D)
            terminal.until("D: skip and stop › ")
            terminal.press(key)
            assert terminal.end() == code
    assert [(answer["behavior"], answer.get("interrupt")) for answer in desk.answers] == [("deny", None), ("deny", True)]
