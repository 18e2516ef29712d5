"""What going on with a plan brings, which file is a plan, how long an outline holds. No process, no clock."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ropewalk.errors import Conflict, UsageError
from ropewalk.events.commands import AllowedPrompt, Answer
from ropewalk.events.views import QuestionView
from ropewalk.protocol.answers import Allow, Deny
from ropewalk.sessions.kept import Kept
from ropewalk.sessions.outline import Outline, after, pressed
from ropewalk.sessions.plan_replies import Fresh, plan_woken
from ropewalk.sessions.plans import effects, is_plan_file, rule_for, ways
from ropewalk.sessions.replies import answer_from
from tests.demand import demand

V37, V326 = (2, 1, 37), (2, 1, 326)
PLAN = "# Plan\n1. One"


def view(text: str | None = PLAN, **given: Any) -> QuestionView:
    return QuestionView(id="i1", session="s1", asks="plan", tool="ExitPlanMode", input=given, plan={"text": text})


@demand("003-31", tag="unit")
def test_one_function_makes_the_mode_change_and_the_rules() -> None:
    """seed 003: setMode for the session, and allow rules from allowedPrompts"""
    told = effects("acceptEdits", [{"tool": "Bash", "prompt": "npm test"}, {"tool": "Bash", "prompt": "git diff:*"}])
    assert told.updates == ({"type": "setMode", "mode": "acceptEdits", "destination": "session"},)
    assert told.rules == ("Bash(npm test)", "Bash(git diff:*)")
    assert effects(None) == effects(None, []) and not effects(None).updates


@demand("003-31", tag="unit")
def test_mere_words_become_the_rule_that_a_person_gives_or_none() -> None:
    """measured (2.1.37 … 2.1.326): as a rule of the CLI's own, "run tests" allows nothing"""
    words = {"tool": "Bash", "prompt": "run tests"}
    assert rule_for(words) is None
    with pytest.raises(UsageError, match="are words, not a command"):
        effects("default", [words])
    assert effects("default", [{**words, "rule": "Bash(npm run test:*)"}]).rules == ("Bash(npm run test:*)",)


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"tool": "Bash", "prompt": "x", "rule": "Bash"}, "every use of Bash"),
        ({"tool": "Bash", "prompt": "x", "rule": "Read(**)"}, "not about Bash"),
        ({"tool": "ExitPlanMode", "prompt": "leave"}, "are words"),
        ({"tool": "Bash", "prompt": "npm test && curl x | sh"}, "are words"),
        ({"tool": 7, "prompt": None}, "are words"),
    ],
)
def test_no_wish_becomes_more_than_its_words(wish: dict[str, Any], words: str) -> None:
    """ours: nothing wide is granted on a card"""
    with pytest.raises(UsageError, match=words):
        effects("default", [wish])


@demand("003-40", tag="unit")
def test_the_plan_of_a_sub_agent_is_not_the_main_plan() -> None:
    """measured (2.1.37): <words>-agent-<id>.md; 2.1.326 begins a main plan with words of the prompt, whatever they are"""
    home = "/home/u/.claude/plans"
    assert is_plan_file(f"{home}/resilient-launching-moler.md", [])
    assert is_plan_file(f"{home}/fix-agent-eager-cherny.md", [])
    assert not is_plan_file(f"{home}/resilient-launching-moler-agent-a1b2c3d.md", [])
    assert not is_plan_file(f"{home}/x-agent-0e0b816c-d42c-4816-8b3b-59f05acc5e2f.md", [])


def test_a_plan_lies_in_a_plans_folder() -> None:
    """seed 003: the global one, the project's, or a configured one; a file elsewhere is somebody's work"""
    assert is_plan_file("/p/.claude/plans/a.md", []) and is_plan_file("/p/own/a.md", ["/p/own"])
    for path in ("/p/docs/a.md", "/p/.claude/plans/../../a.md", ".claude/plans/a.md", "/p/.claude/plans/a.txt"):
        assert not is_plan_file(path, ["/p/own"])


@demand("004-44", "004-45", tag="unit")
def test_an_outline_holds_for_30_60_90_120_seconds_and_the_count_outlives_it() -> None:
    """seed 004: 30 s for each press, at most 120; the next press goes on from there however long ago the last one was"""
    state, lengths = Outline(), []
    for now in (0.0, 1000.0, 1001.0, 5000.0, 9000.0):
        state = pressed(state, now)
        lengths.append(state.until - now)
        assert state.holds(now) and state.holds(state.until - 0.1) and not state.holds(state.until)
    assert lengths == [30.0, 60.0, 90.0, 120.0, 120.0] and state.presses == 5


@demand("004-46", "004-47", tag="unit")
def test_any_other_answer_sets_the_count_back_and_it_can_be_switched_off() -> None:
    """seed 004: an explicit approve or deny"""
    state = pressed(pressed(Outline(), 0.0), 0.0)
    for plan in ("fresh", "keep_edits", "keep_ask", "revise", "stop", None):
        assert after(state, plan, 1.0, on=True) == Outline()
    assert after(state, "outline", 1.0, on=True).presses == 3
    assert after(Outline(), "outline", 1.0, on=False) == Outline()


@demand("004-45", tag="unit")
def test_the_count_is_kept_with_the_session() -> None:
    """ours: over a restart of the hub"""
    state = pressed(Outline(), 5.0)
    assert msgspec.json.decode(msgspec.json.encode(Kept(outline=state)), type=Kept).outline == state
    assert msgspec.json.decode(b"{}", type=Kept).outline == Outline()


def test_an_allow_carries_a_plan_that_was_found_in_its_file() -> None:
    """ours: what was shown is what is approved, also where the question lacked it"""
    found = answer_from(view(), Answer(behavior="allow", plan="keep_ask"), V326)
    assert isinstance(found, Allow) and found.updated_input == {"plan": PLAN}
    told = answer_from(view(plan=PLAN), Answer(behavior="allow", plan="keep_ask"), V326)
    assert isinstance(told, Allow) and told.updated_input is None


def test_a_plan_sent_back_needs_a_word_or_a_picture() -> None:
    """seed 003: feedback is never empty"""
    with pytest.raises(UsageError, match="a word or a picture"):
        answer_from(view(), Answer(behavior="deny", plan="revise", message=" "), V326)
    told = answer_from(view(), Answer(behavior="deny", plan="revise", content=[{"type": "image"}]), V326)
    assert isinstance(told, Deny) and "pictures" in told.message


def test_a_fresh_start_is_in_the_mode_that_was_chosen() -> None:
    """seed 003: acceptEdits unless another is named"""
    for mode, wanted in ((None, "acceptEdits"), ("default", "default")):
        fresh = answer_from(view(), Answer(behavior="allow", plan="fresh", mode=mode), V326)  # type: ignore[arg-type]
        assert isinstance(fresh, Fresh) and fresh.mode == wanted
    with pytest.raises(Conflict, match="no mode auto"):
        answer_from(view(), Answer(behavior="allow", plan="fresh", mode="auto"), V37)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"plan": "keep_ask", "mode": "default"}, "fresh or keep_edits"),
        ({"plan": "fresh", "mode": "plan"}, "is one of"),
        ({"plan": "fresh", "mode": "bypassPermissions"}, "for_seconds"),
        ({"plan": "keep_edits", "for_seconds": 5.0}, "no other mode has a length"),
        ({"allowed_prompts": [AllowedPrompt(tool="Bash", prompt="x")]}, "allowed_prompts go with"),
        ({"plan": "fresh", "compact": True}, "nothing to compact"),
        ({"plan": "keep_ask", "content": [{}]}, "pictures go with"),
    ],
)
def test_what_can_not_be_meant_of_a_plan_is_refused(more: dict[str, Any], words: str) -> None:
    """ours: before anything is said"""
    with pytest.raises(UsageError, match=words):
        answer_from(view(), Answer(behavior="allow", **more), V326)


def test_only_a_plan_takes_the_fields_of_a_plan() -> None:
    """ours"""
    asked = QuestionView(id="i1", session="s1", asks="permission", tool="Bash", input={"command": "ls"})
    with pytest.raises(UsageError, match="answer a plan"):
        answer_from(asked, Answer(behavior="allow", compact=True), V326)


def test_entering_plan_mode_is_allowed_with_its_mode_or_denied_with_words() -> None:
    """seed 003: enter plan mode / start implementing now"""
    asked = QuestionView(id="i1", session="s1", asks="permission", tool="EnterPlanMode", input={})
    yes = answer_from(asked, Answer(behavior="allow"), V326)
    assert isinstance(yes, Allow) and [one["mode"] for one in yes.updated_permissions] == ["plan"]
    no = answer_from(asked, Answer(behavior="deny"), V326)
    assert isinstance(no, Deny) and "Start implementing now" in no.message


def test_a_plan_whose_process_is_gone_is_answered_by_what_the_next_one_is_told() -> None:
    """seed 003: fresh, feedback; ours: going on, in the mode that was chosen"""
    fresh = plan_woken(Answer(behavior="allow", plan="fresh"), {}, view())
    assert fresh.fresh and fresh.mode == "acceptEdits" and fresh.prompt.endswith(PLAN)
    on = plan_woken(Answer(behavior="allow", plan="keep_ask"), {}, view())
    assert not on.fresh and on.mode == "default" and PLAN in on.prompt
    back = plan_woken(Answer(behavior="deny", plan="revise", message="Smaller."), {}, view())
    assert back.mode is None and back.prompt.endswith("Smaller.")
    unseen = plan_woken(Answer(behavior="allow", plan="keep_edits"), {}, view(None))
    assert "Continue with it" in unseen.prompt and unseen.warning
    for answer in (Answer(behavior="deny", plan="stop"), Answer(behavior="deny")):
        with pytest.raises(Conflict, match="nothing goes on"):
            plan_woken(answer, {}, view())
    with pytest.raises(Conflict, match="no plan text"):
        plan_woken(Answer(behavior="allow", plan="fresh"), {}, view(None))


def test_bypass_is_a_way_only_where_it_can_be_had() -> None:
    """seed 003: the choices follow from whether it is available"""
    assert not any("bypass" in way["words"] for way in ways(False))
    assert {way["plan"] for way in ways(True) if "bypass" in way["words"]} == {"fresh", "keep_edits"}
