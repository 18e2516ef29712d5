"""What a hub offers besides "once", in words: nothing that a person should know before a yes is left out."""

from __future__ import annotations

import pytest

from ropewalk.cli.relay.offers import granting, matched, note_of, offers_of, place_of, these
from ropewalk.cli.relay.question import closed_words, ruled_words
from ropewalk.cli.screen import Look, Screen
from ropewalk.events.events import QuestionClosed
from ropewalk.events.views import Matches, Offer, QuestionView, Step

SCREEN = Screen(Look(width=80))


def view(**more: object) -> QuestionView:
    steps = [Step(rules=["Bash(make)"])]
    offers = [Offer(scope="session", steps=steps), Offer(scope="folder", places=["/srv"], steps=steps)]
    return QuestionView(id="q", session="s", asks="permission", **{"offers": offers, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, ""),
        (Matches(), "nothing was asked before"),
        (Matches(of=9), "matches none of the last 9"),
        (Matches(total=1, of=9), "matches 1 of the last 9, allowed"),
        (Matches(total=1, denied=1, of=9), "matches 1 of the last 9, denied"),
        (Matches(total=4, of=1000), "matches 4 of the last 1000, all allowed"),
        (Matches(total=9, denied=2, of=1000), "matches 9 of the last 1000, 2 of them denied"),
    ],
)
def test_what_rules_matched_before_is_counted_with_its_denials(found: Matches | None, words: str) -> None:
    """ours"""
    assert matched(found) == words


def test_a_past_no_is_red_and_a_warning_amber() -> None:
    """ours: colour is spent on what a person has to see"""
    screen = Screen(Look(color=True, width=80))
    step = Step(
        rules=["Bash(npm:*)"], warning="This also allows npm with any arguments.", matches=Matches(total=2, denied=1, of=9)
    )
    lines = granting(screen, step.rules, "for this session", step, {})
    assert any(line.startswith("  \x1b[31mmatches 2") for line in lines)
    assert any("\x1b[33m! This also allows npm" in line for line in lines)


def test_everything_is_read_before_a_grant() -> None:
    """ours: rules, place, end, past, doubts, and the other questions that it answers"""
    step = Step(rules=["Bash(a:*)", "Edit(b)"], still_asked_because="part 3: no rule matches", also_answers=["x", "y"])
    lines = granting(SCREEN, step.rules, place_of("folder", "/srv"), step, {"x": "Other: Run: a"})
    assert lines == [
        "  Grants, always in /srv, until somebody ends it:",
        "    Bash(a:*)",
        "    Edit(b)",
        "  what they would have matched before is not known now",
        "  ! It would still be asked: part 3: no rule matches",
        "  Also answers 2 other open questions:",
        "    Other: Run: a",
        "    y",
    ]
    assert (these(["a"]), these(["a", "b"])) == ("Grant this rule?", "Grant these 2 rules?")


def test_less_is_offered_where_less_may_be_granted_and_it_says_why() -> None:
    """ours: once only; no lasting rule; only people"""
    assert list(offers_of(view())) == ["s", "A"] and note_of(view()) == ""
    once = view(once_only_because="eval runs what its words say, so only once")
    assert offers_of(once) == {} and note_of(once) == "Once only: eval runs what its words say."
    passing = view(no_always=True, offers=view().offers[:1])
    assert list(offers_of(passing)) == ["s"] and "no lasting rule" in note_of(passing)
    assert note_of(view(only_people=True, once_only_because="only a person answers this")) == ""


def test_more_rules_than_one_answer_can_carry_are_not_offered() -> None:
    """ours: the wider step that is short enough stays"""
    many, wide = Step(rules=[f"Bash(echo {n})" for n in range(30)]), Step(rules=["Bash(echo:*)"])
    both = view(offers=[Offer(scope="session", steps=[many, wide])])
    assert offers_of(both)["s"].steps == [wide] and note_of(both) == ""
    none = view(offers=[Offer(scope="session", steps=[many])])
    assert offers_of(none) == {} and "30 rules" in note_of(none)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("allow", "rule", "allowed by Bash(a:*) (Mia)"), "rule Bash(a:*) (Mia)"),
        (("allow", "grant", "allowed by Bash(a:*) (Mia)"), "grant Bash(a:*) (Mia)"),
        (("deny", "built_in", "denied by Read(//**/.env*) (built in)"), "denied by rule Read(//**/.env*) (built in)"),
        (("deny", "rule", "part 2, rm x: denied by Bash(rm:*)"), "denied: part 2, rm x: denied by Bash(rm:*)"),
        (("allow", "mode", "Mia set the mode acceptEdits"), "Mia set the mode acceptEdits"),
    ],
)
def test_the_row_of_a_tool_names_what_let_it_run(given: tuple[str, str, str], words: str) -> None:
    """ours"""
    assert ruled_words(*given) == words


def test_a_receipt_says_by_whom_or_what() -> None:
    """ours"""

    def words(**more: object) -> str:
        return closed_words(QuestionClosed(question="q", **{"fate": "answered", "behavior": "allow", **more}))  # type: ignore[arg-type]

    assert words(by="Mia", door="page", because_kind="person") == "allowed by Mia (page)"
    assert words(by="Mia", rules=["Bash(a)"]) == "allowed by Mia, and granted Bash(a)"
    assert words(by="Mia", edited=True) == "allowed by Mia, another version"
    assert words(because_kind="rule", because="allowed by Bash(a) (Mia)") == "allowed by rule Bash(a) (Mia)"
    assert words(because_kind="mode", because="Mia set the mode acceptEdits") == "allowed: Mia set the mode acceptEdits"
    assert words(fate="expired", behavior="deny") == "nobody answered in time: denied by a policy"
    assert words(fate="withdrawn", behavior=None) == "Claude no longer asks this."
