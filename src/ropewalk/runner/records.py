"""How said bytes lie on disk: records that say where they begin and whether they are whole. No I/O; what is torn is left out.

A record holds a piece of what the CLI said, cut anywhere, or the fact that a line was dropped. Its head has the number of the
line in which it begins and how many bytes of that line came before, so that each piece finds its place without the others.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from ropewalk.transports.frames import PIECE

SAID, DROPPED, CUT = 1, 2, 3
"""Bytes; a line that was too long; a line that a death cut off."""
MAGIC = 0xA7
HEAD = struct.Struct(">BBQQII")
"""Magic, kind, line, offset (of a dropped or cut line: its size), length, checksum of all that and the bytes."""
LARGEST = PIECE
"""Bytes in one record."""


class Record(NamedTuple):
    kind: int
    line: int
    offset: int
    payload: bytes


class Damage(NamedTuple):
    """No record stands here. ``hopeless``: nor can the next one be found in this file."""

    hopeless: bool


def head_of(kind: int, line: int, offset: int, payload: bytes) -> bytes:
    """What stands in front of the payload."""
    return HEAD.pack(MAGIC, kind, line, offset, len(payload), _checksum(kind, line, offset, payload))


def read_records(block: bytes, at_end: bool) -> Iterator[tuple[int, Record | Damage]]:
    """The records in ``block``, each with the place right behind it. ``at_end``: nothing follows, so half a record is damage.

    One with a wrong checksum is passed over by its length.
    """
    at, size = 0, len(block)
    while at < size:
        end, found = _record_at(block, at)
        if end > size and at_end:
            end, found = size, Damage(hopeless=True)
        if end > size:
            return
        yield end, found
        if isinstance(found, Damage) and found.hopeless:
            return
        at = end


def _record_at(block: bytes, at: int) -> tuple[int, Record | Damage]:
    """Where it ends, perhaps behind the block, and what it is."""
    if len(block) - at < HEAD.size:
        return at + HEAD.size, Damage(hopeless=True)
    magic, kind, line, offset, length, checksum = HEAD.unpack_from(block, at)
    if magic != MAGIC or length > LARGEST:
        return len(block), Damage(hopeless=True)
    end = at + HEAD.size + length
    payload = block[at + HEAD.size : end]
    if end <= len(block) and checksum != _checksum(kind, line, offset, payload):
        return end, Damage(hopeless=False)
    return end, Record(kind, line, offset, payload)


def _checksum(kind: int, line: int, offset: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(HEAD.pack(MAGIC, kind, line, offset, len(payload), 0)))
