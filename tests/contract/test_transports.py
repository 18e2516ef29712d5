"""What every transport promises (``transports.base``), shown over each of them by one suite. Knows rigs, no implementation."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ropewalk.errors import LocalProtocolError, SessionGone
from tests.contract.listening import GUARD, Belongings, Ear, until
from tests.contract.rig import Rig
from tests.contract.rigs import RIGS

MEGABYTE = bytes(range(256)) * 4096
MORE_THAN_A_PIPE = 4 * len(MEGABYTE)


@pytest.fixture(params=RIGS)
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """Also a test: descriptors, tasks and children are afterwards what they were before."""
    before = Belongings.now()
    rig = RIGS[request.param](tmp_path)
    yield rig
    await rig.close()
    await before.are_all()


async def a_few_rounds() -> None:
    """Give the loop every chance to do what it should not do."""
    for _ in range(20):
        await asyncio.sleep(0)


# Bytes


async def test_what_is_sent_arrives_whole_and_in_order(rig: Rig) -> None:
    """ours: lines must not change places."""
    await rig.start(Ear())
    lines = [b"%d " % number + b"x" * (number * 37 % 3000) + b"\n" for number in range(500)]
    for line in lines:
        rig.transport.send(line)
    assert await rig.hear(sum(map(len, lines))) == b"".join(lines)


@pytest.mark.parametrize("chunk", [1, 7, 4096, 65537])
async def test_what_is_said_arrives_whole_and_in_order_however_it_is_cut(rig: Rig, chunk: int) -> None:
    """seed: a chunk is not a line."""
    await rig.start(ear := Ear())
    said = MEGABYTE[: chunk * 300]
    await rig.say(said, chunk)
    assert await ear.hears(len(said)) == said


async def test_both_sides_can_speak_at_length_at_the_same_time(rig: Rig) -> None:
    """seed: stdin stays open for answers without deadlock, with large outputs (seed 004 takes a terminal for that)."""
    await rig.start(ear := Ear())
    rig.transport.send(MEGABYTE)
    await rig.say(MEGABYTE)
    assert await rig.hear(len(MEGABYTE)) == MEGABYTE
    assert await ear.hears(len(MEGABYTE)) == MEGABYTE


async def test_an_answer_sent_from_within_the_receiver_reaches_the_cli(rig: Rig) -> None:
    """ours: questions are answered in the same callback that brought them."""
    await rig.start(ear := Ear(lambda data: rig.transport.send(b"answer to " + data)))
    await rig.say(b"q1\n")
    await ear.hears(3)
    assert await rig.hear(13) == b"answer to q1\n"


# A CLI that does not read


@pytest.mark.slow
async def test_a_cli_that_does_not_read_never_blocks_the_sender(rig: Rig) -> None:
    """seed 004: no deadlock. What it has not read is counted, kept, and handed over when it reads."""
    await rig.start(Ear())
    for _ in range(4):
        rig.transport.send(MEGABYTE)
    assert rig.transport.unsent > 2 * len(MEGABYTE)
    assert await rig.hear(MORE_THAN_A_PIPE) == MEGABYTE * 4
    await until(lambda: rig.transport.unsent == 0, "nothing unsent")


@pytest.mark.slow
async def test_drain_waits_until_the_cli_has_taken_what_was_sent(rig: Rig) -> None:
    """ours."""
    await rig.start(Ear())
    await rig.transport.drain()
    rig.transport.send(MEGABYTE * 4)
    async with asyncio.TaskGroup() as group:
        draining = group.create_task(rig.transport.drain())
        await a_few_rounds()
        assert not draining.done()
        await rig.hear(MORE_THAN_A_PIPE)
    assert rig.transport.unsent == 0


@pytest.mark.slow
async def test_draining_can_be_given_up_and_nothing_is_lost_by_it(rig: Rig) -> None:
    """ours."""
    await rig.start(Ear())
    rig.transport.send(MEGABYTE * 4)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rig.transport.drain(), 0.05)
    assert await rig.hear(MORE_THAN_A_PIPE) == MEGABYTE * 4


async def test_drain_fails_when_the_end_comes_first(rig: Rig) -> None:
    """ours: a dead process fails every waiter at once, with the exit code and its last words."""
    await rig.start(Ear())
    rig.transport.send(MEGABYTE * 4)
    draining = asyncio.gather(rig.transport.drain(), rig.transport.drain(), return_exceptions=True)
    await a_few_rounds()
    await rig.exit(4, ["oh no"])
    for failure in await asyncio.wait_for(draining, GUARD):
        assert isinstance(failure, SessionGone)
        assert (failure.exit_code, failure.stderr) == (4, ("oh no",))
    with pytest.raises(SessionGone):
        await rig.transport.drain()


# A receiver that does not read


async def test_a_paused_receiver_hears_nothing_and_the_cli_has_to_wait(rig: Rig) -> None:
    """ours: back-pressure reaches the CLI; nothing is lost by it."""
    await rig.start(ear := Ear())
    await rig.say(b"before")
    await ear.hears(6)
    rig.transport.pause()
    await rig.say(b"after")
    await a_few_rounds()
    assert ear.heard == b"before"
    rig.transport.resume()
    assert await ear.hears(11) == b"beforeafter"


async def test_a_pause_in_the_middle_of_much_loses_nothing(rig: Rig) -> None:
    """ours."""
    heard_at_pause: list[int] = []

    def pause_once(data: bytes) -> None:
        if not heard_at_pause:
            rig.transport.pause()
            heard_at_pause.append(len(ear.heard))

    await rig.start(ear := Ear(pause_once))
    async with asyncio.TaskGroup() as group:
        saying = group.create_task(rig.say(MEGABYTE * 4, 5000))
        await until(lambda: heard_at_pause, "the pause")
        await a_few_rounds()
        assert len(ear.heard) == heard_at_pause[0]
        assert not saying.done()
        rig.transport.resume()
    assert await ear.hears(MORE_THAN_A_PIPE) == MEGABYTE * 4


async def test_pause_and_resume_may_be_called_again(rig: Rig) -> None:
    """ours."""
    await rig.start(ear := Ear())
    rig.transport.pause()
    rig.transport.pause()
    rig.transport.resume()
    rig.transport.resume()
    await rig.say(b"x")
    assert await ear.hears(1) == b"x"


async def test_the_end_is_told_to_a_paused_receiver_after_all_that_was_said(rig: Rig) -> None:
    """ours: nobody may wait for ever for a CLI that is dead."""
    await rig.start(ear := Ear())
    rig.transport.pause()
    await rig.say(b"last words")
    await rig.exit(0)
    await ear.hears_the_end()
    assert ear.heard == b"last words"


async def test_a_receiver_that_pauses_at_every_piece_hears_all_and_one_end(rig: Rig) -> None:
    """ours: at the end nobody is there any more to be slowed down."""
    await rig.start(ear := Ear(lambda data: rig.transport.pause()))
    await rig.say(b"x" * 60_000, 20_000)
    await rig.exit(0)
    await ear.hears_the_end()
    assert len(ear.heard) == 60_000
    await rig.transport.stop()
    assert len(ear.ends) == 1
    assert not ear.after_the_end


# The end


async def test_the_end_comes_once_and_last_with_code_and_last_words(rig: Rig) -> None:
    """ours: process exit is told with the exit code and the stderr tail."""
    await rig.start(ear := Ear())
    await rig.say(MEGABYTE)
    await rig.exit(3, ["first", "\x1b[31mlast\x1b[0m"])
    end = await ear.hears_the_end()
    assert (end.code, end.stderr) == (3, ("first", "\x1b[31mlast\x1b[0m"))
    assert "3" in end.why
    assert rig.transport.end is end
    assert bytes(ear.heard) == MEGABYTE
    rig.transport.resume()
    rig.transport.pause()
    rig.transport.close_input()
    await rig.transport.stop()
    assert ear.ends == [end]
    assert not ear.after_the_end


async def test_only_the_last_two_hundred_lines_of_stderr_are_kept(rig: Rig) -> None:
    """ours."""
    await rig.start(ear := Ear())
    await rig.exit(1, [f"line {number}" for number in range(1000)])
    assert (await ear.hears_the_end()).stderr == tuple(f"line {number}" for number in range(800, 1000))


async def test_the_end_is_known_when_it_is_told(rig: Rig) -> None:
    """ours: who asks the transport from within ``ended`` gets the same answer."""
    known = []

    class Asking(Ear):
        def ended(self, end: object) -> None:
            known.append(rig.transport.end is end)
            with pytest.raises(SessionGone):
                rig.transport.send(b"too late\n")
            known.append(True)

    await rig.start(Asking())
    await rig.exit(0)
    await until(lambda: known, "the end")
    assert known == [True, True]


async def test_sending_after_the_end_says_why_it_can_not_be(rig: Rig) -> None:
    """ours: a dead session says that it is dead: every later call fails at once with the reason."""
    await rig.start(ear := Ear())
    await rig.exit(7, ["no such session"])
    await ear.hears_the_end()
    with pytest.raises(SessionGone, match="no such session") as failure:
        rig.transport.send(b"anybody there?\n")
    assert (failure.value.exit_code, failure.value.stderr) == (7, ("no such session",))


# Closing the input


async def test_the_input_is_closed_after_what_was_sent(rig: Rig) -> None:
    """measured (2.1.37 … 2.1.326): closing stdin is the way to end a CLI; it must have heard everything before."""
    await rig.start(ear := Ear())
    await rig.disobey("input closed")
    rig.transport.send(MEGABYTE)
    rig.transport.close_input()
    rig.transport.close_input()
    with pytest.raises(SessionGone):
        rig.transport.send(b"one more\n")
    assert await rig.hear_end() == MEGABYTE
    await rig.say(b"still here")
    assert await ear.hears(10) == b"still here"


async def test_a_cli_ends_by_itself_when_its_input_is_closed(rig: Rig) -> None:
    """measured (2.1.37 … 2.1.326): exit code 0, and nobody had to be stopped."""
    await rig.start(ear := Ear())
    rig.transport.close_input()
    assert (await ear.hears_the_end()).code == 0


# Stopping


async def test_a_cli_that_obeys_is_stopped_by_closing_its_input_alone(rig: Rig) -> None:
    """ours: the transcript is flushed then."""
    await rig.start(ear := Ear())
    rungs: list[str] = []
    end = await asyncio.wait_for(rig.transport.stop(on_rung=rungs.append), GUARD)
    assert rungs == ["input closed"]
    assert ear.ends == [end]
    assert end.code == 0


async def test_the_ladder_is_climbed_only_as_far_as_it_must(rig: Rig) -> None:
    """ours: each rung visible, each bounded."""
    await rig.start(Ear())
    await rig.disobey("input closed")
    rungs: list[str] = []
    end = await asyncio.wait_for(rig.transport.stop(patience=0.05, on_rung=rungs.append), GUARD)
    assert rungs == ["input closed", "terminate"]
    assert end.code in (-15, 143)


@pytest.mark.slow
async def test_a_cli_that_ignores_everything_is_killed(rig: Rig) -> None:
    """ours: the ladder ends in KILL."""
    await rig.start(ear := Ear())
    await rig.disobey("input closed", "terminate")
    rungs: list[str] = []
    end = await asyncio.wait_for(rig.transport.stop(patience=0.05, on_rung=rungs.append), GUARD)
    assert rungs == ["input closed", "terminate", "kill"]
    assert (end.code, ear.ends) == (-9, [end])


async def test_a_cli_that_does_not_even_read_is_stopped_all_the_same(rig: Rig) -> None:
    """ours: its input can't be closed while it does not take what was sent before."""
    await rig.start(Ear())
    rig.transport.send(MEGABYTE)
    rungs: list[str] = []
    await asyncio.wait_for(rig.transport.stop(patience=0.05, on_rung=rungs.append), GUARD)
    assert rungs == ["input closed", "terminate"]


async def test_stopping_again_gives_the_same_end_at_once(rig: Rig) -> None:
    """ours: anyone may stop, at any time, and again."""
    await rig.start(ear := Ear())
    end = await rig.transport.stop()
    rungs: list[str] = []
    assert await rig.transport.stop(on_rung=rungs.append) is end
    assert (ear.ends, rungs) == ([end], [])


@pytest.mark.slow
async def test_those_who_stop_at_the_same_time_share_one_ladder(rig: Rig) -> None:
    """ours: TERM is sent once, however many ask."""
    await rig.start(ear := Ear())
    await rig.disobey("input closed")
    rungs: list[str] = []
    ends = await asyncio.gather(*(rig.transport.stop(patience=0.1, on_rung=rungs.append) for _ in range(3)))
    assert sorted(rungs) == ["input closed"] * 3 + ["terminate"] * 3
    assert ends == ear.ends * 3


async def test_one_who_has_less_patience_hurries_a_stop_that_is_under_way(rig: Rig) -> None:
    """ours: the second ^C must not wait for the patience of the first."""
    await rig.start(Ear())
    await rig.disobey("input closed")
    rungs: list[str] = []
    async with asyncio.timeout(GUARD), asyncio.TaskGroup() as group:
        group.create_task(rig.transport.stop(patience=3600, on_rung=rungs.append))
        await until(lambda: rungs, "the first rung")
        await rig.transport.stop(patience=0)
    assert rungs == ["input closed", "terminate"]


@pytest.mark.slow
async def test_a_stop_goes_on_when_its_caller_is_cancelled(rig: Rig) -> None:
    """ours: cleaning up survives cancellation."""
    await rig.start(ear := Ear())
    await rig.disobey("input closed")
    rungs: list[str] = []
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(rig.transport.stop(patience=0.2, on_rung=rungs.append), 0.05)
    end = await ear.hears_the_end()
    assert end.code in (-15, 143)
    assert rungs == ["input closed"]
    assert await rig.transport.stop() is end


async def test_a_listener_that_raises_does_not_break_the_ladder(rig: Rig) -> None:
    """ours: its error is the loop's to report."""
    reported: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(str(context["exception"])))
    await rig.start(Ear())

    def stumble(rung: str) -> None:
        raise ValueError(rung)

    assert (await rig.transport.stop(on_rung=stumble)).code == 0
    assert reported == ["input closed"]


async def test_what_is_said_while_it_is_stopped_is_still_heard(rig: Rig) -> None:
    """measured (2.1.37 … 2.1.326): after its input is closed a CLI finishes its turn, and the result comes then."""
    await rig.start(ear := Ear())
    await rig.disobey("input closed")
    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(rig.transport.stop(patience=GUARD))
        await rig.hear_end()
        await rig.say(b"result")
        await rig.exit(0)
    assert ear.heard == b"result"
    assert stopping.result().code == 0


async def test_one_that_ended_by_itself_can_still_be_stopped(rig: Rig) -> None:
    """ours: whoever closes does not know who was first."""
    await rig.start(ear := Ear())
    await rig.exit(5)
    end = await ear.hears_the_end()
    rungs: list[str] = []
    assert await rig.transport.stop(on_rung=rungs.append) is end
    assert rungs == []


# Order of calls


async def test_it_is_started_once(rig: Rig) -> None:
    """ours."""
    await rig.start(Ear())
    with pytest.raises(LocalProtocolError):
        await rig.transport.start(Ear())


async def test_nothing_can_be_sent_before_the_start(rig: Rig) -> None:
    """ours."""
    for act in (rig.transport.pause, rig.transport.resume, rig.transport.close_input):
        with pytest.raises(LocalProtocolError):
            act()
    with pytest.raises(LocalProtocolError):
        rig.transport.send(b"x\n")
    with pytest.raises(LocalProtocolError):
        await rig.transport.drain()
    assert (rig.transport.end, rig.transport.pid, rig.transport.unsent) == (None, None, 0)


async def test_one_that_was_stopped_before_it_was_started_stays_so(rig: Rig) -> None:
    """ours: a client that is closed while it is being opened must not leave a CLI behind."""
    end = await rig.transport.stop()
    assert rig.transport.end is end
    with pytest.raises(SessionGone):
        await rig.transport.start(ear := Ear())
    with pytest.raises(SessionGone):
        rig.transport.send(b"x\n")
    assert ear.ends == []
