"""``run`` through the hub: same keys, same lines, same exit codes; and it goes on over a hub that dies."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.cli.hub.conftest import HubDesk, until
from tests.cli.terminal import CTRL_C

pytestmark = pytest.mark.slow

MAKE = {"tool": "Bash", "input": {"command": "touch a.txt", "description": "Make a file"}, "ask": True, "suggestions": []}
WORDS = " ".join(f"word{n}" for n in range(200))


def test_the_answer_is_stdout_and_talk_is_stderr(hub: HubDesk) -> None:
    """ours: the line that heads it names the session, and the stand-in; the last one says what it took"""
    hub.script(
        {"thinking": "hm"}, {"tool": "Read", "input": {"file_path": "README.md"}, "result": "a\nb"}, {"text": "Two lines."}
    )
    done = hub.ropewalk("run", "Count the lines")
    assert (done.code, done.out) == (0, "Two lines.\n")
    session = hub.json("ls")["items"][0]["id"]
    head, *rest = done.err.splitlines()
    assert head.startswith(f"{session[:4]}  Count the lines   ") and head.endswith("ask before edits · (stand-in)")
    assert any("✓ Read   README.md" in line for line in rest)
    assert rest[-1].startswith("done in ") and rest[-1].endswith(f"no files changed · ropewalk prompt {session[:4]}")
    assert "\x1b" not in done.err


def test_json_is_one_object_and_stream_json_the_lines_of_claude(hub: HubDesk) -> None:
    """ours (F-55)"""
    hub.script({"text": "Yes."})
    told = hub.json("run", "Really?")
    assert told["ok"] and told["result"] == "Yes." and told["stand_in"] and told["exit_code"] == 0
    assert told["session"] == hub.json("ls")["items"][0]["id"]
    done = hub.ropewalk("run", "--output", "stream-json", "Really?")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert done.code == 0 and {"system", "assistant", "result"} <= {line["type"] for line in lines}
    assert {line["session_id"] for line in lines if line["type"] == "result"} != {None}


def test_a_question_is_answered_with_a_key(hub: HubDesk) -> None:
    """ours: the same card and keys as without a hub"""
    hub.script(MAKE, {"text": "Made."})
    with hub.terminal("run", "go") as terminal:
        terminal.until("◆ Run a command?   Make a file")
        terminal.until("touch a.txt")
        terminal.until("a/s/A/d ›")
        terminal.press("a")
        terminal.until("✓ Bash   touch a.txt")
        assert "allowed once" in terminal.until("Made.")
        assert terminal.end() == 0
    (answer,) = hub.answers
    assert answer["behavior"] == "allow"


def test_a_reason_typed_under_deny_reaches_claude(hub: HubDesk) -> None:
    """ours (F-18)"""
    hub.script({**MAKE, "if_denied": [{"text": "Because: {reason}"}]})
    with hub.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d ›")
        terminal.press("d")
        terminal.until("reason for Claude")
        terminal.press("use the test database\r")
        terminal.until("Because: use the test database")
        assert terminal.end() == 0


def test_an_answer_from_elsewhere_takes_the_card_away(hub: HubDesk) -> None:
    """ours (rule 7): the first answer closes it everywhere and says who gave it"""
    hub.script(MAKE, {"text": "Made."})
    with hub.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d ›")
        session = hub.json("inbox")["items"][0]["session"]
        assert hub.ropewalk("answer", session, "--allow").code == 0
        terminal.until("allowed by ")
        terminal.until("Made.")
        assert terminal.end() == 0


def test_a_plan_is_approved_with_a_key_and_work_goes_on(hub: HubDesk) -> None:
    """ours: 3 keeps the talk and asks before each edit"""
    hub.script({"plan": "# The plan\n\n1. Do it"}, {"text": "Done it."})
    with hub.terminal("run", "--mode", "plan", "go") as terminal:
        terminal.until("◆ Plan to review")
        terminal.until("1. Do it")
        terminal.until("1/2/3/d/D ›")
        terminal.press("3")
        terminal.until("Done it.")
        assert terminal.end() == 0
    assert hub.answers[-1]["behavior"] == "allow"


def test_choices_are_sent_after_they_were_shown(hub: HubDesk) -> None:
    """ours"""
    asks = [{"question": "Keep the view?", "options": ["Keep it", "Drop it"]}]
    hub.script({"ask": asks}, {"text": "So: {answer}"})
    with hub.terminal("run", "go") as terminal:
        terminal.until("◆ Keep the view?")
        terminal.until("number or own words")
        terminal.press("2\r")
        terminal.until("Send? y")
        terminal.press("y")
        terminal.until("Drop it")
        assert terminal.end() == 0
    assert hub.answers[-1]["updatedInput"]["answers"] == {"Keep the view?": "Drop it"}


@pytest.mark.parametrize(("policy", "code"), [("deny", 0), ("fail", 6)])
def test_where_nobody_can_be_asked_the_policy_decides(hub: HubDesk, policy: str, code: int) -> None:
    """ours: fail leaves the question open for other faces and names it"""
    hub.script({**MAKE, "if_denied": [{"text": "Then not."}]})
    done = hub.ropewalk("run", "--on-question", policy, "go")
    assert done.code == code
    open_ones = hub.json("inbox")["items"]
    if policy == "fail":
        assert open_ones[0]["id"] in done.err and "ropewalk answer" in done.err
    else:
        assert done.out == "Then not.\n" and open_ones == []


def test_by_default_a_question_waits_for_another_face(hub: HubDesk) -> None:
    """ours"""
    hub.script(MAKE, {"text": "Made."})
    with hub.background("run", "go") as running:
        session = until(lambda: hub.json("inbox")["items"], "question")[0]["session"]
        assert hub.ropewalk("answer", session, "--allow").code == 0
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out) == (0, b"Made.\n") and f"ropewalk answer {session[:4]}" in err.decode()


def test_one_ctrl_c_interrupts_the_turn_and_leaves_the_session(hub: HubDesk) -> None:
    """ours: exit 130, and the session is ready for the next prompt"""
    hub.script({"text": "Working."}, {"wait": 60}, {"text": "Never."})
    hub.env["ROPEWALK_SIM_SPEED"] = "1"
    hub.configure()
    hub.stop()
    hub.start()
    with hub.terminal("run", "go") as terminal:
        terminal.until("Working.")
        terminal.press(CTRL_C)
        terminal.until("interrupting the turn")
        assert terminal.end() == 130
    session = hub.json("ls")["items"][0]["id"]
    assert hub.status(session, "idle")["pid"]


def test_two_ctrl_c_stop_the_process(hub: HubDesk) -> None:
    """ours: within two seconds; the rungs are shown"""
    hub.script({"text": "Working."}, {"fault": "hang"})
    with hub.terminal("run", "go") as terminal:
        terminal.until("Working.")
        terminal.press(CTRL_C)
        terminal.until("interrupting the turn")
        terminal.press(CTRL_C)
        terminal.until("stopping claude")
        assert terminal.end() == 130
    session = hub.json("ls")["items"][0]["id"]
    hub.status(session, "stopped", "asleep")


def test_a_closed_terminal_leaves_the_session_to_the_hub(hub: HubDesk) -> None:
    """ours: leaving never stops anything"""
    hub.script(MAKE, {"text": "Made."})
    with hub.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d ›")
        os.kill(terminal.process.pid, signal.SIGHUP)
        assert terminal.end() == 129
    session = hub.json("ls")["items"][0]["id"]
    assert hub.status(session, "waiting")
    hub.ropewalk("answer", session, "--allow")
    hub.status(session, "idle")


def test_a_timeout_interrupts_the_turn(hub: HubDesk) -> None:
    """ours: nine, and the session stays"""
    hub.script(MAKE)
    done = hub.ropewalk("run", "--timeout", "2s", "go")
    assert done.code == 9 and "ropewalk prompt" in done.err


def test_a_prompt_behind_anothers_turn_answers_and_draws_only_its_own(hub: HubDesk) -> None:
    """ours: the policy of a script is not for a question that somebody else was asked"""
    hub.script(rules=[{"prompt": "first", "steps": [MAKE, {"text": "Made."}]}, {"steps": [MAKE, {"text": "Second."}]}])
    session = hub.new("first")
    first = hub.question(session)
    late = hub.ropewalk("prompt", session, "--wait", "--on-question", "deny", "--timeout", "1s", "too long")
    assert late.code == 9 and "was withdrawn" in late.err and "behind a question" in late.err
    assert hub.question(session)["id"] == first["id"] and hub.prompts == ["first"]
    with hub.background("run", "--resume", session, "--on-question", "deny", "-q", "second") as running:
        until(lambda: [one for one in hub.json("show", session)["queue"] if one["text"] == "second"], "queued prompt")
        assert hub.ropewalk("answer", first["id"], "--allow").code == 0
        out, _ = running.communicate(timeout=30)
    assert running.returncode == 0 and out.decode() == "Second.\n"
    assert [answer["behavior"] for answer in hub.answers] == ["allow", "deny"]


def test_ctrl_c_behind_anothers_turn_takes_the_prompt_back(hub: HubDesk) -> None:
    """ours: the turn that runs is not the one that was asked for here"""
    hub.script(MAKE, {"text": "Made."})
    session = hub.new("first")
    first = hub.question(session)
    with hub.terminal("prompt", session, "--wait", "second") as terminal:
        terminal.until("behind a question")
        terminal.press(CTRL_C)
        assert terminal.end() == 130
    assert hub.question(session)["id"] == first["id"] and "second" not in str(hub.json("show", session)["queue"])


def test_a_failed_turn_is_one_and_says_why(hub: HubDesk) -> None:
    """ours"""
    hub.script({"fail": 400})
    done = hub.ropewalk("run", "go")
    assert done.code == 1 and done.out == "" and "ropewalk: the turn failed" in done.err


def test_a_session_goes_on_with_resume_and_continue(hub: HubDesk) -> None:
    """ours: the same session gets the prompt, a fork a session of its own"""
    hub.script({"text": "I know {prompts} prompts."})
    first = hub.json("run", "one")["session"]
    assert hub.json("run", "--continue", "two")["result"] == "I know 2 prompts."
    assert hub.json("run", "--resume", first[:5], "three")["session"] == first
    forked = hub.json("run", "--resume", first, "--fork", "four")
    assert forked["session"] != first and forked["result"] == "I know 4 prompts."


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--cli", "/bin/true", "x"), "--no-hub"),
        (("run", "--api-billing", "x"), "--no-hub"),
        (("run", "--system-prompt", "x", "x"), "--no-hub"),
        (("run", "--transport", "hybrid", "x"), "--no-hub"),
        (("run", "--fork", "x"), "--resume"),
        (("run", "--on-question", "shrug", "x"), "fail, deny, wait"),
        (("prompt", "abcd", "--timeout", "5s", "x"), "--wait"),
        (("prompt", "ab", "x"), "at least 4 letters"),
    ],
)
def test_what_a_hub_can_not_do_is_wrong_usage(hub: HubDesk, words: tuple[str, ...], said: str) -> None:
    """ours: said before anything is started"""
    done = hub.ropewalk(*words)
    assert done.code == 2 and said in done.err and len(done.err.splitlines()) == 1
    assert hub.ledger == []


def test_a_run_goes_on_over_a_killed_hub_without_a_missing_or_doubled_word(hub: HubDesk) -> None:
    """ours (F-36): the turn goes on in the runner; the run says that it lost the hub, and goes on"""
    hub.script(
        {"text": WORDS},
        {"tool": "Bash", "input": {"command": "make"}, "ask": False, "lasts": 3},
        {"text": "END."},
        pace=0.01,
    )
    hub.env["ROPEWALK_SIM_SPEED"] = "1"
    hub.configure()
    hub.stop()
    hub.start()
    with hub.background("run", "go") as running:
        assert running.stdout is not None
        begun = os.read(running.stdout.fileno(), 100)
        hub.kill()
        hub.start()
        out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err.decode()
    assert (begun + out).decode() == f"{WORDS}\n\nEND.\n"
    assert "lost the hub, trying" in err.decode() and "the hub is back after" in err.decode()


def test_a_card_that_is_open_when_the_hub_dies_is_answered_when_it_is_back(hub: HubDesk) -> None:
    """ours (F-36): the same card; the key counts once"""
    hub.script(MAKE, {"text": "Made."})
    with hub.terminal("run", "go") as terminal:
        terminal.until("a/s/A/d ›")
        hub.kill()
        hub.start()
        terminal.press("a")
        terminal.until("Made.")
        assert terminal.end() == 0
        assert terminal.text.count("◆ Run a command?") == 1
    assert [answer["behavior"] for answer in hub.answers] == ["allow"]


def test_a_fresh_start_goes_on_in_a_new_conversation_with_the_plan(hub: HubDesk) -> None:
    """ours (F-24): in the same session and the same run"""
    hub.script(rules=[{"prompt": "go", "steps": [{"plan": "# The plan"}]}, {"steps": [{"text": "I know {prompts}: {prompt}"}]}])
    with hub.terminal("run", "--mode", "plan", "go") as terminal:
        terminal.until("1/2/3/d/D ›")
        terminal.press("1")
        terminal.until("Start fresh?")
        terminal.press("y")
        terminal.until("I know 1: Implement")
        assert terminal.end() == 0
    assert len(hub.json("ls")["items"]) == 1


def test_background_work_is_waited_for(hub: HubDesk) -> None:
    """ours: the run ends with the turn that its end sets off, as without a hub"""
    work = {"tool": "Bash", "input": {"command": "make all", "run_in_background": True}, "lasts": 0.5, "ask": False}
    hub.script({**work, "then": [{"text": "The build is done."}]}, {"text": "It builds."})
    done = hub.ropewalk("run", "go")
    assert (done.code, done.out) == (0, "It builds.\n\nThe build is done.\n"), done.err
    assert "waiting for background work" in done.err


def test_without_the_hub_nothing_of_it_is_touched(place: HubDesk) -> None:
    """ours: `--no-hub` drives the stand-in itself"""
    done = place.ropewalk("run", "--no-hub", "--sim", "go")
    assert (done.code, done.out) == (0, "ok\n")
    assert not (place.state / "hub.json").exists() and not (place.state / "ropewalk.db").exists()
