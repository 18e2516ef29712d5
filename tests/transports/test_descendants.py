"""Who belongs to a CLI, told from /proc, and that a signal reaches this very process or nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ropewalk.transports.descendants import Family, Group, Seen, family_of, is_there, send_signal, stat_of
from tests.contract.listening import until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, as a CLI is."""
    process = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={"ROPEWALK_PROCESS": "m1"})
    yield process
    process.kill()
    process.wait()


def test_a_process_is_described_as_the_system_sees_it(sleeper: subprocess.Popen[bytes]) -> None:
    """ours."""
    stat = stat_of(sleeper.pid)
    assert stat is not None
    assert (stat.seen.pid, stat.parent, stat.session) == (sleeper.pid, os.getpid(), sleeper.pid)
    assert is_there(stat.seen)
    assert not is_there(Seen(sleeper.pid, stat.seen.start + 1))


async def test_a_name_with_spaces_and_brackets_does_not_confuse(tmp_path: Path) -> None:
    """ours: a process may call itself what it likes."""
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "1000"])
    await until(lambda: b"(b" in Path(f"/proc/{process.pid}/comm").read_bytes(), "its name")
    stat = stat_of(process.pid)
    process.kill()
    assert stat is not None
    assert stat.parent == os.getpid()
    process.wait()


async def test_one_of_which_only_the_exit_code_is_left_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    """ours: an unreaped process can't be ended any more, and must not be waited for."""
    sleeper.kill()
    await until(lambda: stat_of(sleeper.pid) is None, "it to be gone")
    assert Path(f"/proc/{sleeper.pid}/stat").exists()


def test_a_pid_that_was_given_to_another_process_is_not_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    """ours: pids come again; start times tell."""
    stat = stat_of(sleeper.pid)
    assert stat is not None
    send_signal(Seen(sleeper.pid, stat.seen.start - 1), signal.SIGKILL)
    assert sleeper.poll() is None
    send_signal(stat.seen, signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL


@pytest.mark.parametrize("pid", [-1, 0, 1, os.getpid()], ids=["everybody", "our group", "init", "ourselves"])
def test_init_every_process_and_ourselves_are_never_signalled(pid: int) -> None:
    """ours: kill(0) and kill(-1) end the caller; a harmless signal that we would hear shows that none is sent."""
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: heard.append(number))
    stat = stat_of(os.getpid())
    assert stat is not None
    send_signal(Seen(pid, stat.seen.start), signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)
    assert heard == []


def test_those_who_carry_the_marker_are_found_wherever_they_are(sleeper: subprocess.Popen[bytes]) -> None:
    """ours: a double fork and a session of its own leave nothing but the environment."""
    elsewhere = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={"A": "1", "ROPEWALK_PROCESS": "m1"})
    stranger = subprocess.Popen(
        ["sleep", "1000"], start_new_session=True, env={"B": "ROPEWALK_PROCESS=m1", "ROPEWALK_PROCESS": "m11"}
    )
    family = Family(sleeper.pid, "m1")
    assert family.note() == family.left() == [elsewhere.pid]
    family.signal(signal.SIGTERM)
    assert elsewhere.wait() == -signal.SIGTERM
    assert family.left() == []
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_one_that_got_the_dead_cli_s_number_later_is_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ours: after the CLI is reaped its number may be given to anybody. Numbers can't be ordered, so /proc is written here."""
    monkeypatch.setattr("ropewalk.transports.descendants.PROC", str(tmp_path))
    now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))

    def process(pid: int, *, parent: int, session: int, start: int) -> None:
        (tmp_path / str(pid)).mkdir(exist_ok=True)
        numbers = [parent, pid, session, *[0] * 15, start, 0, 0]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a name) S {' '.join(map(str, numbers))}\n")

    process(500, parent=1, session=500, start=now - 1000)
    family = Family(500, "a marker that nobody carries")
    process(501, parent=1, session=500, start=now - 900)
    assert family.note() == [501]
    family.root_is_gone()
    process(500, parent=1, session=500, start=now + 1000)
    process(502, parent=500, session=500, start=now + 1001)
    process(503, parent=501, session=503, start=now + 1002)
    assert family.note() == [501, 503]


def test_where_there_is_no_proc_the_process_group_is_ended(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """ours: on other systems that is all there is."""
    monkeypatch.setattr("ropewalk.transports.descendants.PROC", "/no/such/proc")
    group = family_of(sleeper.pid, "m1")
    assert isinstance(group, Group)
    assert group.note() == group.left() == [sleeper.pid]
    group.signal(signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL
    assert group.left() == []


def test_a_group_of_nobody_is_never_signalled() -> None:
    """ours: killpg(0) is our own group."""
    for number in (-1, 0, 1):
        assert not Group(number).signal(0)
