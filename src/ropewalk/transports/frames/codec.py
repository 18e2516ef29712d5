"""Frames as bytes and back. Does no I/O, never looks into a line; refuses what is too large, and garbage for good.

On the wire: two lengths (4 bytes each, big-endian), a msgpack header, then raw bytes. Lines, writes and files travel in the raw
part and are never encoded again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from ropewalk.errors import LinkBroken, UsageError

from .named import LARGEST_LINE, Frame
from .of_hub import FromHub
from .of_runner import FromRunner

LENGTHS = struct.Struct(">II")
LARGEST_HEADER = 4 * 1024 * 1024
"""An environment and arguments may take 2 MiB together (the kernel's own bound); the rest is room."""
LARGEST_PAYLOAD = LARGEST_LINE + 1024 * 1024

from_hub: msgspec.msgpack.Decoder[FromHub] = msgspec.msgpack.Decoder(FromHub)
from_runner: msgspec.msgpack.Decoder[FromRunner] = msgspec.msgpack.Decoder(FromRunner)
_encoder = msgspec.msgpack.Encoder()


def encode(frame: Frame, payload: bytes = b"") -> bytes:
    """One frame as it goes over the wire. Raises ``LinkBroken`` for what the other side would refuse, ``UsageError`` for text
    that is none (half an emoji in a name)."""
    try:
        header = _encoder.encode(frame)
    except UnicodeEncodeError as error:
        raise UsageError(f"a {type(frame).__name__} frame holds what is no text: {error.object[:100]!r}") from error
    if len(header) > LARGEST_HEADER or len(payload) > LARGEST_PAYLOAD:
        raise LinkBroken(f"a {type(frame).__name__} frame of {len(header)} + {len(payload)} bytes is too large to be sent")
    return LENGTHS.pack(len(header), len(payload)) + header + payload


F = TypeVar("F", bound=Frame)


class FrameReader(Generic[F]):
    """Fed with bytes in any chunking; gives whole frames. Garbage is a ``LinkBroken``: nothing after it can be trusted."""

    __slots__ = ("_broken", "_decoder", "_need", "_rest")

    def __init__(self, decoder: msgspec.msgpack.Decoder[F]) -> None:
        self._decoder = decoder
        self._rest = bytearray()
        self._need = LENGTHS.size
        self._broken: str | None = None

    def feed(self, chunk: bytes) -> Iterator[tuple[F, bytes]]:
        """The frames that are whole now, each with its payload."""
        if self._broken is not None:
            raise LinkBroken(self._broken)
        if self._rest:
            self._rest += chunk
            if len(self._rest) < self._need:  # a large frame comes in many pieces: look only when it can be whole
                return
            chunk = bytes(self._rest)
            self._rest.clear()
        at, end = 0, len(chunk)
        while (found := self._lengths(chunk, at, end)) is not None:
            middle, after = found
            header, payload = chunk[at + LENGTHS.size : middle], chunk[middle:after]
            at = after
            yield self._decode(header), payload
        self._rest += memoryview(chunk)[at:]

    def _lengths(self, chunk: bytes, at: int, end: int) -> tuple[int, int] | None:
        """Where this frame's header and payload end; None when it is not whole yet."""
        if end - at < LENGTHS.size:
            self._need = LENGTHS.size
            return None
        header, payload = LENGTHS.unpack_from(chunk, at)
        if header > LARGEST_HEADER or payload > LARGEST_PAYLOAD:
            raise self._garbage(f"a frame of {header} + {payload} bytes was announced")
        middle = at + LENGTHS.size + header
        after = middle + payload
        if after > end:
            self._need = after - at
            return None
        return middle, after

    def _decode(self, header: bytes) -> F:
        try:
            return self._decoder.decode(header)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise self._garbage(f"a frame that can't be read: {error}") from error

    def _garbage(self, what: str) -> LinkBroken:
        self._broken = f"the other side of the runner's socket does not speak our frames ({what})"
        return LinkBroken(self._broken)
