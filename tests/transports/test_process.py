"""Real processes and real signals: starting, ending, what is left behind, and what must not be."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ropewalk.errors import CliNotFound, FolderMissing, RopewalkError, SessionGone, UsageError
from ropewalk.transports.descendants import stat_of
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.stdio import StdioTransport
from tests.contract.listening import GUARD, Belongings, Ear, until
from tests.transports.families import QUICK, end_by_hand, life_of, started

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Descriptors and children are afterwards what they were before."""
    before = Belongings.now()
    yield
    assert Belongings.now().more_than(before) is None


# Starting


@pytest.mark.parametrize(
    ("launch", "error"),
    [
        (Launch(("/no/such/claude",), (), "/", {}), CliNotFound),
        (Launch(("/etc/passwd",), (), "/", {}), CliNotFound),
        (Launch(("/bin/sh",), (), "/no/such/folder", {}), FolderMissing),
        (Launch(("/bin/sh",), ("two\nlines",), "/", {}), UsageError),
        (Launch(("/bin/sh",), ("x" * 200_000,), "/", {}), UsageError),
    ],
    ids=["no program", "not executable", "no folder", "line break", "too long"],
)
async def test_a_start_that_fails_says_whose_fault_it_is_and_leaves_nothing(launch: Launch, error: type[RopewalkError]) -> None:
    """ours: no fallback to another folder or program; no descriptor, no process."""
    before = Belongings.now()
    ear = Ear()
    transport = StdioTransport(launch)
    with pytest.raises(error) as failure:
        await transport.start(ear)
    assert type(failure.value) is error
    assert (transport.pid, transport.end, ear.ends) == (None, None, [])
    assert Belongings.now().more_than(before) is None


async def test_a_script_whose_interpreter_is_missing_and_a_file_that_is_no_program_are_told_as_such(tmp_path: Path) -> None:
    """ours: the usual state of a half-installed CLI."""
    for text, words in (("#!/no/such/node\n", "first line"), ("\x7fELF no", "not a program")):
        (tmp_path / "claude").write_text(text)
        (tmp_path / "claude").chmod(0o755)
        with pytest.raises(CliNotFound, match=words):
            await StdioTransport(Launch((str(tmp_path / "claude"),), (), str(tmp_path), {})).start(Ear())


async def test_when_there_are_no_descriptors_left_the_start_fails_cleanly(tmp_path: Path) -> None:
    """ours: a hub with many sessions meets this limit first."""
    code = """
        import asyncio, resource
        from ropewalk.errors import LinkBroken
        resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10))
        async def main():
            for _ in range(3):
                try: await StdioTransport(Launch(("/bin/true",), (), "/", {})).start(Ear())
                except LinkBroken as error: print(len(os.listdir("/proc/self/fd")), error)
        asyncio.run(main())
    """
    told = run_python(code).splitlines()
    assert len(told) == 3
    assert len(set(told)) == 1
    assert "Too many open files" in told[0]


async def test_it_leads_a_session_and_group_of_its_own_and_holds_no_descriptor_of_ours(tmp_path: Path) -> None:
    """ours: a ^C in our terminal is not a ^C for it, and a group signal to it is none to us."""
    held = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(held, True)
    transport = await started(tmp_path, "note('cli'); until_eof()")
    cli = await life_of(tmp_path, "cli")
    assert os.getpgid(cli.pid) == os.getsid(cli.pid) == cli.pid
    assert set(os.listdir(f"/proc/{cli.pid}/fd")) == {"0", "1", "2"}
    os.close(held)
    await transport.stop()


# The end


@pytest.mark.slow
async def test_its_end_is_seen_while_a_grandchild_holds_its_pipes_open(tmp_path: Path) -> None:
    """ours: MCP servers inherit stdout and stderr. The grandchild lives on until somebody stops the session."""
    ear = Ear()
    program = "child('server', session=True)\nos.write(1, b'x' * 60000); os.write(2, b'last words'); os._exit(5)"
    transport = await started(tmp_path, program, ear)
    end = await asyncio.wait_for(ear.hears_the_end(), GUARD)
    assert (end.code, end.stderr, len(ear.heard)) == (5, ("last words",), 60000)
    server = await life_of(tmp_path, "server")
    assert server.goes_on
    assert await transport.stop() is end
    assert not server.goes_on


@pytest.mark.slow
async def test_a_grandchild_that_never_falls_silent_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """ours: what the CLI said is heard first and whole; what others say later is not waited for without end."""
    ear = Ear()
    program = "os.write(1, b'result')\nif os.fork(): os._exit(0)\nnote('flood')\nwhile True: os.write(1, b'x' * 1000)"
    transport = await started(tmp_path, program, ear)
    flood = await life_of(tmp_path, "flood")
    await ear.hears_the_end()
    assert ear.heard.startswith(b"result")
    await transport.stop()
    assert not flood.goes_on


@pytest.mark.slow
async def test_what_is_in_the_pipe_at_its_end_is_heard(tmp_path: Path) -> None:
    """ours: the result often comes in the same breath as the exit."""
    for _ in range(20):
        ear = Ear()
        transport = await started(tmp_path, "os.write(1, b'x' * 65536); os.write(2, b'y' * 4000); os._exit(0)", ear)
        end = await ear.hears_the_end()
        assert (len(ear.heard), end.stderr) == (65536, ("y" * 4000,))
        await transport.stop()


async def test_one_that_closes_its_output_lives_until_it_exits(tmp_path: Path) -> None:
    """ours: the end of a pipe is not the end of a process."""
    ear = Ear()
    program = "os.close(1); os.close(2); note('cli'); until_eof(); os._exit(6)"
    transport = await started(tmp_path, program, ear, Graces(mute=GUARD))
    await life_of(tmp_path, "cli")
    transport.send(b"still there?\n")
    await transport.drain()
    assert not ear.ends
    transport.close_input()
    assert (await ear.hears_the_end()).code == 6
    await transport.stop()


async def test_one_that_closes_its_output_and_stays_is_ended_after_a_while_and_its_end_says_why(tmp_path: Path) -> None:
    """ours: nothing more can come of it; it and what it started are ended by the ladder"""
    ear = Ear()
    program = "child('child', session=True, pipes=False); note('cli'); os.close(1); live()"
    transport = await started(tmp_path, program, ear, replace(QUICK, mute=0.2))
    lives = [await life_of(tmp_path, name) for name in ("cli", "child")]
    end = await ear.hears_the_end()
    assert end.why.startswith("it closed its output: the CLI was ended by signal 15"), end.why
    await transport.stop()
    assert not any(life.goes_on for life in lives)


async def test_one_that_goes_in_time_after_closing_its_output_has_gone_by_itself(tmp_path: Path) -> None:
    """ours"""
    ear = Ear()
    transport = await started(tmp_path, "os.close(1); os._exit(3)", ear, replace(QUICK, mute=GUARD))
    assert (await ear.hears_the_end()).why == "the CLI exited with code 3"
    await transport.stop()


@pytest.mark.slow
async def test_one_that_closes_its_input_is_no_error_and_its_exit_tells(tmp_path: Path) -> None:
    """ours: a broken pipe by itself says nothing; words sent into it count as unsent."""
    ear = Ear()
    transport = await started(tmp_path, "os.close(0); note('cli'); time.sleep(0.3); os._exit(1)", ear)
    await life_of(tmp_path, "cli")
    transport.send(b"x" * 10)
    transport.send(b"y" * 5)
    assert transport.unsent == 15
    with pytest.raises(SessionGone) as failure:
        await transport.drain()
    assert failure.value.exit_code == 1
    await transport.stop()


async def test_one_that_goes_while_much_is_queued_for_it_is_no_error(tmp_path: Path) -> None:
    """ours."""
    ear = Ear()
    transport = await started(tmp_path, "os.read(0, 1); os._exit(2)", ear)
    transport.send(b"x" * 1_000_000)
    assert (await ear.hears_the_end()).code == 2
    assert transport.unsent > 900_000
    await transport.stop()


async def test_a_flood_on_stderr_blocks_nobody(tmp_path: Path) -> None:
    """ours: stderr is drained always, also while its stdout is paused."""
    ear = Ear()
    transport = await started(
        tmp_path, "for n in range(50000): os.write(2, b'%d\\n' % n)\nos.write(1, b'done'); until_eof()", ear
    )
    transport.pause()
    await until(lambda: transport._started().stderr_tail()[-1:] == ("49999",), "the last line")
    transport.resume()
    assert await ear.hears(4) == b"done"
    assert len((await transport.stop()).stderr) == 200


async def test_a_signal_is_told_as_a_negative_code_in_words(tmp_path: Path) -> None:
    """ours."""
    ear = Ear()
    transport = await started(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)", ear)
    end = await ear.hears_the_end()
    assert (end.code, end.why) == (-signal.SIGSEGV, "the CLI was ended by signal 11 (Segmentation fault)")
    await transport.stop()


def test_an_exit_code_that_somebody_else_took_is_not_known() -> None:
    """ours: in a program that ignores SIGCHLD the kernel throws exit codes away. None, and not 0."""
    code = """
        import asyncio, signal
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        async def main():
            transport = StdioTransport(Launch(("/bin/sh", "-c", "exit 3"), (), "/", {}))
            await transport.start(ear := Ear())
            print((await ear.hears_the_end()).code)
        asyncio.run(main())
    """
    assert run_python(code) == "None\n"


# Stopping


FAMILY = {
    "a child": "child('one')",
    "one in a session of its own": "child('one', session=True)",
    "one that was forked twice": "child('one', session=True, twice=True, pipes=False)",
    "one that ignores TERM": "child('one', session=True, twice=True, deaf=True)",
    "one with an empty environment": "child('one', bare=True, pipes=False)",
    "one with an empty environment in a session of its own": "child('one', bare=True, session=True)",
}
WAYS_TO_GO = {
    "obeys": "until_eof()",
    "ignores its input": "live()",
    "ignores TERM": "signal.signal(signal.SIGTERM, signal.SIG_IGN); live()",
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILY.values(), ids=FAMILY.keys())
@pytest.mark.parametrize("way", WAYS_TO_GO.values(), ids=WAYS_TO_GO.keys())
async def test_nothing_survives_a_stop(tmp_path: Path, family: str, way: str) -> None:
    """measured (2.1.37 … 2.1.326): a running command outlives TERM of the older CLIs and KILL of all."""
    transport = await started(tmp_path, f"{family}\nnote('cli')\n{way}")
    one, cli = await life_of(tmp_path, "one"), await life_of(tmp_path, "cli")
    rungs: list[str] = []
    await asyncio.wait_for(transport.stop(patience=0.1, on_rung=rungs.append), GUARD)
    assert not one.goes_on
    assert not cli.goes_on
    assert rungs[-1] == "survivors"


@pytest.mark.slow
@pytest.mark.parametrize("twice", [False, True])
async def test_what_a_crashed_cli_left_behind_is_ended_by_the_stop_and_not_before(tmp_path: Path, twice: bool) -> None:
    """ours: background work is nobody's to kill but a person's."""
    ear = Ear()
    transport = await started(tmp_path, f"child('one', session=True, twice={twice}); child('two', bare=True)\nos._exit(1)", ear)
    await ear.hears_the_end()
    one, two = await life_of(tmp_path, "one"), await life_of(tmp_path, "two")
    assert [one.goes_on, two.goes_on] == [True, True]
    rungs: list[str] = []
    await transport.stop(on_rung=rungs.append)
    assert rungs == ["survivors"]
    assert [one.goes_on, two.goes_on] == [False, False]


async def test_children_that_are_born_between_two_rungs_are_noted_before_the_next(tmp_path: Path) -> None:
    """ours: one with a session of its own and an empty environment can be found only while its parent lives."""
    transport = await started(tmp_path, "note('cli'); until_eof(); child('one', bare=True, session=True); live()")
    async with asyncio.TaskGroup() as group:
        group.create_task(transport.stop(patience=3600))
        one = await life_of(tmp_path, "one")
        await transport.stop(patience=0)
    assert not one.goes_on


@pytest.mark.slow
async def test_children_that_are_born_while_they_are_ended_are_ended_too(tmp_path: Path) -> None:
    """ours: a command that forks on TERM."""
    program = """
def fork_on(*_):
    if os.fork() == 0:
        os.setsid(); note('late'); live()
signal.signal(signal.SIGTERM, fork_on)
note('cli')
while True: time.sleep(60)
"""
    transport = await started(tmp_path, program)
    await life_of(tmp_path, "cli")
    await transport.stop(patience=0)
    await until((tmp_path / "late").exists, "the late one to have been there")
    assert stat_of(int((tmp_path / "late").read_text())) is None


async def test_a_stop_ends_nobody_else(tmp_path: Path) -> None:
    """ours: another session of ours, and its children, go on."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    mine = await started(tmp_path / "a", "child('one', session=True, twice=True); note('cli'); live()")
    other = await started(tmp_path / "b", "child('one', session=True, twice=True); note('cli'); live()")
    lives = [await life_of(tmp_path / folder, name) for folder in "ab" for name in ("one", "cli")]
    await mine.stop(patience=0)
    assert [life.goes_on for life in lives] == [False, False, True, True]
    await other.stop(patience=0)
    assert not any(life.goes_on for life in lives)


@pytest.mark.slow
async def test_a_cli_that_is_frozen_is_ended_too(tmp_path: Path) -> None:
    """ours: a stopped process hears no TERM."""
    transport = await started(tmp_path, "note('cli'); os.kill(os.getpid(), signal.SIGSTOP)")
    cli = await life_of(tmp_path, "cli")
    rungs: list[str] = []
    assert (await transport.stop(patience=0, on_rung=rungs.append)).code == -9
    assert rungs == ["input closed", "terminate", "kill"]
    assert not cli.goes_on


@pytest.mark.slow
async def test_fifty_at_once_are_stopped_together(tmp_path: Path) -> None:
    """ours: closing a hub takes as long as its slowest session, not as all of them."""
    transports = [
        await started(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN); until_eof(); live()") for _ in range(50)
    ]
    began = asyncio.get_running_loop().time()
    ends = await asyncio.gather(*(transport.stop(patience=1.0) for transport in transports))
    assert {end.code for end in ends} <= {-9}
    assert asyncio.get_running_loop().time() - began < 50 * 0.3


def test_a_loop_that_is_torn_down_during_a_stop_leaves_nothing(tmp_path: Path) -> None:
    """ours: ``asyncio.run`` cancels what still runs; the ladder then does in one step what it had left."""
    lives = []
    ear = Ear()

    async def leave_in_the_middle() -> None:
        transport = await started(tmp_path, "child('one', session=True, deaf=True); note('cli'); live()", ear)
        lives.extend([await life_of(tmp_path, "one"), await life_of(tmp_path, "cli")])
        rungs: list[str] = []
        stopping = asyncio.get_running_loop().create_task(transport.stop(patience=3600, on_rung=rungs.append))
        await until(lambda: rungs, "the first rung")
        assert not stopping.done()

    asyncio.run(leave_in_the_middle())
    assert [end.code for end in ear.ends] == [-9]
    for life in lives:
        wait_until(lambda life=life: not life.goes_on)  # type: ignore[misc]


# Threads and parents


def test_it_works_in_a_loop_that_does_not_run_in_the_main_thread(tmp_path: Path) -> None:
    """ours: asyncio's own child watchers did not, for long."""
    told: list[object] = []

    async def whole_life() -> None:
        ear = Ear()
        transport = await started(tmp_path, "os.write(1, os.read(0, 100)); until_eof(); os._exit(4)", ear)
        transport.send(b"hello\n")
        told.append(await ear.hears(6))
        told.append((await transport.stop()).code)

    thread = threading.Thread(target=lambda: asyncio.run(whole_life()))
    thread.start()
    thread.join(GUARD)
    assert told == [b"hello\n", 4]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
async def test_it_gets_term_when_we_are_killed(tmp_path: Path) -> None:
    """ours: not even SIGKILL of the controller leaves a CLI behind."""
    program = "def on_term(*_): note('heard-term'); os._exit(0)\nsignal.signal(signal.SIGTERM, on_term); note('cli'); live()"
    script = f"""
        import asyncio
        async def main():
            await StdioTransport(python(Path({str(tmp_path)!r}), {program!r})).start(Ear())
            await asyncio.sleep(3600)
        asyncio.run(main())
    """
    controller = subprocess.Popen([sys.executable, "-c", script_of(script)], cwd=ROOT)
    cli = await life_of(tmp_path, "cli")
    controller.kill()
    controller.wait()
    await until((tmp_path / "heard-term").exists, "TERM to be heard")
    await until(lambda: not cli.goes_on, "the CLI to be gone")
    end_by_hand(cli)


def test_one_whose_parent_died_before_the_order_was_given_leaves_by_itself() -> None:
    """ours: between fork and exec nobody else would tell it."""
    script = """
        from ropewalk.transports.parent_death import die_with_parent
        order = die_with_parent()
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent: pass
            order()
            print("survived", flush=True)
    """
    assert run_python(script) == ""


def script_of(text: str) -> str:
    lines = text.splitlines()
    imports = """
import os
from pathlib import Path
from ropewalk.transports.descendants import stat_of
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.stdio import StdioTransport
from tests.contract.listening import Ear
from tests.transports.families import python
"""
    return imports + "\n".join(line[8:] for line in lines)


def run_python(text: str) -> str:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", script_of(text)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=GUARD,
        check=True,
        cwd=ROOT,
    ).stdout


def wait_until(condition: Callable[[], bool]) -> None:
    asyncio.run(until(condition, "a process to be gone"))
