"""What the hub's views and events look like on a terminal, without a hub: statuses, tables, answers, every kind of event."""

from __future__ import annotations

import io
import os
import subprocess
import typing
from typing import Any

import msgspec
import pytest

from ropewalk.cli.codes import complaint_of
from ropewalk.cli.found import find_hub, is_alive
from ropewalk.cli.hand import Decision
from ropewalk.cli.relay.question import answer_of, question_of, version_of
from ropewalk.cli.relay.story import EventStory
from ropewalk.cli.safe import cells
from ropewalk.cli.screen import Look, Screen
from ropewalk.cli.statuses import STATUSES, fix_of, span, status_meant, title_of, why_of
from ropewalk.cli.story import Telling
from ropewalk.cli.table import draw, fit
from ropewalk.cli.verbs.words import words_of
from ropewalk.cli.which import short_ids
from ropewalk.config import Config
from ropewalk.errors import Conflict, NotAllowed, UsageError
from ropewalk.events import events as e
from ropewalk.events.views import QuestionView, SessionView
from ropewalk.protocol.answers import Allow, Deny


def session(**fields: Any) -> SessionView:
    given = {
        "id": "7k2f0000",
        "title": "t",
        "status": "idle",
        "why": "",
        "status_at": 0.0,
        "group": "quiet",
        "cwd": "/p",
        **fields,
    }
    return msgspec.convert(given, SessionView)


def screen(width: int = 80) -> tuple[Screen, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Screen(Look(width=width), out, err), out, err


def test_every_status_has_a_word_a_sign_and_a_reason() -> None:
    """ours (F-30): also one that a newer hub may know, and one without words of the hub's own"""
    assert set(STATUSES) == set(typing.get_args(e.Status))
    for status in STATUSES:
        assert why_of(session(status=status)) and STATUSES[status].word
    assert fix_of(session(status="failed"), "7k2f") == "ropewalk logs 7k2f"
    assert fix_of(session(status="failed", fix="wake"), "7k2f") == "ropewalk wake 7k2f"
    assert fix_of(session(status="failed", fix="something_new"), "7k2f") == "something new"
    assert title_of(session(sim=True)) == "(stand-in) t"


@pytest.mark.parametrize(("seconds", "said"), [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (200_000, "2 d")])
def test_a_span_is_one_number_and_one_unit(seconds: float, said: str) -> None:
    """ours"""
    assert span(seconds) == said


def test_ids_are_shown_as_short_as_they_are_unique() -> None:
    """ours: four letters at least"""
    assert short_ids(["abcd1", "abcd2", "wxyz9", "abc00"]) == {
        "abcd1": "abcd1",
        "abcd2": "abcd2",
        "wxyz9": "wxyz",
        "abc00": "abc0",
    }
    assert short_ids([]) == {} and short_ids(["abcdef"]) == {"abcdef": "abcd"}


def test_a_table_fits_the_terminal_and_cuts_the_widest_first() -> None:
    """ours"""
    rows = [("id", "word " * 40, "short"), ("id", "日本語" * 20, "x\x1b[2J")]
    drawn, out, _ = screen(60)
    draw(drawn, ("A", "B", "C"), rows)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3 and all(cells(line) <= 60 for line in lines) and "short" in lines[1] and "\x1b" not in out.getvalue()
    assert fit([("a", "b")], 80) == [1, 1]


def test_a_narrow_terminal_goes_without_spare_columns() -> None:
    """ours: at 40 columns no row is wrapped"""
    heads, row = ("ID", "WHY", "FOLDER", "AGE"), ("7k2f", "asks something long", "/home/mia/code/shop", "16 min")
    for width, shown in ((80, heads), (30, ("ID", "WHY", "AGE")), (18, ("ID", "WHY"))):
        drawn, out, _ = screen(width)
        draw(drawn, heads, [row], spare=(2, 3))
        lines = out.getvalue().splitlines()
        assert tuple(lines[0].split()) == shown and all(cells(line) <= width for line in lines)


def every_event() -> list[e.Event]:
    """One of each kind, with as little as it takes."""
    plain: dict[Any, Any] = {str: "x", int: 1, float: 1.0, bool: True}
    made = []
    for kind in typing.get_args(e.DURABLE) + typing.get_args(e.LIVE):
        needed = [field for field in msgspec.structs.fields(kind) if field.required]
        given = {field.name: plain.get(field.type, (typing.get_args(field.type) or ["x"])[0]) for field in needed}
        made.append(kind(seq=1, at=1.0, **given))
    return made


@pytest.mark.parametrize("event", every_event(), ids=lambda event: str(event.__struct_config__.tag))
def test_every_kind_of_event_can_be_told(event: e.Event) -> None:
    """ours: in a log and in a run; whatever is set, nothing raises"""
    assert isinstance(words_of(event), str)
    drawn, _, _ = screen()
    EventStory(drawn, session(), "7k2f", Telling("go", "/p"), lambda: 0.0).tell(event)


def test_what_was_streamed_is_not_said_again() -> None:
    """ours (F-36): pieces that were missed, or came twice, are put right by the finished block"""
    drawn, out, _ = screen()
    story = EventStory(drawn, session(), "7k2f", Telling("go", "/p"), lambda: 0.0)
    for begins, text in ((0, "one "), (0, "one "), (4, "two "), (14, "four ")):
        story.tell(e.TextDelta(block="m:0", text=text, begins=begins))
    assert out.getvalue() == "one two "
    story.tell(e.Text(block="m:0", text="one two three four five"))
    story.tell(e.Text(block="m:1", text="six"))
    assert out.getvalue() == "one two three four five\n\nsix\n"


def test_a_piece_that_overtakes_the_end_of_the_block_before_is_told_behind_it() -> None:
    """ours: live pieces don't wait for the disk, finished blocks do"""
    drawn, out, _ = screen()
    story = EventStory(drawn, session(), "7k2f", Telling("go", "/p"), lambda: 0.0)
    story.tell(e.TextDelta(block="m:0", text="One and "))
    story.tell(e.TextDelta(block="n:0", text="Three "))
    story.tell(e.Text(block="m:0", text="One and two."))
    story.tell(e.TextDelta(block="n:0", text="and four", begins=6))
    story.tell(e.Text(block="n:0", text="Three and four."))
    assert out.getvalue() == "One and two.\n\nThree and four.\n"


def test_a_block_that_broke_off_ends_its_line() -> None:
    """ours: an interrupted turn's last piece, then the next turn"""
    drawn, out, _ = screen()
    story = EventStory(drawn, session(), "7k2f", Telling("go", "/p"), lambda: 0.0)
    story.tell(e.TextDelta(block="m:0", text="One and "))
    story.tell(e.TurnStarted(turn=2))
    story.tell(e.TextDelta(block="n:0", text="Two"))
    story.tell(e.Text(block="n:0", text="Two."))
    assert out.getvalue() == "One and \n\nTwo.\n"


def question(**fields: Any) -> QuestionView:
    given = {"id": "q1", "session": "s", "asks": "permission", "tool": "Bash", "input": {"command": "ls"}, **fields}
    return msgspec.convert(given, QuestionView)


def test_a_question_of_the_hub_is_drawn_by_the_same_cards() -> None:
    """ours: every field that decides is there"""
    offers = [{"type": "setMode", "mode": "plan", "destination": "session"}]
    view = question(
        suggestions=offers, reason="a rule", blocked_path="/x", origin="the tester", no_always=True, default_to_no=True
    )
    asked = question_of(view)
    assert (asked.request_id, asked.tool_name, asked.input, asked.suggestions) == ("q1", "Bash", {"command": "ls"}, offers)
    told = asked.asked
    assert (told.decision_reason, told.blocked_path, told.agent_id) == ("a rule", "/x", "the tester")
    assert told.suppress_always_allow_rule and told.default_to_no
    assert question_of(question(asks="plan", tool="ExitPlanMode", input={}, plan={"text": "# P"})).plan == "# P"


def test_a_decision_becomes_the_answer_that_the_hub_takes() -> None:
    """ours: grants by their place in the list, choices by their words, plans by their way"""
    offers = [{"type": "a"}, {"type": "b"}]
    granted = answer_of(question(suggestions=offers), Decision(Allow(updated_permissions=[{"type": "b"}]), "x"))
    assert granted.remember is not None and granted.remember.suggestion == 1
    own = answer_of(question(), Decision(Allow(updated_input={"command": "pwd"}), "x"))
    assert (own.behavior, own.updated_input, own.remember) == ("allow", {"command": "pwd"}, None)
    no = answer_of(question(), Decision(Deny("why", interrupt=True), "x"))
    assert (no.behavior, no.message, no.interrupt) == ("deny", "why", True)
    chosen = Allow(updated_input={"questions": [], "answers": {"Q": "A"}})
    assert answer_of(question(asks="choice"), Decision(chosen, "x")).answers == {"Q": "A"}
    plan = question(asks="plan", tool="ExitPlanMode", input={"plan": "# P"})
    fresh = answer_of(plan, Decision(Deny("x", interrupt=True), "x", fresh="# P", way="fresh"))
    assert (fresh.behavior, fresh.plan, fresh.updated_input, fresh.interrupt) == ("allow", "fresh", None, False)
    edited = answer_of(plan, Decision(Deny("x", interrupt=True), "x", fresh="# Mine", way="fresh"))
    assert edited.updated_input == {"plan": "# Mine"}
    assert answer_of(plan, Decision(Deny("more"), "x", way="revise")).message == "more"


@pytest.mark.parametrize(
    ("text", "version"), [("2.1.326", (2, 1, 326)), ("2.1.37 (Claude Code)", (2, 1, 37)), (None, None), ("x", None)]
)
def test_versions_are_read_as_numbers(text: str | None, version: tuple[int, int, int] | None) -> None:
    """ours"""
    assert version_of(text) == version


def test_a_status_is_meant_by_its_name_its_group_or_the_word_in_the_list() -> None:
    """ours: `ls` says ready, the API says idle"""
    assert [status_meant(word) for word in ("needs_you", "idle", "ready", "limit", "running")] == [
        "needs_you", "idle", "idle", "rate_limited", "running_tool",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="did you mean waiting"):
        status_meant("waitng")


def test_a_hub_that_is_named_needs_its_token_and_a_dead_one_is_none() -> None:
    """ours: said in words, not by the HTTP library; a zombie is no hub"""
    with pytest.raises(NotAllowed, match="ROPEWALK_TOKEN is not set"):
        find_hub(Config(home="/nowhere"), {"ROPEWALK_URL": "http://127.0.0.1:1"})
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(child.pid) and is_alive(os.getpid())


def test_a_start_that_two_sessions_share_is_a_slip_of_whoever_typed_it() -> None:
    """ours: 2, with the ids to choose from; another conflict is a failure"""
    words = "several sessions begin with 7k2f: 7k2f0, 7k2f1; give more letters"
    complaint = complaint_of(Conflict(words, code="ambiguous"))
    assert (complaint.code, complaint.words) == (2, f"{words}.")
    assert complaint_of(Conflict("it runs")).code == 1


def test_a_log_says_numbers_as_people_write_them() -> None:
    """ours: a sum of cents is no seventeen digits long"""
    assert "cost_usd 0.0024  " in f"{words_of(e.UsageReported(session='s', cost_usd=0.0024000000000000002))}  "


def test_a_narrow_list_goes_without_a_column_before_its_words_get_short() -> None:
    """ours"""
    out = io.StringIO()
    row = ("7k2f", "waiting for you", "a reason of some length", "a title of some length", "/home/mia/code", "$0.10")
    draw(Screen(Look(False, False, 60, 24, False, False, False, False), out=out), (), [row], spare=(4, 5))
    line = out.getvalue().rstrip("\n")
    assert len(line) <= 60 and "waiting for y" in line and "/home" not in line and "a reason of s" in line, line
