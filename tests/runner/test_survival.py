"""Deaths: of the hub, of the runner, of both; a full disk, a stopped process, a flood. What was said is there once, in order."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from ropewalk.errors import LinkBroken
from ropewalk.sim.claude import ledger
from ropewalk.transports.descendants import stat_of
from ropewalk.transports.runner import LocalRunner, RunnerLink, spawn_local_runner
from tests.contract.listening import Belongings
from tests.runner import hub_process
from tests.runner.test_runner import DEAF, ECHO, prompt
from tests.runner.world import GUARD, QUICK, LineEar, World, until, world_in
from tests.transports.families import Life, life_of

pytestmark = pytest.mark.slow

COUNTING = """
n = 0
note('cli')
while n < {count}:
    n += 1
    sys.stdout.buffer.write(b'line %d ' % n + b'.' * (n * 37 % 700) + b'\\n')
    if n % 10 == 0: sys.stdout.flush(); time.sleep({pause})
sys.stdout.flush()
{after}
"""


def counted(count: int) -> list[bytes]:
    return [b"line %d " % n + b"." * (n * 37 % 700) for n in range(1, count + 1)]


def counting(count: int, pause: float = 0.0, after: str = "live()") -> str:
    return COUNTING.format(count=count, pause=pause, after=after)


def memory_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# The hub dies


async def until_it_has(path: Path, count: int, hub: subprocess.Popen[bytes]) -> None:
    """Wait until this hub has stored so many lines, or is done."""
    await until(
        lambda: hub.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= count), f"{count} stored lines"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_a_hub_that_is_killed_again_and_again_loses_no_line(world: World, tmp_path: Path, seed: int) -> None:
    """ours (G3): each line of the CLI's ledger is stored once, in order, byte-equal, over any number of kill -9."""
    chance = random.Random(seed)
    book, kept = tmp_path / "ledger", tmp_path / "stored"
    link = await world.hub(1)
    await link.start_process("p1", world.sim(book, words=600, pace=0.002), LineEar())
    link.write("p1", "k", prompt("say it"))
    link.close_input("p1")
    await link.close()
    words = [sys.executable, "-m", "tests.runner.hub_process", world.place.socket]
    have = 0
    for life in range(1, 60):
        hub = subprocess.Popen([*words, str(life + 1), "p1", str(kept)], cwd=Path(__file__).parents[2])
        have += chance.randint(1, 120)
        await until_it_has(kept, have, hub)
        if hub.poll() is not None:
            assert hub.returncode == 0
            break
        hub.send_signal(signal.SIGKILL)
        await asyncio.to_thread(hub.wait, GUARD)
        have = len(hub_process.stored_lines(str(kept)))
    rows = hub_process.stored_lines(str(kept))
    out = [entry.line.rstrip(b"\n") for entry in ledger.read(book) if entry.direction == "out" and entry.line is not None]
    assert len(out) > 600
    assert [number for number, _ in rows] == list(range(1, len(out) + 2))
    assert [bytes.fromhex(text) for _, text in rows[:-1]] == out
    assert rows[-1][1] == "end"


async def test_without_a_hub_the_cli_goes_on_and_its_lines_wait(world: World) -> None:
    """ours: kill the hub, turns go on."""
    link = await world.hub()
    await link.start_process("p1", world.cli(counting(500, after="note('done'); live()")), first := LineEar(), graces=QUICK)
    await first.hears(10)
    await link.close()
    await life_of(world.folder, "done")
    link = await world.hub(2)
    assert world.ups[-1][0].last <= 500
    link.attach("p1", first.next - 1, rest := LineEar(first.next - 1))
    await rest.hears(500)
    assert first.all + rest.all == counted(500)
    await link.stop("p1", patience=0)


async def test_a_link_that_breaks_goes_on_where_it_stopped(world: World) -> None:
    """ours: the same receiver, no line twice, none left out; what was asked meanwhile fails in words."""
    link = await world.hub()
    await link.start_process("p1", world.cli(counting(3000, 0.001, "sys.exit(0)")), ear := LineEar())
    for _ in range(5):
        await until(partial(_has_more, ear, ear.next + 20), "more lines")
        if link._dialled is not None:
            link._dialled.abort("cut by the test")
        with contextlib.suppress(LinkBroken):
            link.write("p1", "x", b"x\n")
        await until(lambda: link.up, "the link to be up again")
    await ear.hears_the_end()
    assert ear.all == counted(3000)
    assert len(world.downs) >= 1


def _has_more(ear: LineEar, than: int) -> bool:
    return ear.next > than or bool(ear.ends)


# The runner dies


async def test_a_runner_that_dies_takes_its_clis_with_it_and_the_next_one_tells_and_replays(world: World) -> None:
    """ours (F2, G4, G14): known within a second; own session, double fork, deaf to TERM; never two."""
    link = await world.hub()
    program = "child('setsid', session=True); child('twice', session=True, twice=True, pipes=False, deaf=True)\n" + counting(300)
    await link.start_process("p1", world.cli(program), ear := LineEar(), claim="s1")
    link.write("p1", "k1", b"x\n")
    lives = [await life_of(world.folder, name) for name in ("cli", "setsid", "twice")]
    await ear.hears(100)
    clock = asyncio.get_running_loop()
    world.kill()
    died = clock.time()
    await until(lambda: world.downs, "the hub to know")
    assert clock.time() - died < 1.0
    with pytest.raises(LinkBroken):
        link.write("p1", "k2", b"y\n")
    await world.start()
    await until(lambda: len(world.ups) > 1, "the link to be up again")
    assert not any(life.goes_on for life in lives)
    end = await ear.hears_the_end()
    assert "the runner died" in end.why
    assert ear.all == counted(len(ear.all))
    (report,) = world.ups[-1]
    assert (report.alive, report.keys) == (False, 1)
    assert await link.keys("p1") == {"k1"}
    await link.start_process("p2", world.cli(ECHO), LineEar(), claim="s1")
    link.forget("p1")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_hub_and_runner_killed_together_keep_all_that_was_spooled(world: World, tmp_path: Path, seed: int) -> None:
    """ours (G4, F3): either order; what is stored is the beginning of the CLI's own ledger, byte for byte, and then an end."""
    chance = random.Random(seed)
    book, kept = tmp_path / "ledger", tmp_path / "stored"
    link = await world.hub(1)
    await link.start_process("p1", world.sim(book, words=2000, pace=0.002), LineEar())
    link.write("p1", "k", prompt("say it"))
    await link.close()
    words = [sys.executable, "-m", "tests.runner.hub_process", world.place.socket]
    hub = subprocess.Popen([*words, "2", "p1", str(kept)], cwd=Path(__file__).parents[2])
    await until_it_has(kept, chance.randint(5, 300), hub)
    for blow in chance.sample([world.kill, hub.kill], 2):
        blow()
    await asyncio.to_thread(hub.wait, GUARD)
    spooled = sum(path.stat().st_size for path in Path(world.place.spool).rglob("*.lines"))
    assert spooled > 0
    await world.start()
    last = subprocess.Popen([*words, "3", "p1", str(kept)], cwd=Path(__file__).parents[2])
    assert await asyncio.to_thread(last.wait, GUARD) == 0
    rows = hub_process.stored_lines(str(kept))
    assert [number for number, _ in rows] == list(range(1, len(rows) + 1))
    whole = [bytes.fromhex(text) for _, text in rows if text not in ("end", "dropped")]
    out = [entry.line.rstrip(b"\n") for entry in ledger.read(book) if entry.direction == "out" and entry.line is not None]
    assert whole == out[: len(whole)]
    assert len(rows) - len(whole) <= 2
    assert rows[-1][1] == "end"


async def test_what_a_runner_of_another_folder_started_is_left_alone(world: World, tmp_path: Path) -> None:
    """ours: the marker names the spool, too; the same process id in another state folder is somebody else's."""
    link = await world.hub()
    await link.start_process("p1", world.cli(counting(10)), LineEar(), graces=QUICK)
    life = await life_of(world.folder, "cli")
    other = tmp_path / "other"
    other.mkdir()
    async with world_in(other) as neighbour:
        theirs = await neighbour.hub()
        await theirs.start_process("p1", neighbour.cli(ECHO), LineEar())
        neighbour.kill()
        await neighbour.start()
        theirs_again = await neighbour.hub(2)
        theirs_again.attach("p1", 0, ear := LineEar())
        await ear.hears_the_end()
    assert life.goes_on
    await link.stop("p1", patience=0)


@pytest.mark.parametrize("cut", [1, 20, 40])
async def test_a_torn_spool_is_salvaged_with_a_count(world: World, cut: int) -> None:
    """ours (F12): the whole lines come, the rest is named."""
    link = await world.hub()
    await link.start_process(
        "p1", world.cli("for n in range(50): print('line', n, flush=True); time.sleep(0.001)\nlive()"), ear := LineEar()
    )
    await ear.hears(50)
    await link.close()
    world.kill()
    (segment,) = Path(world.place.spool, "processes", "p1").glob("*.lines")
    os.truncate(segment, segment.stat().st_size - cut)
    await world.start()
    link = await world.hub(2)
    assert link.welcome is not None
    assert "can't be read" in link.welcome.trouble
    link.attach("p1", 0, again := LineEar())
    await again.hears_the_end()
    assert 45 <= len(again.all) < 50
    assert again.all == [b"line %d" % n for n in range(len(again.all))]
    assert [(first, count) for first, count, *_ in again.drops] == [(len(again.all) + 1, 1)]


async def test_a_line_that_the_death_cut_is_named_not_told_as_whole(world: World) -> None:
    """ours: half a line is no line."""
    link = await world.hub()
    await link.start_process("p1", world.cli("os.write(1, b'whole\\nhalf of'); note('cli'); live()"), ear := LineEar())
    await life_of(world.folder, "cli")
    await ear.hears(1)
    await until(lambda: _spooled(world, b"half of"), "the half to be spooled")
    world.kill()
    await world.start()
    await ear.hears_the_end()
    assert ear.all == [b"whole"]
    ((first, count, size, beginning, why),) = ear.drops
    assert (first, count, size, beginning) == (2, 1, 7, b"half of")
    assert "died" in why


def _spooled(world: World, said: bytes) -> bool:
    return any(said in path.read_bytes() for path in Path(world.place.spool).rglob("*.lines"))


# Stopped processes, full disks, floods


@pytest.mark.slow
async def test_a_stopped_runner_counts_as_down_and_is_heard_again_when_it_goes_on(world: World) -> None:
    """ours (F6): said within 10 s; nothing lost."""
    link = await world.hub()
    await link.start_process("p1", world.cli(ECHO), ear := LineEar())
    world.kill(signal.SIGSTOP)
    await until(lambda: world.downs, "the hub to say that it does not hear it")
    assert "does not answer" in world.downs[0]
    world.kill(signal.SIGCONT)
    await until(lambda: link.up, "the link to be up again")
    link.write("p1", "k", b"x\n")
    assert await ear.hears(1) == [b"heard x"]


async def test_a_full_disk_makes_the_cli_wait_and_loses_nothing(world: World) -> None:
    """ours (F8): the runner says so, others can still be spoken to, and all goes on by itself when there is room again."""
    link = await world.hub()
    await link.start_process("p1", world.cli(counting(2000, after="sys.exit(0)")), ear := LineEar())
    await link.start_process("echo", world.cli(ECHO), echo := LineEar())
    assert world.runner is not None
    resource.prlimit(world.runner.pid, resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    await until(lambda: ear.holds, "the runner to say that it waits")
    assert "can't be written" in ear.holds[0]
    link.write("echo", "k", b"still there\n")
    assert await echo.hears(1) == [b"heard still there"]
    assert not ear.ends
    resource.prlimit(world.runner.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await ear.hears_the_end()
    assert ear.all == counted(2000)
    assert ear.holds[-1] == ""


async def test_a_full_spool_makes_the_cli_wait_until_a_hub_has_stored(tmp_path: Path) -> None:
    """ours: back-pressure on that CLI alone."""
    async with world_in(tmp_path, "--spool-limit=600000") as world:
        link = await world.hub()
        await link.start_process("p1", world.cli(counting(5000, after="sys.exit(0)")), ear := LineEar())
        await until(lambda: ear.holds, "the runner to say that it waits")
        assert "no hub has stored" in ear.holds[0]
        heard = ear.next
        while not ear.ends:
            link.stored("p1", ear.next - 1)
            await asyncio.sleep(0.005)
        assert 500 < heard < 5000
        assert ear.all == counted(5000)
        assert not ear.wrong


FLOOD = "chunk = b''.join(b'flood %d\\n' % n for n in range(6000))\nwhile True: os.write(1, chunk)"


@pytest.mark.slow
async def test_a_flood_without_a_hub_that_reads_costs_disk_not_memory(tmp_path: Path) -> None:
    """ours: a hub that hangs must not grow the runner; a quiet CLI beside it is heard at once when it is back."""
    async with world_in(tmp_path, "--spool-limit=200000000") as world:
        link = await world.hub()
        await link.start_process("quiet", world.cli(ECHO), LineEar())
        await link.start_process("flood", world.cli(FLOOD), ear := LineEar(), graces=QUICK)
        assert link._dialled is not None and link._dialled._transport is not None
        link._dialled._transport.pause_reading()
        assert world.runner is not None
        runner = world.runner
        spool = Path(world.place.spool, "processes", "flood")
        await until(lambda: sum(path.stat().st_size for path in spool.glob("*.lines")) > 190_000_000, "the spool to be full")
        assert memory_of(runner.pid) < 48 * 1024 * 1024
        await link.close()
        link = await world.hub(2)
        link.attach("flood", 0, ear := LineEar())
        link.attach("quiet", 0, quiet := LineEar())
        clock = asyncio.get_running_loop()
        began = clock.time()
        link.write("quiet", "k", b"hello\n")
        await quiet.hears(1)
        assert clock.time() - began < 5.0
        assert ear.heard.count(b"\n") < 20_000_000
        await link.stop("flood", patience=0)


async def test_a_deaf_cli_with_a_full_pipe_is_stopped_all_the_same(world: World) -> None:
    """ours (F18): bounded."""
    link = await world.hub()
    await link.start_process("deaf", world.cli(DEAF), ear := LineEar(), graces=QUICK)
    link.write("deaf", "k", b"x" * 10_000_000)
    link.write("deaf", "k2", b"y\n")
    end = await link.stop("deaf", patience=0.05)
    assert end.code in (-15, -9)
    await ear.hears_the_end()
    assert "k2" in ear.refused
    assert "k" not in ear.keys


# Finding and becoming


def ended_by_hand(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


async def test_a_local_runner_is_started_detached_found_again_and_made_once(tmp_path: Path) -> None:
    """ours: several hubs at once get one runner; it is nobody's child; however deep the folder lies."""
    folder = tmp_path / ("deep" * 20) / ("deeper" * 12)
    folder.parent.mkdir(parents=True)
    before = Belongings.now()
    places = await asyncio.gather(*(spawn_local_runner(folder) for _ in range(3)))
    assert set(places) == {LocalRunner.at(folder)}
    link = RunnerLink(places[0].socket, 1)
    await link.open(GUARD)
    assert link.welcome is not None
    pid = link.welcome.pid
    try:
        stat = stat_of(pid)
        assert stat is not None
        assert stat.parent not in (os.getpid(), 0)
        assert stat.session not in (os.getsid(0), pid)
        assert (await spawn_local_runner(folder)).socket == link.socket
        log = Path(places[0].log)
        assert log.stat().st_mode & 0o777 == 0o600
        assert log.read_text().count("listening at") == 1
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        assert b"ROPEWALK" not in environment
    finally:
        life = Life(pid)
        ended_by_hand(pid)
        await link.close()
        await until(lambda: not life.goes_on, "the runner to end")
    await before.are_all()


async def test_a_local_runner_that_can_not_start_says_why(tmp_path: Path) -> None:
    """ours: the end of its log, not a time-out."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / "spool").write_text("in the way")
    with pytest.raises(LinkBroken, match="spool"):
        await spawn_local_runner(folder)


async def test_a_runner_becomes_anew_in_place_and_its_clis_do_not_notice(world: World) -> None:
    """ours (F30): same pid, pipes, socket and spool; lines go on, a write that was half in the pipe arrives whole."""
    link = await world.hub()
    slow_reader = """
note('slow')
while not os.path.exists('go'): time.sleep(0.01)
for line in sys.stdin.buffer: print(len(line), flush=True)
"""
    await link.start_process(
        "talks", world.cli(counting(2000, 0.002, "sys.stderr.write('last\\n'); sys.exit(5)")), talks := LineEar()
    )
    await link.start_process("slow", world.cli(slow_reader), slow := LineEar())
    await link.start_process("gone", world.cli("print('before'); sys.stderr.write('words\\n'); sys.exit(4)"), gone := LineEar())
    await gone.hears_the_end()
    link.write("slow", "big", b"x" * 1_000_000 + b"\n")
    link.write("slow", "small", b"y\n")
    link.close_input("slow")
    await talks.hears(50)
    assert link.welcome is not None
    pid, epoch = link.welcome.pid, link.welcome.epoch
    for _ in range(3):
        await link.reexec(GUARD)
        assert (link.welcome.pid, link.welcome.epoch) == (pid, epoch)
    reports = {report.process: report for report in world.ups[-1]}
    assert (reports["gone"].alive, reports["gone"].code, reports["gone"].stderr) == (False, 4, ("words",))
    assert (reports["slow"].keys, reports["slow"].waiting) == (1, 2)
    link.write("slow", "big", b"x" * 1_000_000 + b"\n")
    (world.folder / "go").touch()
    await slow.hears_the_end()
    assert slow.all == [b"1000001", b"2"]
    end = await talks.hears_the_end()
    assert (end.code, end.stderr) == (5, ("last",))
    assert talks.all == counted(2000)


async def test_one_that_became_anew_holds_no_more_than_before_and_its_clis_still_die_with_it(world: World) -> None:
    """ours: descriptors neither leak into the next program nor to the CLIs; the kernel's order to end them stays."""
    link = await world.hub()
    await link.start_process(
        "p1", world.cli("print(sorted(os.listdir('/proc/self/fd')), flush=True); note('cli'); live()"), LineEar()
    )
    life = await life_of(world.folder, "cli")
    assert world.runner is not None
    await link.reexec(GUARD)
    await link.accounts()
    before = len(os.listdir(f"/proc/{world.runner.pid}/fd"))
    for _ in range(3):
        await link.reexec(GUARD)
        await link.accounts()
    assert len(os.listdir(f"/proc/{world.runner.pid}/fd")) <= before
    await link.start_process("p2", world.cli("print(len(os.listdir('/proc/self/fd')))"), ear := LineEar())
    await ear.hears_the_end()
    assert int(ear.all[0]) <= 4  # the three, and the listing itself
    await link.close()
    world.kill()
    await until(lambda: not life.goes_on, "the CLI to end with its runner")


async def test_a_program_that_does_not_start_is_not_become(world: World, tmp_path: Path) -> None:
    """ours: tried out first; the old one goes on."""
    assert world.runner is not None
    world.kill(signal.SIGTERM)
    await asyncio.to_thread(world.runner.wait, GUARD)
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\n[ -e {tmp_path}/broken ] && {{ echo "no such module" >&2; exit 1; }}\nexec {sys.executable} "$@"\n'
    )
    program.chmod(0o755)
    starter = f"import sys; sys.executable = {str(program)!r}; from ropewalk.runner.__main__ import main; sys.exit(main())"
    words = [sys.executable, "-c", starter, f"--socket={world.place.socket}", f"--spool={world.place.spool}"]
    world.runner = subprocess.Popen(words, cwd="/", stderr=subprocess.DEVNULL)
    link = await world.hub(2)
    await link.start_process("p1", world.cli(ECHO), ear := LineEar())
    (tmp_path / "broken").touch()
    with pytest.raises(LinkBroken, match="no such module"):
        await link.reexec(GUARD)
    link.write("p1", "k", b"x\n")
    assert await ear.hears(1) == [b"heard x"]
