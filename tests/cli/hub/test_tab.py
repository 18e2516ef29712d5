"""Tab in a real bash with a hub behind it, codes to scan, and lists for programs."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropewalk.cli.live_ids import lines_of
from ropewalk.cli.qr import qr_lines
from tests.cli.conftest import Desk
from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow


def press_tab(desk: Desk, *words: str) -> list[str]:
    """What bash would list behind these words, with our ``ropewalk`` on its PATH."""
    folder = desk.home / "tab"
    folder.mkdir(exist_ok=True)
    program = folder / "ropewalk"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ropewalk "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{desk.ropewalk('completion', 'bash').out}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _ropewalk\n"
    env = {**desk.env, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f'{script}printf "%s\\n" "${{COMPREPLY[@]}}"'], capture_output=True, check=True, env=env, cwd=desk.project
    )
    assert done.stderr == b""
    return [line for line in done.stdout.decode().splitlines() if line]


def test_tab_lists_sessions_with_their_titles_and_completes_the_only_one(hub: HubDesk) -> None:
    """ours: live ids; a title that looks like a command is only shown."""
    first, second = hub.new("one `touch gone` $(touch gone)"), hub.new("two")
    shown = press_tab(hub, "ropewalk", "show", "")
    assert sorted(line.split()[0] for line in shown) == sorted([first, second])
    assert any(line.endswith("two") for line in shown)
    assert press_tab(hub, "ropewalk", "logs", second[:5]) == [second]
    assert press_tab(hub, "ropewalk", "prompt", second, "") != [second], "the second word is the prompt"
    assert "--json" in press_tab(hub, "ropewalk", "show", "--j")
    assert not (hub.project / "gone").exists()


def test_tab_behind_answer_lists_those_that_ask(hub: HubDesk) -> None:
    """ours"""
    hub.script({"tool": "Bash", "input": {"command": "touch a"}, "ask": True}, {"text": "Done."})
    asking = hub.new("go")
    hub.question(asking)
    assert press_tab(hub, "ropewalk", "answer", "") == [asking]


def test_tab_behind_rules_rm_lists_the_rules_that_can_be_ended(hub: HubDesk) -> None:
    """ours: neither built-in ones nor those of a file"""
    made = hub.json("rules", "add", "allow", "Bash(git diff:*)")
    assert press_tab(hub, "ropewalk", "rules", "rm", "") == [made["id"]]


def test_tab_without_a_hub_says_nothing_and_does_not_wait(hub: HubDesk) -> None:
    """ours: neither where none runs, nor where something listens that never answers."""
    hub.stop()
    assert press_tab(hub, "ropewalk", "show", "") == []
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        env = {"ROPEWALK_URL": f"http://127.0.0.1:{deaf.getsockname()[1]}", "ROPEWALK_TOKEN": "rw_x"}
        began = time.monotonic()
        done = hub.ropewalk("__complete", "sessions", env=env)
        assert (done.code, done.out, done.err) == (0, "", "") and time.monotonic() - began < 15
    assert hub.ropewalk("__complete", "nonsense").out == ""


def test_only_plain_ids_reach_a_shell() -> None:
    """ours: what a hub of somebody else's says is not trusted with a command line."""
    told = {"items": [{"id": "ab12", "title": "a\tb\nc\x1b[2J"}, {"id": "$(x)", "title": ""}, {"id": "-rf"}, {"id": 7}, None]}
    assert lines_of("sessions", told) == ["ab12\ta b c␛[2J"]
    assert lines_of("sessions", None) == [] and lines_of("tokens", {"items": "no"}) == []


def test_a_code_can_be_scanned_where_it_is_asked_for(hub: HubDesk) -> None:
    """ours: the link that is printed, as blocks; not for programs, not without the letters for it."""
    plain, drawn = hub.ropewalk("token", "new"), hub.ropewalk("token", "new", "--qr")
    assert "█" not in plain.out and drawn.code == 0
    link = drawn.out.splitlines()[1].removeprefix("Open  ")
    assert drawn.out.splitlines()[2:] == qr_lines(link) and len(qr_lines(link)) > 10
    assert "a phone can't open it" in drawn.err, "it is this machine's own address"
    assert hub.ropewalk("token", "new", "--qr", "--program").code == 2
    made = len(hub.json("token", "ls")["items"])
    assert hub.ropewalk("token", "new", "--qr", env={"PYTHONIOENCODING": "ascii"}).code == 2
    assert len(hub.json("token", "ls")["items"]) == made, "refused before it was made"


def test_a_list_in_a_pipe_is_not_cut_unless_somebody_says_how_wide(hub: HubDesk) -> None:
    """ours: `ropewalk ls | grep` finds the words at the end of a title."""
    hub.new("--title", f"{'long ' * 40}end")
    assert "long end" in hub.ropewalk("ls").out
    narrow = hub.ropewalk("ls", env={"COLUMNS": "50"}).out
    assert max(map(len, narrow.splitlines())) <= 50 and "FOLDER" not in narrow, "what can be spared goes before words get short"


def test_a_second_serve_with_other_flags_says_that_they_do_not_count(hub: HubDesk, tmp_path: Path) -> None:
    """ours"""
    again = hub.ropewalk("serve", "--detach", "--port", "0")
    assert again.code == 0 and "runs already" in again.out and "as it was started" in again.err
