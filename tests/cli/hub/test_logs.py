"""``logs`` and ``prompt``: events and the wire, as they were and as they come, over a hub that dies."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow

MAKE = {"tool": "Bash", "input": {"command": "touch a.txt"}, "ask": True}


def test_events_are_lines_with_time_seq_kind_and_words(hub: HubDesk) -> None:
    """ours: `--after` and `-n` narrow them, `--json` is the API's own shape"""
    session = hub.new("hello")
    hub.status(session, "idle")
    lines = hub.ropewalk("logs", session).out.splitlines()
    assert [int(line.split()[1]) for line in lines] == list(range(1, len(lines) + 1))
    assert any(line.split()[2:] == ["text", "ok"] for line in lines)
    events = hub.events(session)
    assert [event["seq"] for event in events] == list(range(1, len(lines) + 1)) and events[0]["kind"] == "session_created"
    last = hub.ropewalk("logs", session, "-n", "3").out.splitlines()
    assert last == lines[-3:] == hub.ropewalk("logs", session, "--after", str(len(lines) - 3)).out.splitlines()


def test_the_wire_is_verbatim(hub: HubDesk) -> None:
    """ours: every line that claude was given and said, as its own ledger has it"""
    session = hub.new("hello")
    hub.status(session, "idle")
    said = hub.ropewalk("logs", session, "--lines").out.splitlines()
    ledger = [entry.line.decode() for entry in hub.ledger if entry.line]
    assert said and sorted(said) == sorted(line for line in ledger if line in said)
    assert any(json.loads(line).get("type") == "user" for line in said)
    told = [json.loads(line) for line in hub.ropewalk("logs", session, "--lines", "--json").out.splitlines()]
    assert {one["dir"] for one in told} == {"in", "out"} and [one["line"].rstrip("\n") for one in told] == said


def test_following_goes_on_over_a_killed_hub_without_a_missing_or_doubled_line(hub: HubDesk) -> None:
    """ours (F-36): the hub comes back at another port; what happened meanwhile is there, once"""
    hub.script(MAKE, {"text": "Done."})
    session = hub.new("go")
    hub.question(session)
    with hub.background("logs", "-f", "--json", session) as following:
        assert following.stdout is not None and following.stderr is not None
        heard = b""
        for _ in range(2):
            while b"question_opened" not in heard:
                heard += os.read(following.stdout.fileno(), 1 << 16)
            hub.kill()
            assert b"lost the hub, trying" in following.stderr.readline()
            hub.start()
            assert b"the hub is back after" in following.stderr.readline()
        assert hub.ropewalk("answer", session, "--allow").code == 0
        hub.status(session, "idle")
        want = hub.events(session)
        while heard.count(b"\n") < len(want):
            heard += os.read(following.stdout.fileno(), 1 << 16)
        following.terminate()
    assert [json.loads(line) for line in heard.splitlines()] == want


def test_at_a_terminal_a_lost_hub_is_told_in_the_line_that_passes(hub: HubDesk) -> None:
    """ours: `lost 3 s, trying`"""
    session = hub.new("hello")
    hub.status(session, "idle")
    with hub.terminal("logs", "-f", session) as terminal:
        terminal.until("turn_ended")
        hub.kill()
        terminal.until_raw(b"lost 1 s, trying")
        hub.start()
        terminal.until("the hub is back after")


def test_a_prompt_is_stored_and_queued_and_can_be_waited_for(hub: HubDesk) -> None:
    """ours: `--wait` is like run; without it the receipt is told"""
    hub.script(rules=[{"prompt": "ask", "steps": [MAKE, {"text": "made"}]}, {"steps": [{"text": "you said {prompt}"}]}])
    session = hub.new("ask")
    hub.question(session)
    queued = hub.json("prompt", session, "second")
    assert queued["state"] == "queued" and hub.ropewalk("prompt", session, stdin="third").out == "queued: third\n"
    hub.ropewalk("answer", session, "--allow")
    done = hub.ropewalk("prompt", session, "--wait", "fourth")
    assert (done.code, done.out) == (0, "you said fourth\n"), done.err
    assert hub.prompts == ["ask", "second", "third", "fourth"]
    assert hub.json("prompt", "-", "--wait", "fifth")["result"] == "you said fifth"


def test_prompts_now_and_instead(hub: HubDesk) -> None:
    """ours: into the turn that runs, or in its place"""
    hub.script(rules=[{"prompt": "ask", "steps": [MAKE, {"text": "made"}]}, {"steps": [{"text": "ok"}]}])
    session = hub.new("ask")
    hub.question(session)
    assert hub.json("prompt", session, "--now", "more")["when"] == "now"
    assert hub.json("prompt", session, "--instead", "other")["when"] == "instead"
    assert hub.ropewalk("prompt", session, "--now", "--instead", "x").code == 2
    hub.status(session, "idle", "waiting")
