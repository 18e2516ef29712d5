"""What a session is doing, why, and what would help."""

from __future__ import annotations

import pytest

from ropewalk.events import events as e
from ropewalk.sessions.status import StatusBoard
from tests.protocol.captures import on_all, process
from tests.protocol.strategies import SPEAKING
from tests.sessions.told import Told


def board() -> StatusBoard:
    """One whose process is up, with a clock that reads the seconds."""
    made = StatusBoard(lambda at: f"@{at:.0f}")
    made.heed(e.ProcessStarted())
    made.ready()
    return made


def after(*events: e.Event) -> StatusBoard:
    made = board()
    for event in events:
        made.heed(event)
    return made


def bash(tool_use: str = "t1", **more: str) -> e.ToolStarted:
    fields = {"tool_use": tool_use, "tool": "Bash", "does": "run", "title": "pytest -x", **more}
    return e.ToolStarted(**fields)  # type: ignore[arg-type]


TURN = e.TurnStarted(turn=1)


@pytest.mark.parametrize(
    ("events", "status", "why", "fix"),
    [
        ([], "idle", "ready for a prompt", ""),
        ([e.PromptSent(prompt="p")], "thinking", "no output yet", "interrupt"),
        ([e.PromptSent(prompt="p"), e.PromptWithdrawn(prompt="p")], "idle", "ready for a prompt", ""),
        ([TURN], "thinking", "no output yet", "interrupt"),
        ([TURN, e.TextDelta(block="b", text="x")], "thinking", "at work", "interrupt"),
        ([TURN, e.TextDelta(block="b", text="x", parent="agent")], "thinking", "no output yet", "interrupt"),
        ([TURN, bash()], "running_tool", "`pytest -x`", "interrupt"),
        ([TURN, bash(), e.ToolFinished(tool_use="t1")], "thinking", "at work", "interrupt"),
        ([TURN, bash(tool="Read", does="read", title="a.py"), bash("t2")], "running_tool", "Read a.py and 1 more", "interrupt"),
        ([TURN, bash(tool="Agent", does="agent", title="Find")], "running_tool", "sub-agent: Find", "interrupt"),
        ([TURN, bash(does="agent"), bash("t2", does="agent")], "running_tool", "2 sub-agents at work", "interrupt"),
        ([TURN, e.ContextCompacting(before=155_200)], "compacting", "making room, 155k → ?", ""),
        ([TURN, e.ContextCompacting(), e.ContextCompacted()], "thinking", "no output yet", "interrupt"),
        ([TURN, e.RateLimitChanged(status="rejected", resets_at=840)], "rate_limited", "goes on at @840", "change_model"),
        ([TURN, e.RateLimitChanged(status="allowed_warning")], "thinking", "no output yet", "interrupt"),
        ([TURN, e.ApiRetried(attempt=3, of=10, status=529)], "thinking", "Claude's service is overloaded, try 3 of 10",
         "interrupt"),
        ([e.TaskStarted(task="b", title="dev server", background=True)], "background", "1 task: dev server", "stop_task"),
        ([e.TaskStarted(task="b", title="dev server", background=True), e.TaskEnded(task="b")], "idle", "ready for a prompt", ""),
        ([e.LinkLost()], "unreachable", "its runner not heard, its turns go on there", ""),
        ([e.LinkLost(), e.LinkRestored()], "idle", "ready for a prompt", ""),
        ([TURN, e.TurnEnded(turn=1, failed=True, interrupted=True)], "idle", "interrupted; ready for a prompt", ""),
        ([TURN, e.TurnEnded(turn=1, empty=True)], "idle", "Claude returned nothing; it may not have resumed", "send_again"),
        ([e.ProcessEnded(code=0, wanted=True)], "asleep", "your next prompt wakes it", ""),
        ([e.ProcessEnded(code=0)], "asleep", "your next prompt wakes it", ""),
        ([e.ProcessEnded(wanted=True, by="Mia", at=730)], "stopped", "by Mia, @730", "wake"),
        ([e.StopRung(rung="interrupt", by="Jo"), e.ProcessEnded(wanted=True, at=7)], "stopped", "by Jo, @7", "wake"),
    ],
)  # fmt: skip
def test_a_status_its_why_and_its_fix(events: list[e.Event], status: str, why: str, fix: str) -> None:
    """ours: the forms that every face shows."""
    assert tuple(after(*events).standing) == (status, why, fix)


def test_a_finished_turn_says_what_it_did_and_what_it_cost() -> None:
    """ours"""
    edits = [
        event
        for number, path in enumerate(("a.py", "b.py", "b.py"))
        for event in (bash(f"t{number}", tool="Edit", does="edit", title=path), e.ToolFinished(tool_use=f"t{number}"))
    ]
    failed = [bash("t9", tool="Edit", does="edit", title="c.py"), e.ToolFinished(tool_use="t9", failed=True)]
    done = after(TURN, *edits, *failed, e.TurnEnded(turn=1, cost_usd=0.621))
    assert done.standing.why == "Done: 2 files, $0.62"
    assert after(TURN, e.TurnEnded(turn=1)).standing.why == "Done"
    done.heed(e.TurnStarted(turn=2))
    done.heed(e.TurnEnded(turn=2, cost_usd=0.5, cut_off=True))
    assert done.standing.why == "Done: $0.50, cut off at the limit of output"


@pytest.mark.parametrize(
    ("event", "why", "fix"),
    [
        (e.ProcessEnded(code=137), "Killed, out of memory (137)", "wake"),
        (e.ProcessEnded(code=-9), "Killed from outside (signal 9)", "wake"),
        (e.ProcessEnded(code=143), "Ended from outside (SIGTERM)", "wake"),
        (e.ProcessEnded(code=-11), "Died of signal 11", "wake"),
        (e.ProcessEnded(code=1, stderr=["no such flag", ""]), "Ended with exit code 1: no such flag", "wake"),
        (e.ProcessEnded(why="the runner is gone"), "the runner is gone", "wake"),
        (e.ProcessEnded(), "The process is gone", "wake"),
        (e.Failed(text="the folder /x does not exist", code="folder_missing"), "Folder is gone", "choose_folder"),
        (e.Failed(text="no Claude Code CLI found", code="cli_not_found"), "No claude on this machine", "install_claude"),
        (e.Failed(text="Claude did not start, 3 times", code="start"), "Claude did not start, 3 times", "wake"),
        (
            e.TurnEnded(turn=1, failed=True, subtype="success", error="authentication_failed"),
            "Not signed in to Claude",
            "sign_in",
        ),
        (
            e.TurnEnded(turn=1, failed=True, subtype="success", error="new_kind"),
            "Claude's service failed (new_kind)",
            "send_again",
        ),
        (e.TurnEnded(turn=1, failed=True, subtype="error_max_budget_usd"), "Stopped: the budget is spent", "raise_budget"),
        (e.TurnEnded(turn=1, failed=True, subtype="brand_new"), "The turn ended with brand_new", "send_again"),
    ],
)
def test_a_failure_names_its_cause_and_what_helps(event: e.Event, why: str, fix: str) -> None:
    """ours: "failed" alone is a bug."""
    assert tuple(after(event).standing) == ("failed", why, fix)


def test_an_end_in_mid_turn_is_a_failure_whatever_the_exit_code() -> None:
    """measured: 2.1.37 leaves with 0 when its link is gone."""
    assert tuple(after(TURN, e.ProcessEnded(code=0)).standing) == ("failed", "Ended by itself in mid-turn", "wake")


def test_waiting_comes_from_the_open_questions_alone() -> None:
    """ours: never from the last event; while they are open nothing else counts."""
    made = after(TURN, e.QuestionOpened(question="q", asks="permission"))
    assert tuple(made.standing) == ("thinking", "no output yet", "interrupt")
    made.questions(1, "Run: npm run migrate")
    assert tuple(made.standing) == ("waiting", "Run: npm run migrate", "answer")
    for event in (bash(), e.TurnEnded(turn=1), e.LinkLost()):
        made.heed(event)
        assert "waiting" in made.standing
    made.questions(0)
    assert "unreachable" in made.standing
    made.questions(2)
    assert made.standing.why == "2 questions"


def test_a_limit_that_is_reset_holds_no_more() -> None:
    """measured: a rejected limit is not tried again by the CLI; the turn fails at once."""
    limit = e.RateLimitChanged(status="rejected", resets_at=840)
    made = after(TURN, limit, e.TurnEnded(turn=1, failed=True, error="rate_limit"))
    assert tuple(made.standing) == ("rate_limited", "resets at @840, then send it again", "change_model")
    made.passed(839)
    assert made.standing.status == "rate_limited"
    made.passed(840)
    assert tuple(made.standing) == ("idle", "the limit was reset: send it again", "send_again")
    unknown = after(TURN, e.TurnEnded(turn=1, failed=True, error="rate_limit"))
    assert tuple(unknown.standing) == ("failed", "The account's limit is reached", "change_model")
    spent = e.RateLimitChanged(status="rejected", resets_at=840, using_overage=True)
    assert after(TURN, spent).standing.status == "thinking"


def test_a_stall_is_named_by_its_time_until_something_is_heard() -> None:
    """ours: the duration ticks on the client; stored is when it began."""
    made = after(TURN)
    made.stalled(60)
    assert made.standing.why == "no sign since @60, longer than usual"
    made.heed(e.Text(text="x", line=5))
    assert made.standing.why == "at work"


def test_starting_waits_for_claude_until_it_has_answered() -> None:
    """ours"""
    made = StatusBoard(str)
    assert "asleep" in made.standing
    made.starting()
    assert tuple(made.standing) == ("starting", "waiting for claude", "")
    made.stalled(60)
    assert tuple(made.standing) == ("starting", "no sign since 60, longer than usual", "stop")
    made.ready()
    assert "idle" in made.standing


def test_out_of_reach_names_the_runner() -> None:
    """ours"""
    made = after(TURN)
    made.reachable(False, "mia-laptop")
    made.heed(e.LinkLost())
    assert tuple(made.standing) == ("unreachable", "mia-laptop not heard, its turns go on there", "")
    made.heed(e.ProcessEnded(code=1))
    assert made.standing.status == "failed"


def test_deltas_change_nothing_after_the_first() -> None:
    """ours: they come by the ten thousand."""
    made = after(TURN)
    assert [made.heed(e.TextDelta(block="b", text="x")) for _ in range(3)] == [True, False, False]


def test_every_moment_of_every_recording_has_a_short_why() -> None:
    """ours: none empty, none past 60 characters, one line each."""
    seen = set()
    for recorded in SPEAKING:
        heard, made = Told(), board()
        for raw in recorded.out:
            for event in heard.hear(raw):
                made.heed(event)
                standing = made.standing
                assert standing.why and len(standing.why) <= 60 and "\n" not in standing.why, standing
                seen.add(standing.status)
    assert seen >= {"thinking", "running_tool", "compacting", "background", "idle", "failed", "rate_limited"}


def test_a_session_at_rest_with_work_in_the_background_says_so() -> None:
    """measured (2.1.62, 2.1.326): the turn ends, the command goes on, a turn of its own follows."""
    for name in on_all("bash_background")[1:]:
        heard, made = Told(), board()
        seen: list[str] = []
        for raw in process(name).out:
            for event in heard.hear(raw):
                made.heed(event)
            if not seen or seen[-1] != made.standing.status:
                seen.append(made.standing.status)
        assert "background" in seen and seen[-1] == "idle", (name, seen)


def test_a_board_that_heeded_only_the_last_events_takes_the_rows_word_for_why() -> None:
    """ours: after a reload the files of the last turn are not counted again"""
    made = after(TURN, e.TurnEnded(turn=1, cost_usd=0.05))
    made.stood("idle", "Done: 2 files, $0.05")
    assert made.standing.why == "Done: 2 files, $0.05"
    made.stood("failed", "of another time")
    assert made.standing.why == "Done: 2 files, $0.05"
    made.heed(TURN)
    made.stood("idle", "of before")
    assert made.standing.status == "thinking"
    made.heed(e.TurnEnded(turn=1))
    assert made.standing.why == "Done"
