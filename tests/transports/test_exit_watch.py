"""A child's exit is seen once, with its code, with and without the kernel's help."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable

import pytest

from ropewalk.transports.exit_watch import ExitWatch, open_pidfd
from tests.contract.listening import Belongings, until

WAYS = {"by pidfd": open_pidfd, "by a thread": lambda pid: None}


@pytest.mark.parametrize("pidfd_of", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -TERM $$", -15)])
async def test_the_exit_is_told_once(pidfd_of: Callable[[int], int | None], command: str, code: int) -> None:
    """ours."""
    before = Belongings.now()
    codes: list[int | None] = []
    process = subprocess.Popen(["/bin/sh", "-c", f"read line; {command}"], stdin=subprocess.PIPE)
    watch = ExitWatch(asyncio.get_running_loop(), process.pid, codes.append, pidfd_of)
    watch.look()
    assert codes == []
    assert process.stdin is not None
    process.stdin.close()
    await until(lambda: codes, "the exit")
    watch.look()
    process.returncode = codes[0]
    assert codes == [code]
    assert Belongings.now().more_than(before) is None


async def test_the_exit_is_told_where_a_process_can_not_be_waited_for_without_reaping_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: macOS before Python 3.13."""
    monkeypatch.delattr(os, "waitid")
    codes: list[int | None] = []
    process = subprocess.Popen(["/bin/sh", "-c", "exit 7"])
    ExitWatch(asyncio.get_running_loop(), process.pid, codes.append, lambda pid: None)
    await until(lambda: codes, "the exit")
    process.returncode = codes[0]
    assert codes == [7]


@pytest.mark.parametrize("pidfd_of", WAYS.values(), ids=WAYS.keys())
async def test_a_child_that_somebody_else_has_reaped_has_no_code(pidfd_of: Callable[[int], int | None]) -> None:
    """ours: some programs wait for every child of theirs."""
    codes: list[int | None] = []
    process = subprocess.Popen(["/bin/true"])
    process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
    ExitWatch(asyncio.get_running_loop(), process.pid, codes.append, pidfd_of).look()
    await until(lambda: codes, "the exit")
    assert codes == [None]
