"""Tags on a card: words for what deserves a second look; they decide nothing."""

from __future__ import annotations

import pytest

from ropewalk.permissions.policy import decide
from ropewalk.permissions.request import Context, Request
from ropewalk.permissions.secrets import built_in
from ropewalk.permissions.tags import tagged


@pytest.mark.parametrize(
    ("command", "tags"),
    [
        ("ls", ()),
        ("rm -rf build", ("deletes",)),
        ("/bin/rm x", ("deletes",)),
        ("curl https://a.b", ("network",)),
        ("sudo ls", ("as root",)),
        ("npm install x", ("installs",)),
        ("git push --force", ("changes git history",)),
        ("git -c a=b status", ()),
        ("echo x > /tmp/y", ("writes outside the folder",)),
        ("echo x > src/y", ()),
        ("cd src && echo x > ../../y", ("writes outside the folder",)),
        ("$x y", ("variable as program",)),
        ("ls\u200b", ("hidden characters",)),
        ("mytool .env", ("reads a secret",)),
        ("timeout 5 rm x && wget y", ("deletes", "network")),
    ],
)
def test_a_command_is_tagged_by_what_deserves_a_second_look(command: str, tags: tuple[str, ...]) -> None:
    """*ours*"""
    request, context = Request("Bash", {"command": command}, "/p"), Context(root="/p", home="/home/mia")
    verdict = decide(request, built_in(), context)
    found = tagged(request, verdict, context)
    assert found.tags == tags
    assert (found.behavior, found.because, len(found.parts)) == (verdict.behavior, verdict.because, len(verdict.parts))


def test_what_runs_in_the_background_says_so() -> None:
    """*ours*"""
    request = Request("Bash", {"command": "ls", "run_in_background": True}, "/p")
    assert tagged(request, decide(request, [])).tags == ("runs in background",)


def test_other_tools_keep_their_verdict() -> None:
    """*ours*"""
    request = Request("Read", {"file_path": "/x"}, "/p")
    assert tagged(request, decide(request, [])) == decide(request, [])
