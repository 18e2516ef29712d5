"""What a tool does and its title, in one place for all faces."""

from __future__ import annotations

from typing import Any

import pytest

from ropewalk.cli import card, run, story
from ropewalk.protocol.content import ToolResultBlock
from ropewalk.sessions import asked, tools, translate_said
from ropewalk.sessions.tools import does, first_words, outcome_of, title_of, tool_label
from tests.demand import demand
from tests.protocol.captures import every_process
from tests.sessions.told import started


@pytest.mark.parametrize(
    ("tool", "given", "kind", "title"),
    [
        pytest.param("Bash", {"command": "pytest -x"}, "run", "pytest -x", marks=demand("004-18")),
        pytest.param("KillShell", {"shell_id": "b1"}, "run", "b1", marks=demand("004-18")),
        pytest.param("Edit", {"file_path": "/project/src/a.py"}, "edit", "src/a.py", marks=demand("004-19")),
        pytest.param("Write", {"path": "/project/b.py"}, "edit", "b.py", marks=demand("004-19")),
        pytest.param("MultiEdit", {"file_path": "/x/c.py"}, "edit", "/x/c.py", marks=demand("004-19")),
        pytest.param("NotebookEdit", {"notebook_path": "/project/n.ipynb"}, "edit", "n.ipynb", marks=demand("004-19")),
        pytest.param("Read", {"file_path": "/project/a.py"}, "read", "a.py", marks=demand("004-20")),
        pytest.param("Glob", {"pattern": "**/*.py", "path": "/project"}, "search", "**/*.py", marks=demand("004-21")),
        pytest.param("Grep", {"pattern": "def x", "path": "/project"}, "search", "def x", marks=demand("004-21")),
        pytest.param("WebSearch", {"query": "rope"}, "search", "rope", marks=demand("004-22")),
        pytest.param("WebFetch", {"url": "https://a.b", "prompt": "p"}, "fetch", "https://a.b", marks=demand("004-22")),
        pytest.param("TodoWrite", {"todos": []}, "todo", "todos updated", marks=demand("004-23")),
        pytest.param("TodoRead", {}, "todo", "todos read", marks=demand("004-23")),
        pytest.param("AskUserQuestion", {"questions": [{"question": "Which?"}]}, "ask", "asks: Which?", marks=demand("004-24")),
        pytest.param("Task", {"description": "Find", "prompt": "p"}, "agent", "Find", marks=demand("004-25")),
        pytest.param("Agent", {"description": "Find", "prompt": "p"}, "agent", "Find", marks=demand("004-25")),
        pytest.param("NewTool", {"x": [1]}, "other", "NewTool", marks=demand("004-26")),
        pytest.param("mcp__linear__create_issue", {"n": 1}, "mcp", "linear create_issue", marks=demand("004-26")),
        pytest.param("ExitPlanMode", {"plan": "…"}, "plan", "plan to review"),
    ],
)
def test_a_tool_is_told_by_what_it_does_and_its_one_telling_argument(
    tool: str, given: dict[str, Any], kind: str, title: str
) -> None:
    """seed 004: the event that every face hears has both."""
    event = started(tool, given, cwd="/project")
    assert (event.does, event.title, event.input) == (kind, title, given)


@demand("004-27")
def test_the_terminal_and_the_events_of_every_other_face_share_one_mapping() -> None:
    """seed 004: the same functions, not copies of them; what doors show comes from the event."""
    users = {
        "title_of": (story, run, translate_said, asked),
        "outcome_of": (story, translate_said),
        "does": (translate_said, asked),
    }
    for name, modules in {**users, "tool_label": (card, story, translate_said, asked)}.items():
        assert all(vars(module)[name] is vars(tools)[name] for module in modules), name


def test_every_recorded_call_has_a_kind_and_a_title() -> None:
    """measured (2.1.37 … 2.1.326)"""
    calls = [
        block
        for process in every_process()
        for message in process.said
        if message["type"] == "assistant"
        for block in message["message"]["content"]
        if block["type"] == "tool_use"
    ]
    assert len(calls) > 500
    for call in calls:
        event = started(call["name"], call["input"], cwd="/home/user/project")
        assert event.title and event.does
        assert event.does != "other" or call["name"] in ("StructuredOutput", "NoSuchTool"), call["name"]


def test_paths_are_told_from_the_folder_and_the_home() -> None:
    """ours"""
    given = {"file_path": "/home/mia/notes.txt"}
    assert title_of("Read", given, "/home/mia/project", "/home/mia") == "~/notes.txt"
    assert title_of("Read", given, "/home/mia/project") == "/home/mia/notes.txt"
    assert title_of("Read", given, "/home/mia") == "notes.txt"
    assert title_of("Read", {"file_path": "/home/mia-old/x"}, "/", "/home/mia") == "home/mia-old/x"


@pytest.mark.parametrize(
    ("tool", "given", "details", "words"),
    [
        ("Edit", {}, {"structuredPatch": [{"lines": ["+a", "+b", "-c", " d"]}]}, "+2 −1"),
        ("Write", {"content": "a\nb\n"}, {"structuredPatch": []}, "2 lines"),
        ("Read", {}, {"file": {"numLines": 1}}, "1 line"),
        ("Grep", {}, {"numFiles": 3}, "3 files"),
        ("Bash", {}, {"stdout": "a\nb\n"}, "2 lines"),
        ("Bash", {}, {"stdout": "", "backgroundTaskId": "b1"}, "in the background"),
        ("Agent", {}, {"totalToolUseCount": 12}, "12 tool calls"),
        ("Edit", {}, {"structuredPatch": [{"lines": 3}, 4]}, ""),
        ("Read", {}, {"file": {"numLines": "many"}}, ""),
        ("Read", {}, "Error: no such file", ""),
        ("New", {}, None, ""),
    ],
)
def test_what_came_of_it_takes_at_most_four_words(tool: str, given: dict[str, Any], details: Any, words: str) -> None:
    """ours: a row of a transcript has room for no more; odd details cost the words only."""
    assert outcome_of(tool, given, details) == words
    assert len(words.split()) <= 4


def test_kinds_are_those_that_faces_have_glyphs_for() -> None:
    """ours"""
    kinds = {"read", "edit", "run", "search", "fetch", "agent", "todo", "plan", "ask", "mcp", "other"}
    assert {does(name) for name in ("Bash", "mcp__a__b", "X", "Read", "Skill", "TaskStop")} <= kinds
    assert tool_label("mcp__odd") == "mcp__odd"
    assert first_words(ToolResultBlock("t", "\n  no such file \nmore")) == "no such file"
