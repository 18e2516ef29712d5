"""What a newcomer does wrong, with a hub or without: one sentence, its exit code, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.cli.hub.conftest import HubDesk

pytestmark = pytest.mark.slow


def test_a_reader_that_leaves_ends_every_list_the_same_way(hub: HubDesk) -> None:
    """ours: 141, as if SIGPIPE had ended it; nothing on stderr"""
    session = hub.new("hello")
    hub.status(session, "idle")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ropewalk", "logs", session],
        stdout=writer, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=hub.project, env=hub.env, check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ls", "--status", "waitng"), 2, "did you mean waiting?"),
        (("new", "--title", "x" * 500), 2, "400 are the most"),
        (("run", "--sim=/nowhere/at.toml", "x"), 2, "does not exist"),
        (("answer", ".", "--deny"), 2, "See: ropewalk answer --help"),
        (("prompt", "."), 2, "the prompt is empty"),
    ],
)
def test_wrong_words_are_one_sentence(hub: HubDesk, words: tuple[str, ...], code: int, said: str) -> None:
    """ours"""
    done = hub.ropewalk(*words)
    assert done.code == code and said in done.err and done.out == "" and len(done.err.splitlines()) == 1


def test_a_folder_that_is_none_and_a_token_that_is_not_known_are_named(hub: HubDesk) -> None:
    """ours: no stack trace from a machine that says no"""
    blocked = hub.home / "file"
    blocked.write_text("")
    done = hub.ropewalk("serve", "--detach", env={"ROPEWALK_HOME": "", "XDG_STATE_HOME": str(blocked)})
    assert done.code == 1 and f"{blocked}/ropewalk can't be used" in done.err and len(done.err.splitlines()) == 1
    refused = hub.ropewalk("ls", env={"ROPEWALK_TOKEN": "rw_no"})
    assert refused.code == 5 and "ROPEWALK_TOKEN" in refused.err


def test_a_session_that_was_stopped_is_not_stopped_again(hub: HubDesk) -> None:
    """ours"""
    session = hub.new("hello")
    hub.status(session, "idle")
    assert hub.ropewalk("stop", session).out == "stopped\n"
    assert hub.ropewalk("stop", session).out == "it was stopped already\n"
