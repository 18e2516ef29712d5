"""Scenario files: what is right is followed, what is wrong is refused with its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ropewalk.sim.claude.failures import FAILURES
from ropewalk.sim.claude.faults import FAULTS
from ropewalk.sim.claude.scenario import KINDS, RULE, SHIPPED, TOOL_KEYS, TOP, ScenarioError, load, parse
from ropewalk.sim.claude.versions import VERSIONS

from .conftest import Start

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "sim-claude.md"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rule = [", "scenario: "),
        ("nonsense = 1", "scenario: unknown key 'nonsense'; it takes version, model"),
        ('version = "9.9"', "version '9.9' is not known; one of 2.1.37"),
        ('[[rule]]\nprompt = "x"', "rule 1: has no steps"),
        ('[[rule]]\nprompt = "x"\nregex = "y"\nsteps = []', "rule 1: takes prompt or regex, not both"),
        ('[[rule]]\nregex = "("\nsteps = []', "rule 1: regex: "),
        ('[[rule]]\nsteps = [ { text = "a" }, { txet = "b" } ]', "rule 1, step 2: no kind of step among txet; one of text"),
        ("[[rule]]\nsteps = [ { text = 5 } ]", "rule 1, step 1: text: must be a text, not 5"),
        ('[[rule]]\nsteps = [ { tool = "Bash", lasts = true } ]', "(tool): lasts: must be a number, not True"),
        (
            '[[rule]]\nsteps = [ { tool = "Task", agent = [ { tool = "Read", x = 1 } ] } ]',
            "rule 1, step 1, agent, step 1 (tool): unknown key 'x'",
        ),
        ('[[rule]]\nsteps = [ "hello" ]', "rule 1, step 1: a step is a table"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, sentence: str) -> None:
    """Ours: a person who writes a scenario must find the mistake without reading our code."""
    with pytest.raises(ScenarioError, match=re.escape(sentence)):
        parse(text)


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_what_ships_is_right(path: Path) -> None:
    assert load(path.stem).rules


def test_an_unknown_name_lists_what_ships() -> None:
    with pytest.raises(ScenarioError, match=r"give a path or one of: .*demo"):
        load("no-such-scenario")


def test_the_examples_of_the_how_to_are_right() -> None:
    """Ours: every TOML block of the page can be copied."""
    blocks = re.findall(r"```toml\n(.*?)```", HOW_TO.read_text(), re.S)
    assert len(blocks) >= 3
    for block in blocks:
        parse(block)


def test_the_how_to_names_everything_that_a_scenario_may_hold() -> None:
    """Ours: what is not on the page does not exist for a reader."""
    page = HOW_TO.read_text()
    words = {*KINDS, *TOOL_KEYS, *TOP, *RULE, *FAULTS, *FAILURES, *VERSIONS} - {
        "id",
        "rule",
        "title",
        "400",
        "401",
        "429",
        "500",
        "529",
    }
    assert [word for word in sorted(words) if not re.search(rf"[`\"{{ ]{re.escape(word)}\b", page)] == []


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_questions_that_ship_are_asked_on_every_version(start: Start, version: str) -> None:
    asked = {"bash": 1, "write": 1, "read": 2, "two": 2, "choice": 1, "plan": 1, "agent": 1}
    sim = start("questions", version=version)
    for prompt, count in asked.items():
        sim.prompt(prompt)
        for _ in range(count):
            sim.allow(sim.wait_for(type="control_request"))
        assert sim.wait_for(type="result")["subtype"] == "success"


def test_a_bad_scenario_ends_the_process_with_2_and_the_sentence(start: Start, tmp_path: Path) -> None:
    """Ours: 2, since 1 is what a real CLI's own refusal looks like."""
    bad = tmp_path / "bad.toml"
    bad.write_text("nonsense = 1")
    sim = start(str(bad))
    assert sim.exit_code() == 2
    assert any("bad.toml: unknown key 'nonsense'" in words for words in sim.errors)


def story(tmp_path: Path, text: str) -> str:
    path = tmp_path / "story.toml"
    path.write_text(text)
    return str(path)


def test_the_first_rule_that_matches_and_is_not_used_up_is_followed(start: Start, tmp_path: Path) -> None:
    text = """
    [[rule]]
    prompt = "HELLO"
    times = 1
    steps = [ { text = "first" } ]
    [[rule]]
    regex = "^hel+o"
    steps = [ { text = "second" } ]
    """
    sim = start(story(tmp_path, 'otherwise = [ { text = "neither" } ]\n' + text))
    said = []
    for prompt in ("well, hello", "hello", "goodbye"):
        sim.prompt(prompt)
        said.append(sim.wait_for(type="result")["result"])
    assert said == ["first", "second", "neither"]


def test_texts_quote_what_happened(start: Start) -> None:
    steps = [
        {"ask": [{"question": "Tea?", "options": ["yes", "no"]}]},
        {
            "tool": "Bash",
            "input": {"command": "touch {answer}.txt"},
            "if_denied": [{"text": "{prompt}: {answer}, {verdict}: {reason}"}],
        },
    ]
    sim = start(steps)
    sim.prompt("Drinks")
    choice = sim.wait_for(type="control_request")
    given = choice["request"]["input"]
    sim.answer(choice, behavior="allow", updatedInput=given | {"answers": {"Tea?": "yes"}})
    question = sim.wait_for(type="control_request")
    assert question["request"]["input"]["command"] == "touch yes.txt"
    sim.answer(question, behavior="deny", message="too early")
    assert sim.wait_for(type="result")["result"] == "Drinks: yes, denied: too early"


@pytest.mark.slow
def test_the_demo_shows_a_question_a_choice_and_a_plan_on_every_version(start: Start) -> None:
    """Ours: the terminal demo runs on it."""
    for version in ("2.1.37", "2.1.62", "2.1.326"):
        sim = start(None, "--include-partial-messages", version=version)
        sim.prompt("hi")
        sim.allow(sim.wait_for(type="control_request", request__tool_name="Bash"))
        assert "You said: hi" in sim.wait_for(type="result")["result"]
        assert sum(line["type"] == "stream_event" for line in sim.said) > 30
        sim.prompt("ask me")
        choice = sim.wait_for(type="control_request", request__tool_name="AskUserQuestion")
        given = choice["request"]["input"]
        sim.answer(choice, behavior="allow", updatedInput=given | {"answers": {given["questions"][0]["question"]: "SQLite"}})
        assert sim.wait_for(type="result")["result"].startswith("SQLite it is.")
        sim.prompt("make a plan")
        plan = sim.wait_for(type="control_request", request__tool_name="ExitPlanMode")
        assert plan["request"]["input"]["plan"].startswith("# Plan")
        sim.allow(plan)
        sim.allow(sim.wait_for(type="control_request", request__tool_name="Write"))
        assert sim.wait_for(type="result")["subtype"] == "success"
        sim.close_input()
        assert sim.exit_code() == 0
