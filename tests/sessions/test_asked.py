"""Questions as faces show them, and answers as the CLI takes them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ropewalk.errors import Conflict, UsageError
from ropewalk.events.commands import Answer, Remember
from ropewalk.events.views import QuestionView
from ropewalk.protocol.answers import Allow, Deny, Refusal, Reply, payload_of
from ropewalk.protocol.codec import decode
from ropewalk.protocol.control import ControlRequest
from ropewalk.sessions.asked import Fresh, answer_from, question_view, steps_of
from tests.demand import demand
from tests.protocol.captures import every_line
from tests.protocol.wire import V37, V62, V326, ask, question

PLAN = {"plan": "# Plan\n\n1. make\n2. test\n", "planFilePath": "/home/u/.claude/plans/x.md"}
CHOICE = {"questions": [{"question": "Which?", "header": "Pick", "multiSelect": False,
                         "options": [{"label": "A", "description": "a", "preview": "**a**"}, "B"]}]}  # fmt: skip


def viewed(raw: bytes, **options: Any) -> QuestionView:
    request = decode(raw.rstrip(b"\n"))
    assert isinstance(request, ControlRequest)
    return question_view(request, session="s1", question_id="i1", cwd="/project", at=5.0, **options)


def view(tool: str, given: Any = None, **more: Any) -> QuestionView:
    return viewed(ask(tool=tool, tool_input=given, **more))


@pytest.mark.parametrize(
    ("tool", "given", "words", "line"),
    [
        ("Bash", {"command": "npm run migrate -- --env local"}, "Run a command?", "Run: npm run migrate -- --env local"),
        ("Bash", {"command": "x", "run_in_background": True}, "Run a command in the background?", "Run: x"),
        ("Edit", {"file_path": "/project/src/total.ts"}, "Change total.ts?", "Change: src/total.ts"),
        ("Write", {"file_path": "/project/a.sql"}, "Write a.sql?", "Write: a.sql"),
        ("Read", {"file_path": "/etc/hosts"}, "Read a file outside the folder?", "Read: /etc/hosts"),
        ("Grep", {"pattern": "x", "path": "/project"}, "Search?", "Search: x"),
        ("WebFetch", {"url": "https://api.tax.example/a?b=c"}, "Fetch a page from api.tax.example?",
         "Fetch: https://api.tax.example/a?b=c"),
        ("WebFetch", {"url": "http://[oops"}, "Fetch a page from an address that can't be read?", "Fetch: http://[oops"),
        ("WebSearch", {"query": "rope"}, "Search the web?", "Search the web: rope"),
        ("mcp__linear__create_issue", {"title": "T"}, "Use create_issue of linear?", "Use linear create_issue: T"),
        ("AskUserQuestion", {"questions": [{"question": "keep the view?"}]}, "keep the view?", "Asks: keep the view?"),
        ("AskUserQuestion", {"questions": [{"question": "a?"}, {"question": "b?"}]}, "Answer 2 questions?",
         "Asks: a? (and 1 more)"),
        ("ExitPlanMode", PLAN, "Plan to review", "Plan to review, 2 steps"),
        ("ExitPlanMode", {}, "Plan to review", "Plan to review"),
        ("EnterPlanMode", {}, "Plan first?", "Plan first?"),
        ("NewTool", {"x": 1}, "Use NewTool?", "Use NewTool"),
        ("", {}, "Use a tool without a name?", "Use a tool without a name"),
    ],
)  # fmt: skip
def test_what_is_asked_is_said_as_a_question_and_in_one_line(tool: str, given: Any, words: str, line: str) -> None:
    """ours: the same words on every face."""
    shown = view(tool, given)
    assert (shown.title_words, shown.line) == (words, line)


def test_a_write_says_whether_it_overwrites_once_somebody_has_looked() -> None:
    """ours"""
    raw = ask(tool="Write", tool_input={"file_path": "/project/a"})
    assert [viewed(raw, exists=known).title_words for known in (None, True, False)] == ["Write a?", "Overwrite a?", "Create a?"]


@demand("000-22")
def test_a_choice_is_recognised_by_its_tool_and_its_questions_are_parsed() -> None:
    """seed, measured: options as texts or objects, either spelling of several."""
    shown = view("AskUserQuestion", CHOICE)
    assert shown.asks == "choice" and shown.only_people
    assert shown.choices == [
        {"question": "Which?", "header": "Pick", "multiple": False,
         "options": [{"label": "A", "description": "a", "preview": "**a**"}, {"label": "B", "description": None}]}
    ]  # fmt: skip
    assert view("AskUserQuestion", {"questions": [{"question": "x", "multi_select": True}]}).choices[0]["multiple"]  # type: ignore[index]
    assert view("AskUserQuestion", {"questions": 3}).choices == []


def test_a_plan_is_shown_with_its_file_its_steps_and_its_wishes() -> None:
    """measured (2.1.326); older CLIs tell no file, and none tells a text that was never written."""
    wishes = [{"tool": "Bash", "prompt": "run the tests"}]
    shown = view("ExitPlanMode", {**PLAN, "allowedPrompts": wishes})
    assert shown.asks == "plan" and shown.only_people
    assert shown.plan == {
        "text": PLAN["plan"],
        "file": PLAN["planFilePath"],
        "requested": [{**wishes[0], "rule": None}],
        "steps": 2,
    }
    assert view("ExitPlanMode", {}).plan == {"text": None, "file": None, "requested": [], "steps": 0}
    assert [steps_of(text) for text in ("1) a\n2) b", "- a\n- b\n- c", "# P\n## a\n## b", "words")] == [2, 3, 2, 0]


def test_everything_that_the_cli_tells_is_on_the_view() -> None:
    """measured: suggestions losslessly, reasons, marks, the sub-agent."""
    suggestions = [{"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow", "destination": "session", "new": 1}]
    raw = ask(
        tool_input={"command": "ls", "description": "List", "n": 12345678901234567890}, permission_suggestions=suggestions,
        blocked_path="/tmp", decision_reason="outside", requires_user_interaction=True, suppress_always_allow_rule=True,
        default_to_no=True, agent_id="a1",
    )  # fmt: skip
    shown = viewed(raw, origin="Find callers", session_title="T")
    assert (shown.id, shown.session, shown.opened_at, shown.cwd, shown.session_title) == ("i1", "s1", 5.0, "/project", "T")
    assert (shown.tool, shown.does, shown.tool_use, shown.description) == ("Bash", "run", "t-q1", "List")
    assert (shown.blocked_path, shown.reason, shown.origin, shown.suggestions) == ("/tmp", "outside", "Find callers", suggestions)
    assert shown.only_people and shown.no_always and shown.default_to_no
    assert bytes(shown.input) == json.dumps({"command": "ls", "description": "List", "n": 12345678901234567890}).encode()  # type: ignore[arg-type]


def test_every_recorded_question_keeps_its_whole_input_through_the_store() -> None:
    """measured (2.1.37 … 2.1.326)"""
    seen = 0
    for _, raw in every_line():
        fields = json.loads(raw)
        if fields["type"] == "control_request" and fields["request"]["subtype"] == "can_use_tool":
            shown = viewed(raw)
            assert shown.title_words and shown.line and len(shown.line) <= 300
            back = msgspec.json.decode(msgspec.json.encode(shown), type=QuestionView)
            assert json.loads(msgspec.json.encode(back.input)) == fields["request"]["input"]
            assert back.suggestions == fields["request"].get("permission_suggestions", [])
            seen += 1
    assert seen > 200


def test_dialogs_are_shown_with_what_they_bring() -> None:
    """not measured: names and fields from the program."""
    shown = viewed(question("q", "elicitation", mcp_server_name="tax", message="Your code?", requested_schema={"type": "object"}))
    assert (shown.asks, shown.title_words, shown.line) == ("dialog", "Answer tax?", "tax asks: Your code?")
    assert json.loads(bytes(shown.input)) == {"type": "object"}  # type: ignore[arg-type]
    other = viewed(question("q", "request_user_dialog", dialog_kind="trust", payload={"a": 1}))
    assert (other.asks, other.title_words, json.loads(bytes(other.input))) == ("dialog", "Answer a dialog: trust?", {"a": 1})  # type: ignore[arg-type]
    assert isinstance(answer_from(shown, Answer(behavior="deny"), V326), Reply)
    accepted = answer_from(shown, Answer(behavior="allow", updated_input={"code": "1"}), V326)
    assert accepted == Reply({"action": "accept", "content": {"code": "1"}})
    assert answer_from(other, Answer(behavior="deny", message="no"), V326) == Refusal("no")


# -- answers


def said(raw: bytes, command: Answer, version: tuple[int, int, int] = V326) -> dict[str, Any]:
    """What goes over the wire, whole."""
    request = decode(raw.rstrip(b"\n"))
    assert isinstance(request, ControlRequest)
    verdict = answer_from(viewed(raw), command, version)
    assert not isinstance(verdict, Fresh | Refusal)
    return payload_of(request, verdict, version)


def test_an_allow_carries_the_whole_input_as_asked_or_as_changed() -> None:
    """measured: without it 2.1.37 and 2.1.62 fail."""
    raw = ask(tool_input={"command": "ls", "timeout": 5})
    assert said(raw, Answer(behavior="allow"))["updatedInput"] == {"command": "ls", "timeout": 5}
    changed = Answer(behavior="allow", updated_input={"command": "ls -l"})
    assert said(raw, changed)["updatedInput"] == {"command": "ls -l"}


def test_a_denial_always_has_words() -> None:
    """measured: without any, older CLIs tell the model of a schema error."""
    assert said(ask(), Answer(behavior="deny", message="use the test database"))["message"] == "use the test database"
    assert said(ask(), Answer(behavior="deny", message=""))["message"]
    assert said(ask(), Answer(behavior="deny", interrupt=True))["interrupt"] is True
    assert (
        said(ask(tool="AskUserQuestion", tool_input=CHOICE), Answer(behavior="deny"))["message"]
        == "The user skipped the question."
    )


def test_one_suggestion_goes_back_unchanged() -> None:
    """measured: all of them together change the mode of the session."""
    suggestions = [
        {"type": "addDirectories", "directories": ["/tmp"], "destination": "session"},
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
    ]
    raw = ask(permission_suggestions=suggestions)
    assert said(raw, Answer(behavior="allow", remember=Remember(suggestion=1)))["updatedPermissions"] == [suggestions[1]]
    with pytest.raises(UsageError, match="no suggestion 2 with this question: there are 2"):
        said(raw, Answer(behavior="allow", remember=Remember(suggestion=2)))
    with pytest.raises(UsageError, match="came with none"):
        said(ask(), Answer(behavior="allow", remember=Remember(suggestion=0)))
    with pytest.raises(Conflict, match="once"):
        said(ask(permission_suggestions=suggestions, suppress_always_allow_rule=True),
             Answer(behavior="allow", remember=Remember(suggestion=0)))  # fmt: skip


def test_a_choice_goes_back_with_its_questions_answers_and_notes() -> None:
    """measured: 2.1.326 fails without the questions; the key is the exact text."""
    raw = ask(tool="AskUserQuestion", tool_input=CHOICE)
    updated = said(raw, Answer(behavior="allow", answers={"Which?": "A"}, notes={"Which?": "soon"}))["updatedInput"]
    assert updated == {**CHOICE, "answers": {"Which?": "A"}, "annotations": {"Which?": {"notes": "soon"}}}
    with pytest.raises(UsageError, match="exact text"):
        said(raw, Answer(behavior="allow", answers={"which": "A"}))
    with pytest.raises(UsageError, match=r"needs answers.*'Which\?'"):
        said(raw, Answer(behavior="allow"))
    with pytest.raises(UsageError, match="answers"):
        said(raw, Answer(behavior="allow", updated_input={**CHOICE, "answers": {"Which?": "A"}}))


@pytest.mark.parametrize("version", [V37, V62, V326])
def test_going_on_with_a_plan_names_the_mode_in_the_same_answer(version: tuple[int, int, int]) -> None:
    """measured (all): approved and in that mode, atomically."""
    raw = ask(tool="ExitPlanMode", tool_input=PLAN)
    for choice, mode in (("keep_edits", "acceptEdits"), ("keep_ask", "default")):
        payload = said(raw, Answer(behavior="allow", plan=choice), version)  # type: ignore[arg-type]
        assert payload["updatedPermissions"] == [{"type": "setMode", "mode": mode, "destination": "session"}]
        assert payload["updatedInput"] == PLAN
    assert "updatedPermissions" not in said(raw, Answer(behavior="allow"), version)


def test_an_edited_plan_is_used_where_the_cli_takes_it_and_is_feedback_elsewhere() -> None:
    """measured: 2.1.37 and 2.1.62 ignore the edit and go by the file."""
    raw, own = (
        ask(tool="ExitPlanMode", tool_input=PLAN),
        Answer(behavior="allow", plan="keep_edits", updated_input={"plan": "Mine"}),
    )
    assert said(raw, own)["updatedInput"] == {**PLAN, "plan": "Mine"}
    for version in (V37, V62):
        payload = said(raw, own, version)
        assert payload["behavior"] == "deny" and payload["message"].endswith("\n\nMine")
        same = said(raw, Answer(behavior="allow", plan="keep_edits", updated_input=dict(PLAN)), version)
        assert same["behavior"] == "allow"
    with pytest.raises(UsageError, match="your version"):
        said(raw, Answer(behavior="allow", plan="keep_ask", updated_input={"plan": " "}))


def test_not_yet_needs_words_and_stop_ends_the_turn() -> None:
    """ours: feedback is never empty."""
    raw = ask(tool="ExitPlanMode", tool_input=PLAN)
    assert said(raw, Answer(behavior="deny", plan="revise", message="also CI"))["message"] == "also CI"
    with pytest.raises(UsageError, match="what should change"):
        said(raw, Answer(behavior="deny", plan="revise", message=" "))
    assert "interrupt" not in said(raw, Answer(behavior="deny", plan="outline"))
    stopped = said(raw, Answer(behavior="deny", plan="stop"))
    assert stopped["interrupt"] is True and "keeps the plan" in stopped["message"]


def test_a_fresh_start_takes_the_plan_along_or_is_refused() -> None:
    """ours: not in the protocol; the session ends the process and begins another with the plan as its prompt."""
    fresh = answer_from(view("ExitPlanMode", PLAN), Answer(behavior="allow", plan="fresh"), V326)
    assert isinstance(fresh, Fresh) and fresh.plan == PLAN["plan"] and fresh.prompt.endswith(PLAN["plan"])
    assert fresh.deny.interrupt and fresh.deny.message
    own = answer_from(view("ExitPlanMode", PLAN), Answer(behavior="allow", plan="fresh", updated_input={"plan": "Mine"}), V37)
    assert isinstance(own, Fresh) and own.plan == "Mine"
    with pytest.raises(Conflict, match="no plan text"):
        answer_from(view("ExitPlanMode", {}), Answer(behavior="allow", plan="fresh"), V326)


@pytest.mark.parametrize(
    ("tool", "command", "words"),
    [
        ("Bash", Answer(behavior="allow", answers={"a": "b"}), "answers and notes are for a choice"),
        ("Bash", Answer(behavior="allow", plan="keep_ask"), "answers a plan"),
        ("Bash", Answer(behavior="allow", message="why"), "goes with a deny"),
        ("Bash", Answer(behavior="allow", interrupt=True), "goes with a deny"),
        ("Bash", Answer(behavior="allow", updated_input={}), "whole input"),
        ("Bash", Answer(behavior="deny", updated_input={"command": "x"}), "go with an allow"),
        ("Bash", Answer(behavior="allow", updated_input={"command": "x"}, remember=Remember(suggestion=0)), "allowed once"),
        ("ExitPlanMode", Answer(behavior="deny", plan="fresh"), "behavior=allow"),
        ("ExitPlanMode", Answer(behavior="allow", plan="stop"), "behavior=deny"),
        ("ExitPlanMode", Answer(behavior="allow", remember=Remember(suggestion=0)), "nothing can be remembered"),
        ("AskUserQuestion", Answer(behavior="allow", plan="keep_ask"), "answers a plan"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words_before_anything_is_said(tool: str, command: Answer, words: str) -> None:
    """ours"""
    given = {"Bash": {"command": "ls"}, "ExitPlanMode": PLAN, "AskUserQuestion": CHOICE}[tool]
    with pytest.raises(UsageError, match=words):
        answer_from(view(tool, given), command, V326)


def test_an_answer_is_made_of_the_stored_view_when_the_process_is_gone() -> None:
    """ours: what is left of a question after a restart is its row."""
    stored = msgspec.json.decode(msgspec.json.encode(view("AskUserQuestion", CHOICE)), type=QuestionView)
    allowed = answer_from(stored, Answer(behavior="allow", answers={"Which?": "B"}), None)
    assert isinstance(allowed, Allow) and allowed.updated_input == {**CHOICE, "answers": {"Which?": "B"}}
    assert isinstance(answer_from(stored, Answer(behavior="deny"), None), Deny)
