"""The head of an HTTP/1.1 request, read off a stream of bytes. Refuses what is long, doubtful or not HTTP/1.1; reads no body."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_HEAD = 16 * 1024
"""Bytes of request line and headers. A CLI's have under 1 KiB (measured 2.1.37 … 2.1.120); strangers get no more memory."""

_REQUEST_LINE = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.1")
_HEADER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)")
_ONCE = frozenset({"authorization", "content-length", "host", "origin", "sec-websocket-key", "transfer-encoding"})
"""Headers that decide something: a second one is an attempt to be read in two ways."""


class Refused(Exception):
    """This request gets a status instead of what it asked for. Never leaves this package."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"{status}: {why}")
        self.status, self.why = status, why


@dataclass(frozen=True, slots=True)
class Head:
    """Request line and headers. Names in lower case, values without outer blanks."""

    method: str
    target: str
    headers: dict[str, str]
    raw: bytes = b""

    def get(self, name: str) -> str | None:
        """The header's value, or None."""
        return self.headers.get(name)


class HeadReader:
    """Feed it bytes until it gives a head and what came after it. One reader a head."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> tuple[Head, bytes] | None:
        """Take some bytes. None: more are needed. Raises ``Refused`` for what can't become a head."""
        start = max(0, len(self._held) - 3)
        self._held += data
        end = self._held.find(b"\r\n\r\n", start, MAX_HEAD)
        if end < 0:
            if len(self._held) >= MAX_HEAD:
                raise Refused(431, "the request's head is too long")
            return None
        raw = bytes(self._held[: end + 4])
        return parse_head(raw), bytes(self._held[end + 4 :])


def parse_head(raw: bytes) -> Head:
    """The head in these bytes, which end with the blank line. Raises ``Refused``."""
    first, *rest = raw.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        raise Refused(400, "not a request line of HTTP/1.1")
    return Head(match[1].decode(), match[2].decode(), _headers(rest), raw)


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise Refused(400, "a header line that is none")
        name, value = match[1].decode().lower(), match[2].decode("latin-1").rstrip(" \t")
        if name in headers and name in _ONCE:
            raise Refused(400, f"the header {name} comes twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
