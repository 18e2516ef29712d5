"""``ropewalk doctor``: each thing that can be amiss, brought about, and what it says to do. On the stand-in."""

from __future__ import annotations

import pytest

from ropewalk.client.probe import NO_SUCH, PROBES
from tests.cli.conftest import Desk


def test_all_is_well_on_a_newest_claude(desk: Desk) -> None:
    """ours: version, speech, requests, login; no prompt is sent and nothing is left in the folder"""
    claude = desk.fake_claude(ROPEWALK_SIM_LEDGER=str(desk.home / "seen.jsonl"))
    done = desk.ropewalk("doctor", "--cli", claude)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert (
        lines[1].startswith("✓ claude 2.1.326   ~/claude")
        and f"knows {len(PROBES) - 1} of {len(PROBES) - 1} requests" in done.out
    )
    assert lines[-1] == "all is well"
    seen = (desk.home / "seen.jsonl").read_text()
    assert '"type":"user"' not in seen.replace("\\", "") and list(desk.project.iterdir()) == []


@pytest.mark.slow
def test_the_probe_lists_every_request_with_its_answer(desk: Desk) -> None:
    """seed 003 (a doctor says which subtypes the installed CLI knows)"""
    done = desk.ropewalk("doctor", "--probe", "--cli", desk.fake_claude())
    rows = {line.split()[0]: line.split()[1] for line in done.out.splitlines() if line.startswith("  ") and "(" not in line}
    assert {name: rows.get(name) for name in PROBES if name != NO_SUCH} == dict.fromkeys(
        (name for name in PROBES if name != NO_SUCH), "yes"
    )
    assert "(a request that nobody knows)  no" in done.out and "capabilities: " in done.out


@pytest.mark.slow
@pytest.mark.parametrize(("version", "unknown"), [("2.1.37", "silent"), ("2.1.62", "no")])
def test_an_old_claude_is_warned_of_and_what_it_does_not_know_is_told(desk: Desk, version: str, unknown: str) -> None:
    """S44: inside the ranges of published advisories; measured: 2.1.37 gives no answer to what it does not know"""
    told = desk.ropewalk("doctor", "--json", "--cli", desk.fake_claude(ROPEWALK_SIM_VERSION=version)).object
    assert told["ok"] is True and told["claude"]["version"] == version and told["claude"]["advisories"] is True
    (warning,) = [check for check in told["checks"] if check["name"] == "advisories"]
    assert warning["state"] == "warning" and "npm install -g" in warning["fix"]
    knows = {one["subtype"]: one["knows"] for one in told["requests"]}
    assert (knows["interrupt"], knows["mcp_status"], knows["get_plan"], knows[NO_SUCH]) == ("yes", "yes", unknown, unknown)


@pytest.mark.slow
def test_an_untested_version_is_a_notice_not_a_refusal(desk: Desk) -> None:
    """seed 002"""
    claude = desk.fake_claude(before='case "$*" in --version) echo "2.1.999 (Claude Code)"; exit ;; esac\n')
    done = desk.ropewalk("doctor", "--cli", claude)
    assert done.code == 0 and "! claude 2.1.999 is none of the versions tested" in done.out and done.out.endswith("1 warning\n")


@pytest.mark.slow
def test_no_claude_is_a_failure_with_the_command_to_install_it(desk: Desk) -> None:
    """ours"""
    desk.env["PATH"] = "/nowhere"
    done = desk.ropewalk("doctor")
    assert (
        done.code == 1 and "✕ claude not found" in done.out and "npm install -g" in done.out and done.out.endswith("1 failure\n")
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("#!/bin/sh\necho not a claude\n", "does not say its version"),
        ('#!/bin/sh\n[ "$1" = --version ] && echo "2.1.326 (Claude Code)" && exit\necho "no config" >&2; exit 3\n', "no config"),
        ("#!/usr/bin/env node\n", "node is not on the PATH"),
    ],
    ids=["another program", "dies at the start", "a script without node"],
)
def test_a_claude_that_does_not_work_is_a_failure_that_says_why(desk: Desk, program: str, said: str) -> None:
    """ours"""
    path = desk.program("claude", program)
    desk.program("env", "#!/bin/sh\n")
    if "node" in program:
        desk.env["PATH"] = "/nowhere"
    done = desk.ropewalk("doctor", "--cli", path)
    assert done.code == 1 and said in done.out and "✕" in done.out


@pytest.mark.slow
def test_a_claude_that_says_nothing_is_given_up(desk: Desk) -> None:
    """ours: bounded; the whole start may take half a minute"""
    claude = desk.fake_claude(
        before='case "$*" in --version) echo "2.1.326 (Claude Code)"; exit ;; esac\n', ROPEWALK_SIM_FAULT="hang"
    )
    done = desk.ropewalk("doctor", "--cli", claude)
    assert done.code == 1 and "claude does not answer" in done.out
