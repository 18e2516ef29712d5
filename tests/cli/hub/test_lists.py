"""Lists of sessions and questions: who needs a person, in which order, why; the same for programs."""

from __future__ import annotations

import json

import pytest

from tests.cli.hub.conftest import HubDesk, until

pytestmark = pytest.mark.slow

ASK = {"tool": "Bash", "input": {"command": "make it"}, "ask": True, "suggestions": []}
RULES = [
    {"prompt": "ask", "steps": [ASK, {"text": "made"}]},
    {"prompt": "break", "steps": [{"fail": 400}]},
    {"steps": [{"text": "fine"}]},
]


@pytest.fixture
def ten(hub: HubDesk) -> tuple[HubDesk, list[str]]:
    """Ten sessions: three that ask, one failed, two put to sleep, the rest idle or never begun. Those that ask, oldest first."""
    hub.script(rules=RULES)
    asking = []
    for number in range(3):
        asking.append(hub.new(f"ask {number}"))
        hub.question(asking[-1])
    others = [hub.new("hello") for _ in range(4)]
    broken = hub.new("break it")
    hub.new("--title", "nothing yet")
    hub.new("--title", "nothing either")
    for session in others:
        hub.status(session, "idle")
    for session in others[:2]:
        assert hub.ropewalk("stop", session).code == 0
    until(lambda: hub.json("show", broken)["session"]["status"] not in ("starting", "thinking"), "end of the broken one")
    return hub, asking


def test_needs_you_equals_the_open_questions_and_every_row_says_why(ten: tuple[HubDesk, list[str]]) -> None:
    """ours (F-29, F-30): exactly three, longest waiting first; a failed one names the cause and what to do"""
    hub, asking = ten
    done = hub.ropewalk()
    first, *rows = done.out.splitlines()
    assert first == "3 need you, 0 at work, 7 quiet" and done.err == ""
    assert [row.split()[1] for row in rows[:3]] == [session[:4] for session in asking]
    assert all(row.startswith("◆ ") and "make it" in row for row in rows[:3])
    assert rows[3] == f"answer: ropewalk answer {asking[0][:4]}     all: ropewalk ls"
    told = hub.json()
    assert told["counts"] == {"needs_you": 3, "working": 0, "quiet": 7}
    assert [one["id"] for one in told["items"]] == asking
    assert [one["session"] for one in hub.json("inbox")["items"]] == asking
    listed = hub.json("ls")["items"]
    assert len(listed) == 10 and all(one["why"] for one in listed)
    heads, *rows = hub.ropewalk("ls", env={"COLUMNS": "80"}).out.splitlines()
    assert heads.split() == ["ID", "STATUS", "WHY", "TITLE", "FOLDER", "COST", "AGE"] and len(rows) == 10
    assert max(map(len, rows)) <= 80 and all("(stand-in)" in row or "(stan" in row for row in rows)


def test_a_list_can_be_narrowed_and_reduced_to_ids(ten: tuple[HubDesk, list[str]]) -> None:
    """ours"""
    hub, asking = ten
    assert hub.ropewalk("ls", "-q", "--status", "needs_you").out.split() == asking
    assert hub.ropewalk("ls", "-q", "--text", "nothing").out.count("\n") == 2
    assert len(hub.ropewalk("ls", "-q", "--limit", "4").out.split()) == 4
    assert hub.ropewalk("ls", "--text", "no such words").out == "no such session\n"
    questions = hub.ropewalk("inbox", "-q").out.split()
    assert questions == [one["id"] for one in hub.json("inbox")["items"]]
    rows = hub.ropewalk("inbox").out.splitlines()
    assert [row.split()[1] for row in rows[:-1]] == [session[:4] for session in asking]
    for session in asking:
        assert hub.ropewalk("answer", session, "--allow").code == 0
    assert hub.ropewalk("inbox").out.startswith("Nobody needs you.")


def test_pipes_and_no_color_give_no_escape_codes_and_ascii_no_glyphs(ten: tuple[HubDesk, list[str]]) -> None:
    """ours (F-55)"""
    hub, asking = ten
    for words in ((), ("ls",), ("inbox",), ("show", asking[0]), ("logs", asking[0]), ("runner", "ls"), ("token", "ls")):
        assert "\x1b" not in hub.ropewalk(*words).out
        with hub.terminal(*words, NO_COLOR="1") as terminal:
            assert terminal.end() == 0
            assert b"\x1b" not in terminal.raw
    assert "\x1b[33m" in hub.ropewalk("ls", "--color", "always").out
    assert hub.ropewalk("--ascii").out.isascii() and "! " in hub.ropewalk("--ascii").out


def test_a_session_is_named_by_its_start_its_folder_or_as_the_last_one(hub: HubDesk) -> None:
    """ours: four letters or more; `.` is the newest of this folder, `-` the last one used, kept 0600"""
    first, second = hub.new("one"), hub.new("two")
    assert hub.ropewalk("show", first[:4], "-q").out.strip() == first
    assert hub.ropewalk("show", "-", "-q").out.strip() == first
    assert hub.ropewalk("show", ".", "-q").out.strip() == second
    assert hub.ropewalk("show", "-", "-q").out.strip() == second
    assert (hub.state / "last").stat().st_mode & 0o777 == 0o600
    missing = hub.ropewalk("show", "zzzz")
    assert missing.code == 4 and missing.out == "" and missing.err.startswith("ropewalk: ")
    assert hub.ropewalk("show", "zz").code == 2
    elsewhere = hub.home / "elsewhere"
    elsewhere.mkdir()
    hub.project = elsewhere
    assert hub.ropewalk("show", ".").code == 4


def test_show_has_status_why_questions_queue_and_last_words(hub: HubDesk) -> None:
    """ours"""
    hub.script({"text": "I will make it."}, ASK, {"text": "made"})
    session = hub.new("go")
    hub.question(session)
    assert hub.ropewalk("prompt", session, "and then this").code == 0
    shown = hub.ropewalk("show", session).out
    assert shown.splitlines()[0] == f"{session[:4]}  go (stand-in)"
    for words in (
        "◆ waiting",
        f"help: ropewalk answer {session[:4]}",
        "◆ Run: make it",
        "next: and then this",
        "  I will make it.",
    ):
        assert words in shown
    snapshot = hub.json("show", session)
    assert snapshot["questions"][0]["session"] == session and snapshot["queue"][-1]["text"] == "and then this"


def test_runner_and_tokens_are_listed_made_and_revoked(hub: HubDesk) -> None:
    """ours: a token of a program opens the door until it is revoked; a watcher may not prompt (5)"""
    assert hub.json("runner", "ls")["items"][0]["state"] == "live"
    assert "live" in hub.ropewalk("runner", "ls").out
    url = json.loads((hub.state / "hub.json").read_text())["url"]
    code = hub.ropewalk("token", "new").out
    assert f"Open  {url}/signin#" in code and "works once" in code
    made = hub.json("token", "new", "--program", "--name", "ci", "--role", "watch")
    env = {"ROPEWALK_URL": url, "ROPEWALK_TOKEN": made["token"]}
    assert hub.ropewalk("ls", env=env).code == 0
    refused = hub.ropewalk("new", "hello", env=env)
    assert refused.code == 5 and refused.err.startswith("ropewalk: ")
    assert made["id"] in hub.ropewalk("token", "ls", "-q").out and made["token"] not in hub.ropewalk("token", "ls", "--json").out
    assert hub.ropewalk("token", "revoke", made["id"]).out == "revoked: ci\n"
    assert hub.ropewalk("ls", env=env).code == 5
    assert hub.ropewalk("token", "revoke", "zzzz").code == 4
    assert hub.ropewalk("token", "new", "--role", "king").code == 2


def test_stop_shows_its_rungs_and_wake_starts_again(hub: HubDesk) -> None:
    """ours"""
    session = hub.new("hello")
    until(lambda: hub.json("show", session)["session"]["process"], "process")  # it is idle before it has begun, too
    hub.status(session, "idle")
    stopped = hub.ropewalk("stop", session)
    assert stopped.code == 0 and "stopping claude: " in stopped.err
    hub.status(session, "stopped", "asleep")
    assert hub.ropewalk("wake", session).code == 0
    hub.status(session, "idle")
    assert hub.ropewalk("interrupt", session).code in (0, 1)


def test_what_claude_says_can_not_steer_the_terminal(hub: HubDesk) -> None:
    """ours: titles, logs and last words are made harmless"""
    hub.script({"text": "red \x1b[31m, back \u202e, bell \x07"})
    session = hub.new("go \x1b[2J")
    hub.status(session, "idle")
    for words in (("ls",), ("show", session), ("logs", session), ()):
        out = hub.ropewalk(*words).out
        assert "\x1b" not in out and "\u202e" not in out and "\x07" not in out
    assert "␛[31m" in hub.ropewalk("logs", session).out
