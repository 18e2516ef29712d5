"""A runner with real CLIs and one hub: starting, hearing, writing once, stopping, refusing. Real processes and signals."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ropewalk.errors import CliNotFound, FolderMissing, LinkBroken, SessionGone, UsageError
from ropewalk.sim.claude import ledger
from ropewalk.transports.descendants import stat_of
from ropewalk.transports.environment import MARKER
from ropewalk.transports.launch import Launch
from tests.runner.world import GUARD, QUICK, LineEar, World, until, world_in
from tests.transports.families import life_of

pytestmark = pytest.mark.slow

ECHO = """
while line := sys.stdin.buffer.readline():
    os.write(1, b"heard " + line)
"""
DEAF = "note('deaf'); live()"


def prompt(text: str) -> bytes:
    message = {"type": "user", "session_id": "", "parent_tool_use_id": None, "message": {"role": "user", "content": text}}
    return json.dumps(message).encode() + b"\n"


# Lines


async def test_a_whole_turn_of_the_scripted_cli_arrives_line_by_line_and_byte_by_byte(world: World, tmp_path: Path) -> None:
    """ours: compared with the ledger of the CLI's own side."""
    link = await world.hub()
    book = tmp_path / "ledger"
    await link.start_process("p1", world.sim(book), ear := LineEar())
    link.write("p1", "prompt-1", prompt("hello"))
    await until(lambda: b'"type":"result"' in ear.heard, "a result")
    link.close_input("p1")
    await ear.hears_the_end()
    out = [entry.line for entry in ledger.read(book) if entry.direction == "out"]
    assert [line.rstrip(b"\n") for line in out if line is not None] == ear.all
    assert ear.ends[0][1] == len(out)
    assert ear.keys == ["prompt-1"]
    assert not ear.wrong


async def test_a_line_of_many_pieces_and_one_without_end_arrive_whole(world: World) -> None:
    """ours: larger than a pipe, than a piece, than a frame; the last without a line feed."""
    link = await world.hub()
    program = 'os.write(1, b"a" * 10 + b"\\n"); os.write(1, b"b" * 3_000_000 + b"\\r\\n\\n"); os.write(1, b"c")'
    await link.start_process("p1", world.cli(program.replace("os.write(1, ", "sys.stdout.buffer.write(")), ear := LineEar())
    await ear.hears_the_end()
    assert ear.all == [b"a" * 10, b"b" * 3_000_000 + b"\r", b"", b"c"]


async def test_a_line_past_the_cap_is_dropped_by_name_and_the_cli_goes_on(tmp_path: Path) -> None:
    """ours: the size so far and how it began; neighbours keep their numbers."""
    async with world_in(tmp_path, "--line-limit=100000") as world:
        link = await world.hub()
        program = 'w = sys.stdout.buffer.write; w(b"one\\n"); w(b"z" * 5_000_000); w(b"\\nthree\\n")'
        await link.start_process("p1", world.cli(program), ear := LineEar())
        await ear.hears_the_end()
        assert ear.all == [b"one", b"three"]
        ((first, count, size, beginning, why),) = ear.drops
        assert (first, count, beginning) == (2, 1, b"z" * 200)
        assert size > 100_000
        assert "too long" in why


@pytest.mark.slow
async def test_a_line_of_exactly_64_mib_passes_and_one_byte_more_is_dropped(world: World) -> None:
    """ours."""
    link = await world.hub()
    program = 'w = sys.stdout.buffer.write; n = 64 * 1024 * 1024; w(b"x" * n + b"\\n"); w(b"y" * (n + 1) + b"\\n"); w(b"end\\n")'
    await link.start_process("p1", world.cli(program), ear := LineEar())
    await ear.hears_the_end()
    assert [len(line) for line in ear.all] == [64 * 1024 * 1024, 3]
    assert [(first, count) for first, count, *_ in ear.drops] == [(2, 1)]


async def test_an_endless_line_is_told_while_it_comes(tmp_path: Path) -> None:
    """ours: it may never end; nobody waits for that."""
    async with world_in(tmp_path, "--line-limit=100000") as world:
        link = await world.hub()
        await link.start_process("p1", world.cli("while True: os.write(1, b'x' * 60000)"), ear := LineEar(), graces=QUICK)
        await until(lambda: ear.drops, "the dropped line")
        await link.stop("p1", patience=0)


# Starting


@pytest.mark.parametrize(
    ("launch", "error"),
    [
        (Launch(("/no/such/claude",), (), "/", {}), CliNotFound),
        (Launch(("/bin/sh",), (), "/no/such/folder", {}), FolderMissing),
        (Launch(("/bin/sh",), ("two\nlines",), "/", {}), UsageError),
    ],
    ids=["no program", "no folder", "line break"],
)
async def test_a_start_that_fails_says_whose_fault_it_is_and_leaves_nothing(world: World, launch: Launch, error: type) -> None:
    """ours: the same errors as without a runner, in the same words."""
    link = await world.hub()
    with pytest.raises(error) as failure:
        await link.start_process("p1", launch, LineEar())
    assert type(failure.value) is error
    assert os.listdir(Path(world.place.spool, "processes")) == []
    await link.start_process("p1", world.cli(ECHO), LineEar())  # the id is free


async def test_an_id_is_used_once_and_a_claimed_session_runs_once(world: World) -> None:
    """ours: guarded at the one place that spawns."""
    link = await world.hub()
    await link.start_process("p1", world.cli(ECHO), LineEar(), claim="session-1")
    with pytest.raises(UsageError, match="p1 already"):
        await link.start_process("p1", world.cli(ECHO), LineEar())
    with pytest.raises(UsageError, match=r"^already run by process p1: the CLI's session session-1"):
        await link.start_process("p2", world.cli(ECHO), LineEar(), claim="session-1")
    await link.stop("p1")
    await link.start_process("p3", world.cli(ECHO), LineEar(), claim="session-1")


@pytest.mark.parametrize("process", ["../p", "", ".", "a/b", "x" * 101, "-p"])
async def test_an_id_that_is_no_plain_name_is_refused(world: World, process: str) -> None:
    """ours (S41): it becomes a folder's name."""
    link = await world.hub()
    with pytest.raises(UsageError, match="process id"):
        await link.start_process(process, world.cli(ECHO), LineEar())


async def test_the_clis_environment_is_what_the_hub_said_and_a_marker(world: World) -> None:
    """ours (S27): nothing of the runner's own environment, nor of the hub's; signals and umask are as usual."""
    link = await world.hub()
    program = (
        "import json; print(json.dumps([dict(os.environ), os.umask(0), open('/proc/self/status').read()]), flush=True); live()"
    )
    started = await link.start_process("p1", world.cli(program, A="b"), ear := LineEar(), graces=QUICK)
    environment, umask, status = json.loads((await ear.hears(1))[0])
    assert environment.pop("LC_CTYPE", "C.UTF-8") == "C.UTF-8"  # python sets it for itself
    assert link.welcome is not None
    assert environment == {"A": "b", MARKER: f"{link.welcome.runner}:p1"}
    ours = os.umask(0)
    os.umask(ours)
    assert umask == ours
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    assert int(ignored, 16) & ((1 << 0) | (1 << 1)) == 0  # HUP and INT are not ignored
    seen = stat_of(started.pid)
    assert seen is not None
    assert (seen.seen.start, seen.session) == (started.start_time, started.pid)
    await link.stop("p1", patience=0)


async def test_a_folder_and_a_variable_that_are_no_utf_8_reach_the_cli_as_they_are(world: World) -> None:
    """ours: names are the system's bytes; half an emoji is the caller's mistake."""
    link = await world.hub()
    launch = world.cli("print(os.fsencode(os.getcwd()).hex(), os.environb[b'A'].hex())", A=os.fsdecode(b"\xe9"))
    odd = os.path.join(os.fsencode(world.folder), b"caf\xe9")
    os.mkdir(odd)
    await link.start_process("p1", dataclasses.replace(launch, cwd=os.fsdecode(odd)), ear := LineEar())
    await ear.hears_the_end()
    assert ear.all == [f"{odd.hex()} e9".encode()]
    with pytest.raises(UsageError, match="no process can be given"):
        await link.start_process("p2", dataclasses.replace(launch, args=("\ud83e",)), LineEar())


# Writing


async def test_a_key_is_written_once_whatever_happens_in_between(world: World) -> None:
    """ours: a hub that does not know may write again; the CLI hears it once."""
    link = await world.hub()
    await link.start_process("p1", world.cli(ECHO), ear := LineEar())
    for _ in range(3):
        link.write("p1", "k1", b"one\n")
    await ear.hears(1)
    await link.close()
    link = await world.hub(2)
    link.attach("p1", 0, again := LineEar())
    link.write("p1", "k1", b"one\n")
    link.write("p1", "k2", b"two\n")
    assert await again.hears(2) == [b"heard one", b"heard two"]
    await until(lambda: again.keys == ["k1", "k2"], "both told as written")
    assert await link.keys("p1") == {"k1", "k2"}
    link.close_input("p1")
    await again.hears_the_end()
    assert len(again.all) == 2


async def test_a_cli_that_does_not_read_hurts_nobody_and_its_writes_can_be_taken_back(world: World) -> None:
    """ours (F18): bounded by bytes, refused in words, others go on."""
    link = await world.hub()
    await link.start_process("deaf", world.cli(DEAF), deaf := LineEar(), graces=QUICK)
    await link.start_process("echo", world.cli(ECHO), echo := LineEar())
    big = b"x" * (30 * 1024 * 1024)
    for key in ("a", "b", "c"):
        link.write("deaf", key, big)
    link.write("echo", "hello", b"hello\n")
    assert await echo.hears(1) == [b"heard hello"]
    await until(lambda: deaf.refused, "the third to be refused")
    assert "does not read" in deaf.refused["c"]
    assert await link.unwrite("deaf", "b") is True
    assert await link.unwrite("deaf", "a") is False
    assert await link.keys("deaf") == {"a"}
    assert deaf.keys == []
    await link.stop("deaf", patience=0)
    await deaf.hears_the_end()


async def test_writes_arrive_in_order_after_a_long_wait(world: World) -> None:
    """ours: what waits is handed over when the CLI reads at last, whole and in order."""
    link = await world.hub()
    program = """
note('there')
while not os.path.exists('go'): time.sleep(0.01)
while line := sys.stdin.buffer.readline(): print(line[:5].decode().strip(), len(line), flush=True)
"""
    await link.start_process("p1", world.cli(program), ear := LineEar())
    for number in range(5):
        link.write("p1", f"k{number}", b"%d " % number + b"x" * (number * 100_000) + b"\n")
    link.close_input("p1")
    (world.folder / "go").touch()
    await ear.hears_the_end()
    assert [line.split()[0] + line.split()[-1] for line in ear.all] == [
        b"%d%d" % (number, number * 100_000 + 3) for number in range(5)
    ]
    assert ear.keys == [f"k{number}" for number in range(5)]


async def test_a_write_to_one_that_has_ended_is_refused_with_its_end(world: World) -> None:
    """ours: a dead session says that it is dead."""
    link = await world.hub()
    await link.start_process("p1", world.cli("sys.exit(7)"), ear := LineEar())
    await ear.hears_the_end()
    link.attach("p1", 0, late := LineEar())
    link.write("p1", "k", b"x\n")
    await late.hears_the_end()
    assert late.ends[0][0].code == 7
    with pytest.raises(SessionGone):
        await link.keys("p2")


# Ending


async def test_an_end_is_told_until_it_is_forgotten(world: World) -> None:
    """ours: a hub that was away learns of every end, with code and last words."""
    link = await world.hub()
    await link.start_process("p1", world.cli("print('said'); sys.stderr.write('last words\\n'); sys.exit(3)"), ear := LineEar())
    await ear.hears_the_end()
    await link.close()
    link = await world.hub(2)
    (report,) = world.ups[-1]
    assert (report.alive, report.code, report.stderr, report.first, report.last) == (False, 3, ("last words",), 1, 1)
    link.attach("p1", 0, again := LineEar())
    assert (await again.hears_the_end()).code == 3
    assert again.all == [b"said"]
    link.forget("p1")
    await until(lambda: os.listdir(Path(world.place.spool, "processes")) == [], "the spool to be deleted")
    await link.close()
    await world.hub(3)
    assert world.ups[-1] == []


async def test_one_that_lives_can_not_be_forgotten(world: World) -> None:
    """ours."""
    link = await world.hub()
    await link.start_process("p1", world.cli(ECHO), LineEar())
    link.forget("p1")
    await link.close()
    await world.hub(2)
    assert [report.process for report in world.ups[-1]] == ["p1"]


async def test_the_ladder_is_told_rung_by_rung_and_leaves_no_descendant(world: World) -> None:
    """ours (G14): own session, double fork, ignoring TERM."""
    link = await world.hub()
    program = """
child('setsid', session=True); child('twice', session=True, twice=True, pipes=False)
signal.signal(signal.SIGTERM, signal.SIG_IGN); child('deaf', deaf=True)
note('cli'); live()
"""
    await link.start_process("p1", world.cli(program), ear := LineEar(), graces=QUICK)
    lives = [await life_of(world.folder, name) for name in ("cli", "setsid", "twice", "deaf")]
    accounts = await link.accounts()
    assert [(account.process, account.descendants) for account in accounts] == [("p1", 3)]
    assert accounts[0].memory > 4 * 1024 * 1024
    end = await link.stop("p1", patience=0.05)
    assert ear.rungs == ["input closed", "terminate", "kill", "survivors"]
    assert end.code == -9
    assert not any(life.goes_on for life in lives)
    await ear.hears_the_end()


async def test_what_a_cli_leaves_behind_when_it_ends_by_itself_is_ended_too(world: World) -> None:
    """ours: nobody has to ask for it."""
    link = await world.hub()
    program = "child('left', session=True, pipes=False)\nwhile not os.path.exists('left'): time.sleep(0.01)\nsys.exit(0)"
    await link.start_process("p1", world.cli(program), ear := LineEar(), graces=QUICK)
    life = await life_of(world.folder, "left")
    await ear.hears_the_end()
    await until(lambda: not life.goes_on, "the child to be ended")


async def test_term_ends_all_clis_and_the_spool_keeps_what_they_said(tmp_path: Path) -> None:
    """ours: the runner's own end is graceful, and exit 0."""
    async with world_in(tmp_path, "--patience=0.1") as world:
        link = await world.hub()
        await link.start_process("p1", world.cli("print('one', flush=True); note('cli'); live()"), LineEar(), graces=QUICK)
        life = await life_of(world.folder, "cli")
        await link.close()
        assert world.runner is not None
        world.runner.terminate()
        assert await asyncio.to_thread(world.runner.wait, GUARD) == 0
        assert not life.goes_on
        assert not os.path.exists(world.place.socket)
        await world.start()
        link = await world.hub(2)
        link.attach("p1", 0, ear := LineEar())
        await ear.hears_the_end()
        assert ear.all == [b"one"]


async def test_an_idle_runner_ends_by_itself_but_not_with_a_cli(tmp_path: Path) -> None:
    """ours: the CLI takes several times as long as the runner would wait, and nobody is there to see it."""
    async with world_in(tmp_path, "--idle-exit=0.1") as world:
        link = await world.hub()
        await link.start_process("p1", world.cli("time.sleep(0.7); note('done')"), LineEar())
        await link.close()
        assert world.runner is not None
        assert await asyncio.to_thread(world.runner.wait, GUARD) == 0
        assert (world.folder / "done").exists()


# Who may speak


async def test_a_newer_hub_takes_over_and_an_older_one_is_turned_away_for_ever(world: World) -> None:
    """ours: frames are fenced by epoch, also over a restart of the runner."""
    old = await world.hub(5)
    await old.start_process("p1", world.cli(ECHO), ear := LineEar())
    new = await world.hub(6)
    await until(lambda: not old.up, "the old hub to be cut off")
    assert old.fenced == 6
    assert "newer hub" in world.downs[0]
    with pytest.raises(LinkBroken, match="newer hub"):
        old.write("p1", "late", b"late\n")
    with pytest.raises(LinkBroken, match="newer hub"):
        await world.hub(5)
    new.attach("p1", 0, heard := LineEar())
    new.write("p1", "k", b"x\n")
    assert await heard.hears(1) == [b"heard x"]
    assert ear.heard == b""
    await new.close()
    world.kill()
    await world.start()
    with pytest.raises(LinkBroken, match="newer hub"):
        await world.hub(5)


async def test_the_socket_is_ours_alone_and_garbage_at_it_changes_nothing(world: World) -> None:
    """ours: 0600 in 0700; a stranger that says no hello gets no answer."""
    assert stat.S_IMODE(os.stat(world.place.socket).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(world.place.folder).st_mode) == 0o700
    link = await world.hub()
    for said in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(3000)):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(world.place.socket)
            stranger.sendall(said)
            stranger.settimeout(GUARD)
            try:
                answer = await asyncio.to_thread(stranger.recv, 100)
            except ConnectionResetError:
                answer = b""
            assert answer == b""
    await link.start_process("p1", world.cli(ECHO), LineEar())


async def test_a_second_runner_on_the_same_folder_steps_back(world: World) -> None:
    """ours: a lock, not a guess."""
    words = [sys.executable, "-m", "ropewalk.runner", f"--socket={world.place.socket}2", f"--spool={world.place.spool}"]
    second = await asyncio.to_thread(subprocess.run, words, capture_output=True, timeout=GUARD, check=False)
    assert second.returncode == 0
    assert b"another runner serves" in second.stderr
    assert not os.path.exists(f"{world.place.socket}2")


async def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    """ours (S7, S41)."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o755)
    words = [sys.executable, "-m", "ropewalk.runner", f"--socket={folder}/s", f"--spool={folder}/spool"]
    refused = await asyncio.to_thread(subprocess.run, words, capture_output=True, timeout=GUARD, check=False)
    assert refused.returncode == 1
    assert b"open to other users" in refused.stderr
