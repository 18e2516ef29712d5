"""Bytes to lines: whatever the chunks, the same lines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.protocol.framing import HEAD, MAX_LINE, LineSplitter, TooLong
from ropewalk.protocol.messages import Assistant, Dropped, KeepAlive
from tests.demand import demand
from tests.protocol.wire import connection, line, only


def lines_of(stream: bytes, cap: int) -> list[bytes | TooLong]:
    """What framing should give, said in the plainest way."""
    lines: list[bytes | TooLong] = []
    for piece in stream.split(b"\n"):
        whole = piece.removesuffix(b"\r")
        if len(whole) > cap:
            lines.append(TooLong(len(whole), whole[:HEAD]))
        elif whole:
            lines.append(whole)
    return lines


def framed(stream: bytes, cuts: list[int], cap: int) -> list[bytes | TooLong]:
    splitter = LineSplitter(cap)
    marks = [0, *sorted(cuts), len(stream)]
    lines = [one for begin, end in pairwise(marks) for one in splitter.feed(stream[begin:end])]
    return lines + splitter.finish()


@st.composite
def cut_streams(draw: st.DrawFn) -> tuple[bytes, list[int], int]:
    pieces = st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"a", b'{"type":"x"}', "é€😀".encode(), b"z" * 210])
    stream = b"".join(draw(st.lists(pieces, max_size=40)))
    cuts = draw(st.lists(st.integers(0, len(stream)), max_size=20))
    return stream, cuts, draw(st.sampled_from([1, 2, 12, 199, 200, 201, 10_000]))


@demand("000-04", "001-20", "002-49")
@given(cut_streams())
def test_any_chunking_gives_the_same_lines(case: tuple[bytes, list[int], int]) -> None:
    """seed: a chunk is not a line. CRLF, blank lines, cut characters and lines past the cap included."""
    stream, cuts, cap = case
    assert framed(stream, cuts, cap) == lines_of(stream, cap)


@demand("002-49")
@pytest.mark.parametrize("size", range(1, 9))
def test_characters_cut_in_the_middle_of_a_chunk_survive(size: int) -> None:
    """seed: é is two bytes, € three, 😀 four; every cut through them is made."""
    words = "é€😀 ünïcödé 漢字"
    stream = '{"type":"assistant","message":{"content":[{"type":"text","text":"WORDS"}]}}\n'.replace("WORDS", words).encode()
    conn = connection()
    message = only([m for at in range(0, len(stream), size) for m in conn.receive_data(stream[at : at + size])])
    assert isinstance(message, Assistant) and message.text == words


@demand("001-20")
def test_several_messages_in_one_frame_one_message_over_several_frames_and_blank_lines() -> None:
    """seed: WebSocket frames are no lines either."""
    conn = connection()
    assert [type(m) for m in conn.receive_data(line(type="keep_alive") * 3 + b"\n \n\r\n\t\n" + b'{"type":"keep')] == [
        KeepAlive
    ] * 3
    assert conn.receive_data(b"_al") == []
    assert type(only(conn.receive_data(b'ive"}\r\n'))) is KeepAlive


def test_blank_lines_are_nothing_in_whatever_chunks_they_come() -> None:
    """ours: a test of blanks is made only where it is needed; the outcome is the same."""
    for stream in (b" \n", b"  \r\n", b"\t\n\n", b"\n\n\n"):
        whole, bytewise = connection(), connection()
        assert whole.receive_data(stream) == []
        assert [m for byte in stream for m in bytewise.receive_data(bytes([byte]))] == []


def test_a_last_line_without_newline_counts_at_the_end() -> None:
    """ours: a CLI that dies after a result may not have written its newline."""
    conn = connection()
    assert conn.receive_data(b'{"type":"result","subtype":"success"}') == []
    assert only(conn.receive_eof()).subtype == "success"
    assert conn.turns.count == 1


def test_half_a_line_at_the_end_is_kept_as_garbage() -> None:
    """ours: nothing that came is lost, half a line included."""
    conn = connection()
    conn.receive_data(b'{"type":"assistant","mess')
    assert only(conn.receive_eof()).raw == b'{"type":"assistant","mess'


@pytest.mark.parametrize("chunk", [1, 7, 64, 10_000])
def test_a_line_past_the_cap_is_dropped_and_told_and_the_next_line_lives(chunk: int) -> None:
    """ours: a flood without newline can't eat the memory, and does not end the session."""
    conn = connection(max_line=500)
    stream = b'{"type":"assistant","x":"' + b"a" * 600 + b'"}\n' + line(type="keep_alive")
    messages = [m for at in range(0, len(stream), chunk) for m in conn.receive_data(stream[at : at + chunk])]
    dropped, alive = messages
    assert isinstance(dropped, Dropped) and isinstance(alive, KeepAlive)
    assert dropped.size == 627
    assert dropped.raw == stream[:200]


def test_a_line_as_long_as_the_cap_is_whole_and_one_byte_more_is_not() -> None:
    """ours: the edge of the cap, with both line ends and in one or two chunks."""
    for end in (b"\n", b"\r\n"):
        for cut in (0, 5, 10, 11):
            exact, more = b"x" * 10 + end, b"x" * 11 + end
            assert framed(exact, [min(cut, len(exact))], 10) == [b"x" * 10]
            assert framed(more, [min(cut, len(more))], 10) == [TooLong(11, b"x" * 11)]


def test_a_flood_without_a_newline_keeps_no_more_than_its_head() -> None:
    """ours: what is dropped is dropped at once, not at its end."""
    splitter = LineSplitter(1000)
    for _ in range(100):
        splitter.feed(b"y" * 10_000)
    assert splitter.finish() == [TooLong(1_000_000, b"y" * 200)]


def test_the_real_cap_is_64_mib_and_the_session_lives_on() -> None:
    """ours: once with the real figure, in chunks as a pipe gives them."""
    conn = connection()
    chunk = b"a" * (1 << 20)
    told: list[Any] = []
    told += conn.receive_data(b'{"type":"assistant","x":"')
    for _ in range(64):
        told += conn.receive_data(chunk)
    told += conn.receive_data(b'"}\n' + line(type="keep_alive"))
    assert MAX_LINE == 64 * 1024 * 1024
    assert [type(m) for m in told] == [Dropped, KeepAlive]
    assert told[0].size == 64 * (1 << 20) + 27


@demand("002-50")
def test_lines_of_ten_megabytes_are_read_whole() -> None:
    """seed; measured (all versions): a text of 5 MB makes lines of 5 MB."""
    words = "word " * 2_500_000
    stream = line(type="assistant", message={"content": [{"type": "text", "text": words}]}) + line(type="keep_alive")
    conn = connection()
    messages: list[Any] = [m for at in range(0, len(stream), 65_536) for m in conn.receive_data(stream[at : at + 65_536])]
    assert len(stream) > 12_000_000
    assert [type(m) for m in messages] == [Assistant, KeepAlive]
    assert messages[0].text == words
    assert messages[0].raw == stream[: stream.index(b"\n")]


def test_after_a_broken_link_half_a_line_is_forgotten() -> None:
    """measured (2.1.37, 2.1.62): what was under way is lost, its end never comes."""
    conn = connection(link=True)
    conn.receive_data(b'{"type":"assistant","mess')
    conn.relinked()
    assert type(only(conn.receive_data(line(type="keep_alive")))) is KeepAlive
