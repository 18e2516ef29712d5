"""sim claude misbehaves on order, and only then."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ropewalk.sim.claude.faults import FAULTS, FaultError, orders

from .conftest import Start
from .play import GUARD, Sim

pytestmark = pytest.mark.slow
HELLO = [{"text": "Hello."}]


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path) -> Iterator[None]:
    """Ends what a failed test left behind: everything that carries this test's home."""
    yield
    for pid in _with_home(str(tmp_path)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_unknown_fault_is_refused_with_the_names_of_the_known_ones() -> None:
    with pytest.raises(FaultError, match=r"fault 'explode' is not known; one of crash, kill"):
        orders("explode")


def test_several_orders_have_their_own_moments() -> None:
    assert [(order.name, order.params, order.line) for order in orders("noise count=2; crash code=7 at=line:3")] == [
        ("noise", {"count": 2}, None),
        ("crash", {"code": 7}, 3),
    ]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_crash_comes_right_before_the_named_line(start: Start, number: int) -> None:
    sim = start(HELLO, ROPEWALK_SIM_FAULT=f"crash code=9 at=line:{number}")
    sim.prompt("hi")
    assert sim.exit_code() == 9
    assert len(sim.raw) == number - 1


def test_it_kills_itself_in_the_midst_of_a_text(start: Start) -> None:
    sim = start([{"together": [{"text": "one"}, {"fault": "kill"}, {"text": "two"}]}])
    sim.prompt("hi")
    assert sim.exit_code() == -signal.SIGKILL
    assert [line["type"] for line in sim.said] == ["system", "assistant"]


def test_it_hangs_until_it_is_ended(start: Start) -> None:
    sim = start([{"text": "one"}, {"fault": "hang"}, {"text": "never"}])
    sim.prompt("hi")
    sim.wait_for(type="assistant")
    sim.request("interrupt")
    assert sim.next_line(0.5) is None
    sim.process.terminate()
    assert sim.exit_code() == 143


def test_a_half_line_is_left_behind(start: Start) -> None:
    sim = start([{"text": "one"}, {"fault": "half_line"}, {"fault": "crash"}])
    sim.prompt("hi")
    assert sim.exit_code() == 1
    assert not sim.raw[-1].endswith(b"\n")


BROKEN: dict[str, Callable[[bytes], bool]] = {
    "garbage": lambda row: not row.startswith(b"{"),
    "long_line": lambda row: len(row) == 64 * 1024 * 1024 + 2,
    "surrogates": lambda row: b"\\ud83d" in row and json.loads(row)["type"] == "system",
    "nesting": lambda row: row.count(b"[") == 100_000,
    "huge_number": lambda row: row.count(b"9") > 5000 and b"1e999" in row,
    "bad_utf8": lambda row: b"\xff\xfe" in row,
    "unknown_line": lambda row: json.loads(row)["type"] == "from_the_future",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_strange_line_is_said_and_the_turn_goes_on(start: Start, name: str) -> None:
    """ours: a controller must live through each of these."""
    sim = start([{"text": "one"}, {"fault": name}, {"text": "two"}])
    sim.prompt("hi")
    rows = [row for row in _rows_of_turn(sim) if BROKEN[name](row)]
    assert len(rows) == 1
    assert json.loads(sim.raw[-1])["result"] == "two"


def _rows_of_turn(sim: Sim) -> list[bytes]:
    rows = []
    while b'"type":"result"' not in (row := sim.next_row()):
        rows.append(row)
    return rows


def test_a_flood_is_as_long_as_ordered(start: Start) -> None:
    sim = start([{"fault": "flood", "count": 5000}, {"text": "done"}])
    sim.prompt("hi")
    sim.wait_for(type="result")
    assert sum(line.get("content", "").startswith("flood") for line in sim.said if line["type"] == "system") == 5000


def test_noise_goes_to_stderr_alone(start: Start) -> None:
    sim = start(HELLO, ROPEWALK_SIM_FAULT="noise count=300 size=100")
    sim.prompt("hi")
    sim.wait_for(type="result")
    sim.close_input()
    assert sim.exit_code() == 0
    assert len([words for words in sim.errors if words.startswith("noise")]) == 300


def test_stdin_is_never_read(start: Start) -> None:
    sim = start(HELLO, ROPEWALK_SIM_FAULT="ignore_stdin")
    sim.prompt("hi")
    assert sim.next_line(1.0) is None
    assert sim.process.poll() is None


def test_terminate_is_ignored(start: Start) -> None:
    sim = start(HELLO, ROPEWALK_SIM_FAULT="ignore_term")
    sim.prompt("hi")
    sim.wait_for(type="result")
    sim.process.terminate()
    sim.prompt("still here?")
    assert sim.wait_for(type="result")["result"] == "Hello."


@pytest.mark.parametrize(("way", "own_session"), [("child", False), ("setsid", True), ("double_fork", True)])
def test_a_child_is_left_behind(start: Start, tmp_path: Path, way: str, own_session: bool) -> None:
    """Ours: what outlives the process must be findable, so that tests can end it."""
    sim = start([{"fault": "leave_child", "way": way, "seconds": 1234.5}, {"text": "left"}])
    sim.prompt("hi")
    sim.wait_for(type="result")
    child = _sleeper(sim)
    assert (os.getsid(child) != os.getsid(sim.process.pid)) is own_session
    sim.close_input()
    assert sim.exit_code() == 0
    assert child in _sleepers(sim)
    os.kill(child, signal.SIGKILL)


def test_a_child_that_holds_the_pipes_keeps_them_open_after_the_end(start: Start) -> None:
    """Measured: MCP servers do so to controllers that wait for the end of the output."""
    sim = start([{"fault": "leave_child", "hold": True, "seconds": 1234.5}, {"text": "left"}])
    sim.prompt("hi")
    sim.wait_for(type="result")
    child = _sleeper(sim)
    sim.close_input()
    assert sim.process.wait(GUARD) == 0
    assert not sim.output_ended()
    os.kill(child, signal.SIGKILL)
    wait_until(sim.output_ended)


def _sleeper(sim: Sim) -> int:
    wait_until(lambda: len(_sleepers(sim)) == 1)
    return _sleepers(sim)[0]


def _sleepers(sim: Sim) -> list[int]:
    """Children that this sim left behind."""
    return [pid for pid in _with_home(sim.home) if pid != sim.process.pid and b"1234.5" in _read(pid, "cmdline")]


def _with_home(home: str) -> list[int]:
    """Living processes that carry this home in their environment."""
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    return [pid for pid in pids if home.encode() in _read(pid, "environ") and _state(pid) not in ("Z", "X")]


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def test_every_fault_is_shown_here() -> None:
    shown = Path(__file__).read_text()
    assert [name for name in FAULTS if name not in shown] == []


def test_a_real_command_is_a_child_and_an_interrupt_ends_it(start: Start, tmp_path: Path) -> None:
    """Measured on 2.1.326: an interrupt ends the running command."""
    sim = start([{"tool": "Bash", "input": {"command": "echo $$ > pid; exec sleep 1234.5"}, "run": True, "ask": False}])
    sim.prompt("hi")
    child = _pid_in(tmp_path / "project" / "pid")
    assert _state(child) != "X"
    sim.request("interrupt")
    assert sim.wait_for(type="result")["terminal_reason"] == "aborted_tools"
    wait_until(lambda: _state(child) in ("X", "Z"))


def test_a_real_command_outlives_a_kill(start: Start, tmp_path: Path) -> None:
    """Measured, all versions: SIGKILL of the CLI leaves the command running."""
    sim = start([{"tool": "Bash", "input": {"command": "echo $$ > pid; exec sleep 1234.5"}, "run": True, "ask": False}])
    sim.prompt("hi")
    child = _pid_in(tmp_path / "project" / "pid")
    sim.process.kill()
    sim.process.wait(GUARD)
    assert _state(child) == "S"
    os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize(("version", "lives"), [("2.1.37", True), ("2.1.62", True), ("2.1.326", False)])
def test_a_real_command_outlives_a_termination_on_the_older_versions(
    start: Start, tmp_path: Path, version: str, lives: bool
) -> None:
    """Measured: 2 of 2 survived SIGTERM on 2.1.37 and 2.1.62, none on 2.1.326."""
    steps = [{"tool": "Bash", "input": {"command": "echo $$ > pid; exec sleep 1234.5"}, "run": True, "ask": False}]
    sim = start(steps, version=version)
    sim.prompt("hi")
    child = _pid_in(tmp_path / "project" / "pid")
    sim.process.terminate()
    assert sim.process.wait(GUARD) == 143
    if lives:
        assert _state(child) == "S"
        os.kill(child, signal.SIGKILL)
    else:
        wait_until(lambda: _state(child) in ("X", "Z"))


def test_background_work_is_left_as_an_orphan_by_the_oldest(start: Start, tmp_path: Path) -> None:
    """Measured (2.1.37): closing stdin ends it at once and the command goes on."""
    given = {"command": "echo $$ > pid; exec sleep 1234.5", "run_in_background": True}
    sim = start([{"tool": "Bash", "input": given, "run": True, "ask": False}, {"text": "Started."}], version="2.1.37")
    sim.prompt("hi")
    sim.wait_for(type="result")
    child = _pid_in(tmp_path / "project" / "pid")
    sim.close_input()
    assert sim.process.wait(GUARD) == 0
    assert _state(child) == "S"
    os.kill(child, signal.SIGKILL)


def _pid_in(written: Path) -> int:
    wait_until(lambda: written.exists() and written.read_text().endswith("\n"))
    return int(written.read_text())


def test_it_leaves_quietly_when_nobody_listens(start: Start) -> None:
    sim = start([{"fault": "flood", "count": 100_000}, {"text": "done"}])
    sim.prompt("hi")
    sim.stop_listening()
    assert sim.process.wait(GUARD) == 1
    assert sim.errors == []


def test_what_a_real_command_says_is_its_result(start: Start) -> None:
    sim = start([{"tool": "Bash", "input": {"command": "echo out; echo err >&2"}, "run": True, "ask": False}, {"text": "done"}])
    sim.prompt("hi")
    line = sim.wait_for(type="user")
    assert line["tool_use_result"]["stdout"] == "out"
    assert line["tool_use_result"]["stderr"] == "err"


def test_no_process_is_left_by_this_file(start: Start) -> None:
    """Ours: a scenario without faults leaves nothing."""
    sim = start(HELLO)
    sim.prompt("hi")
    sim.wait_for(type="result")
    sim.close_input()
    assert sim.exit_code() == 0
    assert subprocess.run(["ps", "-o", "pid=", "--ppid", str(sim.process.pid)], capture_output=True, check=False).stdout == b""
