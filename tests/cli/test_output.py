"""What a run writes and where: the answer on stdout, talk on stderr, JSON on request, nothing that steers a terminal."""

from __future__ import annotations

import json
import re

import pytest

from tests.cli.conftest import Desk
from tests.cli.terminal import OURS
from tests.demand import demand

pytestmark = pytest.mark.slow

HOSTILE = (
    "plain \x1b]52;c;cm0gLXJm\x07 copy \x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\ \x1bPdcs\x1b\\ \x1b[6n \x9b31m c1 "
    "\x9d0;title\x9c \u202eevil\u2066 bidi \r over \x08\x08 back \x7f del \ud83d half"
)
"""OSC 52 (clipboard), OSC 8 (links), DCS, cursor report, C1, bidi, carriage return, backspace, DEL, half a character."""

DANGER = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_stdout_is_the_answer_and_stderr_is_talk(desk: Desk) -> None:
    """ours: a pipe gets the words alone"""
    desk.script(
        {"thinking": "Hm."},
        {"text": "First."},
        {"tool": "Read", "input": {"file_path": "a.py"}, "result": "x\ny"},
        {"text": "Last."},
    )
    done = desk.ropewalk("run", "Why does it fail?")
    assert (done.code, done.out) == (0, "First.\n\nLast.\n")
    talk = done.err.splitlines()
    assert re.fullmatch(r"[0-9a-f]{8}  Why does it fail\?   .* · ask before edits · stand-in for claude", talk[0])
    assert talk[1].startswith("  thought ") and re.search(r"✓ Read   a\.py +2 lines +0\.\d s", talk[2])
    assert re.fullmatch(r"done in \S+ s · <\$0\.01 · no files changed · ropewalk run --resume [0-9a-f]{8}", talk[-1])


def test_no_escape_codes_when_not_at_a_terminal_nor_with_no_color(desk: Desk) -> None:
    """ours (F-55)"""
    piped = desk.ropewalk("run", "--on-question", "deny", "go")
    assert "\x1b" not in piped.out + piped.err
    assert "\x1b[" in desk.ropewalk("run", "--on-question", "deny", "--color", "always", "go").err
    desk.script({"text": "Hello."})
    with desk.terminal("run", "go") as terminal:
        assert terminal.end() == 0
    assert b"\x1b[2m" in terminal.raw
    with desk.terminal("run", "--color", "never", "go") as plain, desk.terminal("run", "go", NO_COLOR="1") as asked:
        assert (plain.end(), asked.end()) == (0, 0)
    for terminal in (plain, asked):
        assert b"\x1b[" not in terminal.raw.replace(b"\r\x1b[K", b"")


@pytest.mark.parametrize("pieces", ["whole", "piece by piece"])
def test_hostile_text_reaches_no_terminal(desk: Desk, pieces: str) -> None:
    """S16: in the answer, thoughts, tool arguments, results, errors, questions, names and lines that are no JSON"""
    text = HOSTILE if pieces == "whole" else " ".join(HOSTILE)
    tool = {"tool": f"mcp__ev\x1bil__to\u202eol{HOSTILE}", "input": {"query": text, HOSTILE: [text]}, "ask": True, "reason": text}
    desk.script(
        {"thinking": text},
        {"text": text},
        {"tool": "Bash", "input": {"command": "true"}, "ask": False, "error": True, "result": text},
        {**tool, "path": text, "suggestions": [], "with_question": {"description": text}},
        {"line": {"type": HOSTILE, "x": text}},
        {"line": {"type": "system", "subtype": "informational", "level": "warning", "content": text}},
        {"fault": "garbage", "bytes": "not JSON \x1b]0;title\x07"},
        {"text": text},
    )
    with desk.terminal("run", "--thinking", f"go {text.replace(chr(0xD83D), '')}", columns=100) as terminal:
        terminal.until("a/d › ")
        terminal.press("w")
        terminal.until("a/d › ")
        terminal.press("a")
        assert terminal.end() == 0
    drawn = OURS.sub(b"", terminal.raw).replace(b"\r\n", b"\n").decode("utf-8")
    assert not DANGER.search(drawn), repr(DANGER.findall(drawn))
    assert "␛]52;c;" in drawn or "␛ ] 5 2" in drawn


def test_hostile_text_reaches_no_file_either(desk: Desk) -> None:
    """S16: a file may be shown with cat"""
    desk.script({"text": HOSTILE})
    done = desk.ropewalk("run", "go")
    assert not DANGER.search(done.out + done.err) and "<U+D83D>" in done.out


@demand("004-09")
@demand("004-14")
def test_json_is_one_object_with_what_came_of_it(desk: Desk) -> None:
    """ours: the answer is the result's, what was asked and denied is told"""
    given = {"command": "rm -rf build", "description": "tidy"}
    desk.script({"text": "First."}, {"tool": "Bash", "input": given, "ask": True, "if_denied": [{"text": "Then not."}]})
    done = desk.ropewalk("run", "--json", "--on-question", "deny", "go")
    told = done.object
    assert (done.code, done.err) == (0, "")
    assert (told["ok"], told["exit_code"], told["result"], told["subtype"], told["stand_in"]) == (
        True,
        0,
        "Then not.",
        "success",
        True,
    )
    assert [(one["tool"], one["input"], one["because"]) for one in told["questions"]] == [
        ("Bash", given, "denied: nobody is here to answer")
    ]
    assert [one["tool_input"] for one in told["permission_denials"]] == [given]
    assert told["cost_usd"] > 0 and told["session_id"] and told["claude_version"] == "2.1.326" and told["usage"]["input_tokens"]


def test_a_question_that_nobody_may_answer_is_six_with_its_id(desk: Desk) -> None:
    """ours: without a hub nobody else can answer, so the run fails rather than wait"""
    done = desk.ropewalk("run", "go")
    (asked,) = [
        json.loads(entry.line or b"")
        for entry in desk.ledger
        if entry.direction == "out" and b"can_use_tool" in (entry.line or b"")
    ]
    assert done.code == 6 and desk.answers == []
    assert f"Bash touch hello.txt (question {asked['request_id']})" in done.err and "--on-question deny" in done.err
    told = desk.ropewalk("run", "--json", "go").object
    assert (told["ok"], told["exit_code"]) == (False, 6) and "question" in told["error"]


def test_no_input_makes_a_terminal_as_good_as_none(desk: Desk) -> None:
    """ours"""
    with desk.terminal("run", "--no-input", "go") as terminal:
        assert terminal.end() == 6
    assert "a/s/A/d" not in terminal.text and desk.answers == []


def test_allow_and_deny_are_the_clis_own_rules(desk: Desk) -> None:
    """measured (all): --allowedTools and --disallowedTools shadow questions"""
    allowed = desk.ropewalk("run", "--allow", "Bash(touch:*)", "--allow", "Read", "go")
    assert allowed.code == 0 and "✓ Bash   touch hello.txt" in allowed.err and desk.answers == []
    denied = desk.ropewalk("run", "--deny", "Bash", "go")
    assert denied.code == 0 and "✕ Bash   touch hello.txt" in denied.err


def test_stream_json_is_what_the_cli_said_byte_for_byte(desk: Desk) -> None:
    """ours: known, unknown and no JSON at all; the ledger is the other side's word for it"""
    desk.script(
        {"text": "Ünïcode \U0001f600 and \ud83d half."},
        {"line": {"type": "from_the_future", "n": [1, 2.50, {}]}},
        {"fault": "garbage", "bytes": "this is not JSON"},
        {"fault": "surrogates"},
        {"fault": "huge_number"},
        {"tool": "Bash", "input": {"command": "ls", "description": "x"}, "ask": True},
        {"text": "Done."},
    )
    done = desk.ropewalk("run", "--output", "stream-json", "--on-question", "deny", "go")
    assert (done.code, done.err) == (0, "")
    said = [entry.line for entry in desk.ledger if entry.direction == "out"]
    assert len(said) > 20 and done.out.encode().splitlines() == said


def test_sub_agents_stand_indented_under_their_call(desk: Desk) -> None:
    """ours"""
    inner = [{"tool": "Grep", "input": {"pattern": "def total"}, "result": "3"}, {"text": "Three."}]
    desk.script(
        {"tool": "Agent", "input": {"description": "Find callers", "prompt": "look", "run_in_background": False}, "agent": inner},
        {"text": "Done."},
    )
    done = desk.ropewalk("run", "go")
    rows = [line for line in done.err.splitlines() if re.match(r" +[◔✓]", line)]
    assert [re.sub(r"  +\d.*", "", row) for row in rows] == [
        "  ◔ Agent  Find callers",
        "    ✓ Grep   def total",
        "  ✓ Agent  Find callers",
    ]
    assert done.out == "Done.\n"


def test_work_in_the_background_is_waited_for(desk: Desk) -> None:
    """measured (2.1.326): a sub-agent runs in the background by default; the turn ends before it, and another one follows"""
    agent = {"description": "look around", "prompt": "look", "run_in_background": True}
    desk.script(
        {"tool": "Agent", "input": agent, "agent": [{"wait": 0.3}, {"text": "Sub answer."}], "then": [{"text": "Heard of it."}]},
        {"text": "Main done."},
    )
    done = desk.ropewalk("run", "go", env={"ROPEWALK_SIM_SPEED": "1"})
    assert (done.code, done.out) == (0, "Main done.\n\nHeard of it.\n")
    assert "waiting for background work: look around" in done.err and "background task completed" in done.err


def test_q_says_nothing_but_the_answer_and_v_says_more(desk: Desk) -> None:
    """ours"""
    desk.script({"text": "Hello."})
    quiet = desk.ropewalk("run", "-q", "go")
    assert (quiet.out, quiet.err) == ("Hello.\n", "")
    verbose = desk.ropewalk("run", "-v", "go")
    assert re.search(r"--resume [0-9a-f-]{36}\n", verbose.err)


def test_ascii_uses_plain_letters(desk: Desk) -> None:
    """ours: no glyph that an old terminal can't draw"""
    done = desk.ropewalk("run", "--ascii", "--on-question", "deny", "go")
    assert done.err.isascii() and "  x Bash   touch hello.txt" in done.err and "  o Read" in done.err


def test_a_session_goes_on_by_the_start_of_its_id(desk: Desk) -> None:
    """ours: any unique start of four or more; the last one with --continue; a fork gets an id of its own"""
    desk.script({"text": "Hello."})
    begun = desk.ropewalk("run", "--json", "one").object
    first = begun["session_id"]
    resumed = desk.ropewalk("run", "--json", "--resume", first[:6], "two").object
    again = resumed["session_id"]
    assert begun["cost_usd"] == resumed["cost_usd"] > 0  # the CLI reports the session's total
    last = desk.ropewalk("run", "--json", "--continue", "three").object["session_id"]
    forked = desk.ropewalk("run", "--json", "--continue", "--fork", "four").object["session_id"]
    assert first == again == last != forked
    missing = desk.ropewalk("run", "--resume", "00000000-0000-4000-8000-000000000000", "five")
    assert missing.code == 1 and "ropewalk:" in missing.err and "00000000" in missing.err


def test_limits_and_choices_reach_the_cli(desk: Desk) -> None:
    """ours: model, mode, system prompt, limits"""
    desk.script({"text": "one"}, {"tool": "Read", "input": {"file_path": "a"}, "result": "x"}, {"text": "two"})
    done = desk.ropewalk("run", "--json", "--max-turns", "1", "--model", "opus-of-mine", "--mode", "plan", "go")
    assert (done.code, done.object["model"], done.object["mode"], done.object["subtype"]) == (
        1,
        "opus-of-mine",
        "plan",
        "error_max_turns",
    )
    assert "--max-turns" in done.object["error"]
    desk.ropewalk("run", "--system-prompt", "Be brief.\nAlways.", "go")
    assert desk.said(type="control_request")[-1]["request"]["systemPrompt"] == "Be brief.\nAlways."


def test_a_link_that_the_cli_would_not_take_falls_back_and_says_so(desk: Desk) -> None:
    """measured: from 2.1.121 on --sdk-url takes only its vendor's hosts"""
    desk.script({"text": "Hello."})
    done = desk.ropewalk("run", "--transport", "websocket", "go")
    assert (done.code, done.out) == (0, "Hello.\n") and "stdio: claude 2.1.326" in done.err
    linked = desk.ropewalk("run", "--transport", "websocket", "go", env={"ROPEWALK_SIM_VERSION": "2.1.62"})
    assert (linked.code, linked.out) == (0, "Hello.\n") and "stdio" not in linked.err
