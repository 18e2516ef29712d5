"""The spool: what was said comes back by number, byte for byte; what was lost is named, never guessed."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.runner.cursor import Cursor, Missing, Said
from ropewalk.runner.records import HEAD
from ropewalk.runner.spool import Spool


def chunks(said: bytes, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    cut: list[bytes] = []
    while said:
        size = chance.choice((1, 3, 17, 100, 1000))
        cut.append(said[:size])
        said = said[size:]
    return cut


def heard(spool: Spool, after: int, limit: int = 50) -> tuple[bytes, list[Missing]]:
    """All that a listener hears who has lines up to ``after``. Checks that each piece comes where it is due."""
    cursor = Cursor(spool, after)
    said, missing = bytearray(), []
    line, offset = after + 1, 0
    while not cursor.at_end:
        for item in cursor.read(limit):
            if isinstance(item, Missing):
                assert item.first == line
                missing.append(item)
                line, offset = item.first + item.lines, 0
                continue
            assert isinstance(item, Said)
            assert (item.line, item.offset) == (line, offset)
            said += item.data
            line += item.data.count(b"\n")
            offset = len(item.data) - item.data.rfind(b"\n") - 1 if b"\n" in item.data else offset + len(item.data)
    cursor.close()
    return bytes(said), missing


LINES = st.lists(st.binary(max_size=300).map(lambda line: line.replace(b"\n", b"\r") + b"\n"), max_size=40)


@given(LINES, st.integers(0, 1000), st.integers(0, 45), st.sampled_from([300, 2000, 10**6]))
def test_every_line_comes_back_from_any_number_on_however_it_was_cut(
    lines: list[bytes], seed: int, after: int, size: int
) -> None:
    """ours: newlines on bytes, no JSON; segments of any size."""
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder, segment=size)
        for chunk in chunks(b"".join(lines), seed):
            spool.append(chunk)
        assert spool.last == len(lines)
        assert heard(spool, min(after, len(lines))) == (b"".join(lines[after:]), [])
        spool.close()
        again = Spool.load(folder)
        assert (again.last, again.torn) == (len(lines), 0)
        assert heard(again, min(after, len(lines))) == (b"".join(lines[after:]), [])
        again.close()


@given(LINES, st.integers(0, 1000), st.integers(0, 40))
def test_what_is_acknowledged_goes_and_the_rest_stays(lines: list[bytes], seed: int, n: int) -> None:
    """ours: segments up to the acknowledged line are deleted."""
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder, segment=400)
        for chunk in chunks(b"".join(lines), seed):
            spool.append(chunk)
        before = len(os.listdir(folder))
        spool.forget(n)
        assert spool.first <= min(n, len(lines)) + 1
        assert heard(spool, min(n, len(lines))) == (b"".join(lines[n:]), [])
        spool.forget(len(lines))
        assert len(os.listdir(folder)) <= min(before, 1)
        assert spool.size == sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))
        spool.close()


@given(st.integers(0, 1000), st.sampled_from([1, 2, 7]))
def test_a_line_past_the_cap_is_named_and_the_others_keep_their_numbers(seed: int, before: int) -> None:
    """ours: number, size so far, and how it began; what follows of it is not kept."""
    lines = [b"short %d\n" % number for number in range(before)] + [b"long" * 500 + b"\n", b"after\n", b"x" * 1000 + b"\n"]
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder, cap=1000, segment=300)
        for chunk in chunks(b"".join(lines), seed):
            spool.append(chunk)
        assert spool.last == len(lines)
        cursor = Cursor(spool, before)
        items = []
        while not cursor.at_end:
            items += cursor.read(10**6)
        missing = [item for item in items if isinstance(item, Missing)]
        assert [(item.first, item.lines, item.beginning) for item in missing] == [(before + 1, 1, (b"long" * 50))]
        assert 1000 < missing[0].size <= 2001
        tail = items[items.index(missing[0]) + 1 :]
        assert b"".join(item.data for item in tail if isinstance(item, Said)) == b"".join(lines[-2:])
        cursor.close()
        spool.close()


def test_an_endless_line_takes_no_more_room_than_the_cap(tmp_path: Path) -> None:
    """ours: neither memory nor disk."""
    spool = Spool(str(tmp_path), cap=100_000)
    for _ in range(100):
        spool.append(b"x" * 50_000)
    assert spool.size < 200_000
    spool.append(b"end\nnext\n")
    assert spool.last == 2
    assert heard(spool, 1) == (b"next\n", [])
    spool.close()


def test_a_last_line_without_its_end_counts_when_the_cli_is_gone(tmp_path: Path) -> None:
    """seed: the last words of a crashed process are often not finished."""
    spool = Spool(str(tmp_path))
    spool.append(b"one\ntwo")
    assert spool.last == 1
    spool.finish()
    assert heard(spool, 0) == (b"one\ntwo\n", [])
    assert spool.finish() == []
    spool.close()


@given(st.integers(1, 600))
def test_a_torn_tail_is_cut_off_with_a_count_and_the_rest_is_whole(cut: int) -> None:
    """ours: a machine that dies in the middle of a write leaves half a record."""
    lines = [b"line %d\n" % number for number in range(20)]
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder)
        for line in lines:
            spool.append(line)
        spool.close()
        (name,) = os.listdir(folder)
        path = os.path.join(folder, name)
        size = os.path.getsize(path)
        os.truncate(path, max(0, size - cut))
        again = Spool.load(folder)
        whole = _whole(lines, size - cut)
        assert again.torn == max(0, size - cut) - sum(HEAD.size + len(line) for line in lines[:whole])
        assert again.last == whole
        again.break_off()
        said, missing = heard(again, 0)
        assert said == b"".join(lines[:whole])
        assert bool(missing) == bool(again.torn)
        again.close()


def _whole(lines: list[bytes], size: int) -> int:
    """How many records fit."""
    count = 0
    for line in lines:
        size -= HEAD.size + len(line)
        if size < 0:
            break
        count += 1
    return count


@given(st.integers(0, 10**6), st.integers(0, 7), st.integers(0, 3))
def test_a_flipped_bit_loses_named_lines_and_never_changes_one(place: int, bit: int, after: int) -> None:
    """ours: detected, salvaged, counted."""
    lines = [b"line %d %s\n" % (number, b"z" * (number * 13 % 60)) for number in range(30)]
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder, segment=500)
        for chunk in chunks(b"".join(lines), 5):
            spool.append(chunk)
        spool.close()
        name = sorted(os.listdir(folder))[place % len(os.listdir(folder))]
        path = Path(folder, name)
        content = bytearray(path.read_bytes())
        content[place % len(content)] ^= 1 << bit
        path.write_bytes(content)
        again = Spool.load(folder)
        again.break_off()
        cursor = Cursor(again, after)
        number, partial = after + 1, b""
        while not cursor.at_end:
            for item in cursor.read(100):
                if isinstance(item, Missing):
                    assert item.first == number
                    number, partial = number + item.lines, b""
                    continue
                whole = (partial + item.data).split(b"\n")
                partial = whole.pop()
                for line in whole:
                    assert line + b"\n" == lines[number - 1]
                    number += 1
        assert number <= len(lines) + 2
        cursor.close()
        again.close()


def test_lines_that_are_forgotten_already_are_named_to_who_comes_late(tmp_path: Path) -> None:
    """ours: never a gap without a word."""
    spool = Spool(str(tmp_path), segment=100)
    for number in range(50):
        spool.append(b"%d\n" % number)
    spool.forget(40)
    said, missing = heard(spool, 0)
    assert [(item.first, item.lines) for item in missing] == [(1, spool.first - 1)]
    assert said == b"".join(b"%d\n" % number for number in range(spool.first - 1, 50))
    spool.close()


def test_a_planted_link_is_not_written_through(tmp_path: Path) -> None:
    """ours (S41): in our folder, O_EXCL and O_NOFOLLOW."""
    spool = Spool(str(tmp_path))
    (tmp_path / f"{1:016d}-{0:010d}.lines").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        spool.append(b"x\n")
    assert not (tmp_path / "elsewhere").exists()
