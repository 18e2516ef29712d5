"""Frames between hub and runner: whole in any chunking, raw bytes untouched, garbage refused in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropewalk.errors import LinkBroken
from ropewalk.transports import frames
from ropewalk.transports.frames import LENGTHS, Frame, FrameReader, encode, from_hub, from_runner

SAMPLES: list[tuple[Frame, bytes]] = [
    (frames.Said("p", 7, 3), b'{"type":"x"}\n\xff\x00'),
    (frames.Ended("p", -9, "killed", ("last \ud83e words".encode("utf-8", "replace").decode(),), 12), b""),
    (frames.Welcome(1, "0", "id", "life", 4, "boot", 9, (frames.ProcessReport("p", 1, 2, "b", True, 1, 2, 0, 0, 0),)), b""),
    (frames.Written("p", "key"), b""),
    (frames.StatIs(3, None), b""),
]


@given(st.lists(st.integers(1, 400), min_size=1))
def test_frames_come_out_whole_however_the_bytes_were_cut(sizes: list[int]) -> None:
    """ours: a socket cuts anywhere."""
    wire = b"".join(encode(*sample) for sample in SAMPLES)
    reader = FrameReader(from_runner)
    heard = []
    at = 0
    while at < len(wire):
        size = sizes[at % len(sizes)]
        heard += list(reader.feed(wire[at : at + size]))
        at += size
    assert heard == SAMPLES


def test_a_large_frame_in_many_pieces_costs_no_more_than_its_size() -> None:
    """ours: looked at once when it can be whole, not at every piece."""
    payload = bytes(range(256)) * 40_000
    wire = encode(frames.Write("p", "k"), payload)
    reader = FrameReader(from_hub)
    heard = [frame for at in range(0, len(wire), 65536) for frame in reader.feed(wire[at : at + 65536])]
    assert heard == [(frames.Write("p", "k"), payload)]


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        LENGTHS.pack(5, 0) + b"\xc1\xc1\xc1\xc1\xc1",
        LENGTHS.pack(7, 0) + b"\x92\xa5Hello\x01"[:7],
        LENGTHS.pack(10, frames.LARGEST_PAYLOAD + 1),
        encode(frames.Written("p", "k")),
    ],
    ids=["another protocol", "no msgpack", "no fields", "too large", "the other direction"],
)
def test_garbage_breaks_the_link_in_words_and_for_good(garbage: bytes) -> None:
    """ours: after it nothing can be trusted."""
    reader = FrameReader(from_hub)
    with pytest.raises(LinkBroken, match="does not speak our frames"):
        list(reader.feed(garbage))
    with pytest.raises(LinkBroken):
        list(reader.feed(encode(frames.Ping(1))))


def test_what_the_other_side_would_refuse_is_not_sent() -> None:
    """ours: the sender is told, not the receiver."""
    with pytest.raises(LinkBroken, match="too large"):
        encode(frames.Start(1, "p", (b"x" * (frames.LARGEST_HEADER + 1),), (), b"/", {}))
