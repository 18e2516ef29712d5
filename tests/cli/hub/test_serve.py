"""``serve`` and finding the hub: what is printed, in the background, stopped, none there."""

from __future__ import annotations

import json
import re
import urllib.request

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow


def test_serve_prints_where_it_is_and_a_link_that_signs_in(place: HubDesk) -> None:
    """ours (F-03): four lines; every session on the stand-in is said so"""
    first, second, third, fourth = place.start().splitlines()
    assert re.fullmatch(r"ropewalk \S+   hub on http://127\.0\.0\.1:\d+   data in \S+", first)
    assert second.startswith("claude   every session runs on the stand-in")
    assert re.fullmatch(r"Open  http://127\.0\.0\.1:\d+/signin#[0-9a-z]{4}-[0-9a-z]{4}      works once, for 10 minutes", third)
    assert fourth == "Ctrl C stops the hub. Turns under way go on in the runner."
    url = third.split()[1].partition("#")[0]
    with urllib.request.urlopen(url) as page:
        assert page.status == 200
    address = json.loads((place.state / "hub.json").read_text())
    assert place.serving is not None and address["pid"] == place.serving.pid
    place.stop()
    assert not (place.state / "hub.json").exists()


def test_without_claude_serve_says_so_and_runs_on(place: HubDesk) -> None:
    """ours: it names the way to install one and the stand-in; a session on the stand-in works at once"""
    place.configure(sim=False)
    place.env["PATH"] = "/usr/bin:/bin"
    second = place.start().splitlines()[1]
    assert "claude   not found. Install: npm install -g @anthropic-ai/claude-code" in second and "ropewalk run --sim" in second
    done = place.ropewalk("run", "--sim", "hello")
    assert (done.code, done.out) == (0, "ok\n")
    refused = place.ropewalk("run", "hello")
    assert refused.code == 8 and "npm install" in refused.err


def test_no_hub_is_three_and_says_how_to_start_one(place: HubDesk) -> None:
    """ours: nothing is started by looking"""
    for words in ((), ("ls",), ("inbox",), ("show", "."), ("logs", "-"), ("token", "ls"), ("runner", "ls"), ("stop", "abcd")):
        done = place.ropewalk(*words)
        assert (done.code, done.out) == (3, ""), words
        assert done.err.startswith("ropewalk: no hub runs here") and "ropewalk serve" in done.err
    assert place.alive() == []


def test_a_hub_that_died_is_no_hub(hub: HubDesk) -> None:
    """ours: its address file is still there"""
    hub.kill()
    assert (hub.state / "hub.json").exists()
    assert hub.ropewalk("ls").code == 3


def test_serve_goes_to_the_background_and_is_stopped_by_name(place: HubDesk) -> None:
    """ours: twice is once; what it says goes to its log, 0600"""
    begun = place.json("serve", "--detach")
    assert begun["started"] and place.json("serve", "--detach") == {**begun, "started": False}
    assert place.ropewalk("ls").code == 0
    assert (place.state / "hub.log").stat().st_mode & 0o777 == 0o600
    stopped = place.ropewalk("serve", "--stop")
    assert stopped.code == 0 and f"pid {begun['pid']}" in stopped.out and "go on in the runner" in stopped.out
    assert place.json("serve", "--stop") == {"stopped": False, "pid": None}
    assert place.ropewalk("ls").code == 3


def test_a_second_hub_in_the_same_folder_is_refused_in_words(hub: HubDesk) -> None:
    """seed: two writers would be two truths"""
    done = hub.ropewalk("serve")
    assert (
        done.code != 0
        and done.out == ""
        and "a hub runs here already, on http://127.0.0.1:" in done.err
        and len(done.err.splitlines()) == 1
    )


def test_a_taken_port_is_said(hub: HubDesk) -> None:
    """ours: with what to do about it"""
    port = json.loads((hub.state / "hub.json").read_text())["url"].rsplit(":", 1)[1]
    other = hub.state.parent / "other"
    other.mkdir(mode=0o700)
    done = hub.ropewalk("serve", "--port", port, env={"ROPEWALK_HOME": str(other)})
    assert done.code == 2 and port in done.err and len(done.err.splitlines()) == 1, done.err


def test_run_starts_a_hub_in_the_background_and_says_so(place: HubDesk) -> None:
    """ours: on stderr; the next run finds it"""
    done = place.ropewalk("run", "hello")
    assert (done.code, done.out) == (0, "ok\n"), done.err
    assert "starting one in the background" in done.err
    again = place.ropewalk("run", "hello")
    assert again.code == 0 and "starting" not in again.err
    assert len(place.json("ls")["items"]) == 2


def test_another_hub_is_named_by_variables(hub: HubDesk) -> None:
    """ours: ROPEWALK_URL and ROPEWALK_TOKEN; a wrong token is five"""
    url = json.loads((hub.state / "hub.json").read_text())["url"]
    token = (hub.state / "token").read_text().strip()
    elsewhere = {"ROPEWALK_HOME": str(hub.home / "elsewhere"), "ROPEWALK_URL": url}
    assert hub.ropewalk("ls", env={**elsewhere, "ROPEWALK_TOKEN": token}).code == 0
    refused = hub.ropewalk("ls", env={**elsewhere, "ROPEWALK_TOKEN": "wrong"})
    assert refused.code == 5 and refused.out == ""
