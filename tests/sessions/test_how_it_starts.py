"""Starting and resuming are one decision, made from what is stored. Pure: no process."""

from __future__ import annotations

import json

import pytest

from ropewalk.config import Config
from ropewalk.errors import NotAllowed, UsageError
from ropewalk.events.commands import SessionOptions
from ropewalk.sessions.holding import HELD, KEEP, held
from ropewalk.sessions.kept import Begun
from ropewalk.sessions.launching import check_folder, check_options, how_to_begin, launch_for
from ropewalk.sessions.world import Program
from ropewalk.store.rows import SessionRow
from tests.demand import demand


@demand("003-45")
@demand("003-46")
@pytest.mark.parametrize(
    ("begun", "stored", "how"),
    [
        (Begun(), None, {"new_session": "new"}),
        (Begun(turns=True), "abc", {"resume": "abc"}),
        (Begun(resumed=True), "abc", {"resume": "abc"}),
        (Begun(turns=True), None, {"new_session": "new"}),
        (Begun(), "abc", {"new_session": "new"}),
        (Begun(fork_of="abc", fork_at="m1"), None, {"resume": "abc", "fork": True, "resume_at": "m1"}),
        (Begun(fork_of="abc", turns=True), "def", {"resume": "def"}),
    ],
)
def test_a_stored_conversation_is_resumed_and_without_one_it_is_fresh(
    begun: Begun, stored: str | None, how: dict[str, object]
) -> None:
    """seed: with a stored CLI session id --resume, without one fresh; one that never had a turn has no record to resume"""
    assert how_to_begin(begun, stored, "new") == how


@pytest.mark.parametrize("hostile", ["--dangerously-skip-permissions", "-p", "--settings=/x", "a b; rm -rf ~", "$(id)"])
def test_no_text_of_a_client_becomes_a_flag_of_its_own(hostile: str) -> None:
    """ours: one --flag=value word for each value"""
    row = SessionRow(id="s", cwd="/tmp", model=hostile)
    options = SessionOptions(fallback_model=hostile, add_dirs=[hostile], disallowed_tools=["Read"])
    launch = launch_for(row, options, Program(("claude",), None), Config(), {}, resume=hostile)
    loose = [word for word in launch.argv[1:] if word == hostile]
    assert loose == [] and f"--model={hostile}" in launch.argv and f"--resume={hostile}" in launch.argv


def test_folders_outside_the_allowed_ones_are_refused(tmp_path: object) -> None:
    """ours: no string prefix: /proj-evil is not inside /proj"""
    config = Config(roots=("/proj",))
    assert check_folder("/proj/sub", config) == "/proj/sub"
    for outside in ("/proj-evil", "/etc", "/proj/../etc"):
        with pytest.raises(NotAllowed):
            check_folder(outside, config)
    with pytest.raises(UsageError):
        check_folder("proj", config)


def test_bypass_needs_the_configuration() -> None:
    """ours: a client can't raise the mode by itself"""
    with pytest.raises(NotAllowed):
        check_options(SessionOptions(), "bypassPermissions", Config())
    check_options(SessionOptions(), "bypassPermissions", Config(allow_bypass=True))


def test_commands_are_held_to_the_folder_whatever_a_session_is_started_with() -> None:
    """ours: in the environment and, since settings of the project overrule it, in settings that outrank those"""
    row, own = SessionRow(id="s", cwd="/tmp"), SessionOptions(env={KEEP: "0"})
    launch = launch_for(row, own, Program(("claude",), None), Config(environment={KEEP: "0"}), {})
    assert launch.environment[KEEP] == "1" and f"--settings={HELD}" in launch.argv
    assert json.loads(held(b'{"env": {"A": "b", "%s": "0"}, "model": "x"}' % KEEP.encode())) == {
        "env": {"A": "b", KEEP: "1"},
        "model": "x",
    }
    for broken in (b"", b"[]", b'{"env": []}', b"{"):
        with pytest.raises(UsageError, match="no JSON object"):
            held(broken)
