"""The numbers that are keys of events and lines, and their checksums. Pure; the schema says how they are built."""

from __future__ import annotations

from zlib import crc32

SEQ_BITS, LINE_BITS, SINCE_BITS = 32, 27, 14
SEQ_MOST, LINE_MOST, SINCE_MOST = (1 << SEQ_BITS) - 1, (1 << LINE_BITS) - 1, (1 << SINCE_BITS) - 1
"""4,294,967,295 events a session; 134,217,727 lines a process, and 16,383 written to it between two of its own."""


def event_id(session: int, seq: int) -> int:
    return session << SEQ_BITS | min(max(seq, 0), SEQ_MOST)


def event_ids(session: int) -> tuple[int, int]:
    """The first and the last that the events of a session can have."""
    return session << SEQ_BITS, session << SEQ_BITS | SEQ_MOST


def line_id(process: int, out: int, since: int) -> int:
    if not 0 <= out <= LINE_MOST:
        raise ValueError(f"{out} can't be the number of a line")
    if since > SINCE_MOST:
        raise OverflowError(f"{since} lines were written to a process that said nothing in between")
    return (process << LINE_BITS | out) << SINCE_BITS | since


def line_ids(process: int) -> tuple[int, int]:
    return process << LINE_BITS + SINCE_BITS, (process + 1 << LINE_BITS + SINCE_BITS) - 1


def line_of(id: int) -> tuple[int, int]:
    """(out, since) of a line's key."""
    return id >> SINCE_BITS & LINE_MOST, id & SINCE_MOST


def checksum(id: int, raw: bytes) -> int:
    return crc32(raw, id & 0xFFFFFFFF)


def sound(id: int, crc: int, raw: bytes) -> bool:
    """Whether this is what was stored under this key."""
    return isinstance(raw, bytes) and crc32(raw, id & 0xFFFFFFFF) == crc
