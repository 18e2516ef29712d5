"""The last words on stderr, kept in bounded memory."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from ropewalk.transports.tail import LINE_BYTES, StderrTail


def tail_of(*pieces: bytes) -> tuple[str, ...]:
    tail = StderrTail()
    for piece in pieces:
        tail.feed(piece)
    return tail.lines()


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=9))
def test_the_lines_are_the_same_however_the_bytes_are_cut(said: bytes, cuts: list[int]) -> None:
    """ours."""
    edges = [0, *sorted(cuts), len(said)]
    assert tail_of(*(said[a:b] for a, b in itertools.pairwise(edges))) == tail_of(said)


def test_the_last_lines_are_kept_and_the_unfinished_one_counts() -> None:
    """ours: a crash often ends in half a line."""
    said = b"".join(b"%d\n" % number for number in range(500))
    assert tail_of(said) == tuple(str(number) for number in range(300, 500))
    assert tail_of(said + b"half") == (*(str(number) for number in range(301, 500)), "half")


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    """ours."""
    (line,) = tail_of(*[b"x" * 100_000] * 20)
    assert line == "x" * LINE_BYTES + f"… ({2_000_000 - LINE_BYTES} bytes more)"


def test_colours_stay_and_broken_bytes_are_shown_as_such() -> None:
    """ours: who shows them makes them harmless, not who keeps them."""
    assert tail_of(b"\x1b[31mred\x1b[0m\r\n", b"\xff\n\n") == ("\x1b[31mred\x1b[0m", "\ufffd", "")
