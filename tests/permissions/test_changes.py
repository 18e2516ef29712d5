"""Policies that change the input before a tool runs; both versions are kept."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ropewalk.errors import UsageError
from ropewalk.permissions.changes import absolute_paths, changed, sandboxed
from ropewalk.permissions.request import Request

WRAPPER = ("sandbox", "--ro-bind", "/", "/", "--a b")


@pytest.mark.parametrize(
    "command", ["ls", "echo 'it''s' \"$x\"", "a; b && c | d > e\nf", "", "sandbox --ro-bind / / '--a b' bash -c true; id"]
)
def test_a_policy_puts_every_command_into_a_sandbox(command: str) -> None:
    """*seed*: a policy can inject a sandbox restriction. The command stays one word, whatever it holds."""
    both = changed(Request("Bash", {"command": command, "timeout": 5}, "/p"), [sandboxed(WRAPPER)])
    assert both.is_changed and both.asked.input == {"command": command, "timeout": 5}
    assert both.run.input["timeout"] == 5
    assert shlex.split(both.run.input["command"]) == [*WRAPPER, "bash", "-c", command]


def test_what_the_sandbox_runs_is_what_was_asked() -> None:
    """*ours*: in a real shell the wrapped command gives the same words."""
    command = "printf '%s|' 'a b' \"c'd\" e\\ f"
    both = changed(Request("Bash", {"command": command}, "/p"), [sandboxed(("env",))])
    said = [
        subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True).stdout
        for text in (command, both.run.input["command"])
    ]
    assert said[0] == said[1] == "a b|c'd|e f|"


def test_other_tools_and_odd_inputs_are_left_alone() -> None:
    """*ours*"""
    for request in (Request("Read", {"file_path": "/a"}, "/p"), Request("Bash", {"command": 7}, "/p"), Request("Bash", {}, "/p")):
        assert not changed(request, [sandboxed(WRAPPER)]).is_changed


@pytest.mark.parametrize("wrapper", [(), ("",), ("a\0b",), (7,)])
def test_a_sandbox_that_can_not_be_meant_is_refused(wrapper: tuple[str, ...]) -> None:
    """*ours*"""
    with pytest.raises(UsageError, match="a program with its options"):
        sandboxed(wrapper)


@pytest.mark.parametrize(
    ("tool", "given", "run"),
    [
        ("Read", {"file_path": "src/a.py", "limit": 5}, {"file_path": "/p/src/a.py", "limit": 5}),
        ("Edit", {"file_path": "./a"}, {"file_path": "/p/a"}),
        ("Write", {"file_path": "~/a"}, {"file_path": "/home/mia/a"}),
        ("NotebookEdit", {"notebook_path": "a.ipynb"}, {"notebook_path": "/p/a.ipynb"}),
        ("Read", {"file_path": "/abs"}, {"file_path": "/abs"}),
        ("Read", {"file_path": "link/../a"}, {"file_path": "/p/link/../a"}),
        ("Grep", {"pattern": "x"}, {"pattern": "x", "path": "/p"}),
        ("Glob", {"pattern": "*.py", "path": "src"}, {"pattern": "*.py", "path": "/p/src"}),
        ("Read", {}, {}),
        ("Bash", {"command": "cat a"}, {"command": "cat a"}),
    ],
)
def test_a_policy_makes_paths_absolute(tool: str, given: dict[str, object], run: dict[str, object]) -> None:
    """*seed*: a policy can turn relative paths into absolute ones. ``link/..`` is left to whoever opens it."""
    both = changed(Request(tool, given, "/p"), [absolute_paths(home="/home/mia")])
    assert both.asked.input == given and both.run.input == run


def test_policies_work_one_after_the_other() -> None:
    """*ours*"""
    both = changed(Request("Bash", {"command": "ls"}, "/p"), [sandboxed(("a",)), sandboxed(("b",)), absolute_paths()])
    assert both.run.input["command"] == "b bash -c 'a bash -c ls'"
