"""What one CLI said, numbered by line and kept on disk until a hub has it. Knows bytes and line feeds; never reads a line.

Appended in segments; a segment goes when all its lines are acknowledged. Nothing of it is held in memory: who is behind reads
the files (``cursor``). A line past the cap is dropped while it comes: what follows of it is not kept, and a record says so.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ropewalk.runner.records import CUT, DROPPED, HEAD, LARGEST, SAID, Damage, Record, head_of, read_records
from ropewalk.transports.frames import LARGEST_LINE

SEGMENT = 4 * 1024 * 1024
SUFFIX = ".lines"
NAMES = re.compile(r"\d{16}-\d{10}\.lines")
BEGINNING = 200
"""Bytes of a dropped line that are kept."""
RETIRED = 32
"""Descriptors of full segments that wait for a sync."""
BLOCK = 2 * (HEAD.size + LARGEST)


@dataclass(slots=True, eq=False)
class Segment:
    """One file. ``line`` and ``offset`` say where it begins; ``later`` is the next one."""

    path: str
    line: int
    offset: int
    size: int = 0
    later: Segment | None = None


class Spool:
    """``append`` what was read, ``forget`` what is stored. ``line`` is the number of the line that is being said."""

    def __init__(self, folder: str, *, segment: int = SEGMENT, cap: int = LARGEST_LINE) -> None:
        self.folder, self._segment_size, self._cap = folder, segment, cap
        self.line, self.offset = 1, 0
        self.stored = 0
        self.size = 0
        self.torn = 0
        """Bytes at the end that a death left unreadable."""
        self.dropping = False
        """Whether the rest of a line that was too long is being passed over."""
        self._beginning = b""
        self._first: Segment | None = None
        self._last: Segment | None = None
        self._fd = -1
        self._retired: list[int] = []
        """Full segments that were not synced yet."""
        self._made = False
        """Whether a segment was made since the last sync: its folder is to be synced, too."""

    @property
    def last(self) -> int:
        """The newest whole line."""
        return self.line - 1

    @property
    def first(self) -> int:
        """The oldest whole line that is kept; ``last + 1`` when there is none."""
        if self._first is None:
            return self.line
        return self._first.line + (1 if self._first.offset else 0)

    @property
    def oldest(self) -> Segment | None:
        return self._first

    @property
    def newest(self) -> Segment | None:
        return self._last

    @property
    def all_stored(self) -> bool:
        """Whether a hub has all of it: it need not be safe here, too."""
        return self.stored >= self.last and not self.offset

    def to_sync(self) -> list[int]:
        """Descriptors of what was written since the last time, the caller's to close. None when a hub has it all."""
        retired, self._retired = self._retired, []
        if self.all_stored:
            _close(retired)
            return []
        if self._fd >= 0:
            retired.append(os.dup(self._fd))
        if self._made:
            self._made = False
            retired.append(os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        return retired

    # Saying

    def append(self, data: bytes) -> list[Record]:
        """Keep it. Gives it back as it is to be told. Raises ``OSError`` when the disk does not take it: then nothing changed."""
        if self.dropping or self.offset + len(data) > self._cap or len(data) > LARGEST:
            records, dropping = self._carefully(data)
        else:
            records, dropping = [Record(SAID, self.line, self.offset, data)], False
        self._write(records)
        for record in records:
            self._advance(record)
        self.dropping = dropping
        return records

    def finish(self) -> list[Record]:
        """The CLI has ended: what it left without a line feed is its last line."""
        self.dropping = False
        return self.append(b"\n") if self.offset else []

    def break_off(self) -> None:
        """The line that is being said will never end: a death cut it, or the file's end was torn."""
        if self.offset or self.torn:
            record = Record(CUT, self.line, self.offset + self.torn, self._beginning if self.offset else b"")
            self._write([record])
            self._advance(record)

    def _carefully(self, data: bytes) -> tuple[list[Record], bool]:
        """Line by line, as one of them is, or becomes, too long; and whether the last one's rest is to be dropped."""
        records: list[Record] = []
        line, offset, dropping, beginning = self.line, self.offset, self.dropping, self._beginning
        for piece in _pieces(data):
            ends = piece.endswith(b"\n")
            if dropping:
                dropping = not ends
                continue
            beginning = (beginning + piece[:BEGINNING])[:BEGINNING] if offset else piece[:BEGINNING]
            if offset + len(piece) - ends > self._cap:
                records.append(Record(DROPPED, line, offset + len(piece), beginning))
                line, offset, dropping = line + 1, 0, not ends
                continue
            records.append(Record(SAID, line, offset, piece))
            line, offset = (line + 1, 0) if ends else (line, offset + len(piece))
        return records, dropping

    def _advance(self, record: Record) -> None:
        payload = record.payload
        if record.kind != SAID:
            self.line, self.offset = record.line + 1, 0
        elif cut := payload.rfind(b"\n") + 1:
            self.line, self.offset = record.line + payload.count(b"\n"), len(payload) - cut
            self._beginning = payload[cut : cut + BEGINNING]
        else:
            if record.offset < BEGINNING:
                self._beginning = ((self._beginning if record.offset else b"") + payload[:BEGINNING])[:BEGINNING]
            self.line, self.offset = record.line, record.offset + len(payload)

    def _write(self, records: list[Record]) -> None:
        if not records:
            return
        segment = self._room(records[0])
        parts = [part for record in records for part in (head_of(*record), record.payload)]
        wanted = sum(map(len, parts))
        written = _write_all(self._fd, parts, wanted)
        if written < wanted:
            os.ftruncate(self._fd, segment.size)  # half a record is none
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        segment.size += wanted
        self.size += wanted

    def _room(self, first: Record) -> Segment:
        """The segment to write to: a new one when the last is full."""
        if self._last is not None and self._fd >= 0 and self._last.size < self._segment_size:
            return self._last
        offset = first.offset if first.kind == SAID else 0
        path = os.path.join(self.folder, f"{first.line:016d}-{offset:010d}{SUFFIX}")
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        self.retire()
        self._fd, self._made = descriptor, True
        segment = Segment(path, first.line, offset)
        if self._last is not None:
            self._last.later = segment
        self._first, self._last = self._first or segment, segment
        return segment

    # Forgetting

    def forget(self, n: int) -> None:
        """Lines up to ``n`` are safe elsewhere."""
        self.stored = max(self.stored, min(n, self.last))
        while (segment := self._first) is not None and (later := segment.later) is not None:
            touched = later.line if later.offset else later.line - 1
            if touched > self.stored:
                return
            os.unlink(segment.path)
            self.size -= segment.size
            self._first = later

    def retire(self) -> None:
        """Nothing more is written to the newest segment."""
        if self._fd >= 0:
            self._retired.append(self._fd)
            self._fd = -1
        if len(self._retired) > RETIRED:  # a disk that is slower than the flood: the oldest go without
            _close(self._retired[:-RETIRED])
            del self._retired[:-RETIRED]

    def close(self) -> None:
        self.retire()
        _close(self._retired)
        self._retired.clear()

    # Coming back

    @classmethod
    def load(cls, folder: str, *, cap: int = LARGEST_LINE) -> Spool:
        """What an earlier life left, as far as it can be read. Never raises for damage; ``torn`` counts what was cut off."""
        spool = cls(folder, cap=cap)
        for name in sorted(filter(NAMES.fullmatch, os.listdir(folder))):
            line, _, offset = name.removesuffix(SUFFIX).partition("-")
            path = os.path.join(folder, name)
            segment = Segment(path, int(line), int(offset), os.path.getsize(path))
            if spool._last is not None:
                spool._last.later = segment
            spool._first, spool._last = spool._first or segment, segment
            spool.size += segment.size
        if spool._last is not None:
            spool._read_end(spool._last)
        return spool

    def _read_end(self, segment: Segment) -> None:
        """Find the place where the last whole record ends, and cut off what is behind it."""
        self._fd = os.open(segment.path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        self.line, self.offset = segment.line, segment.offset
        good = 0
        for end, found in segment_records(self._fd, segment.size, 0):
            if isinstance(found, Record):
                self._advance(found)
                good = end
        self.torn = segment.size - good
        if self.torn:
            os.ftruncate(self._fd, good)
            segment.size, self.size = good, self.size - self.torn


def segment_records(descriptor: int, size: int, at: int) -> Iterator[tuple[int, Record | Damage]]:
    """All records of a segment from ``at`` on, each with the place behind it, a block at a time."""
    while at < size:
        block = os.pread(descriptor, min(BLOCK, size - at), at)
        begin = at
        for end, found in read_records(block, begin + len(block) >= size):
            at = begin + end
            if isinstance(found, Damage) and found.hopeless:
                at = size
            yield at, found
        if at == begin:  # the file is shorter than it was: nothing more can be read
            return


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _pieces(data: bytes) -> Iterator[bytes]:
    """Lines with their line feeds, the long ones in parts: no piece is larger than a record may be."""
    for line in _split(data):
        for at in range(0, len(line), LARGEST):
            yield line[at : at + LARGEST]


def _split(data: bytes) -> Iterator[bytes]:
    at = 0
    while (end := data.find(b"\n", at) + 1) > 0:
        yield data[at:end]
        at = end
    if at < len(data):
        yield data[at:]


def _write_all(descriptor: int, parts: list[bytes], wanted: int) -> int:
    """How many bytes the disk took; fewer when it is full."""
    if len(parts) > 2:
        parts = [b"".join(parts)]
    try:
        return os.writev(descriptor, parts)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return 0
        raise
