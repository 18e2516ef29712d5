"""Bodies that a hybrid CLI posts, taken apart into lines verbatim. Pure: refuses bodies without events, and repeated events."""

from __future__ import annotations

import re
from collections import OrderedDict
from hashlib import blake2b

from ropewalk.transports.websocket.head import Refused

MAX_BODY = 72 * 1024 * 1024
"""Bytes of one body: a line of 64 MiB and room for its envelope."""

REMEMBERED = 8192
"""Events by which a repeated body is known. A CLI repeats only its last one; 2.1.120 puts some hundred events into it at most."""

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\],]', re.DOTALL)
_EVENTS = re.compile(rb"\s*:\s*\[")
_BREAKS = re.compile(rb"[\r\n]+")


class Posted:
    """Lines out of bodies, each once. A CLI that did not hear our reply sends the same body again (0.5, 1, 2, 4 s …)."""

    def __init__(self) -> None:
        self._taken: OrderedDict[bytes, None] = OrderedDict()

    def take(self, body: bytes) -> bytes:
        """The lines that are new. Raises ``Refused`` when it has not the shape {"events": [{…}, …]}; then nothing was taken."""
        return b"".join(event + b"\n" for event in events_in(body) if self._is_new(event))

    def _is_new(self, event: bytes) -> bool:
        # By the bytes and not by the uuid alone: 2.1.37 answers set_permission_mode with two different lines of one request_id. A
        # line that has no name at all (keep_alive) may well come twice.
        if b'"uuid"' not in event and b'"request_id"' not in event:
            return True
        key = blake2b(event, digest_size=16).digest()
        if key in self._taken:
            return False
        self._taken[key] = None
        if len(self._taken) > REMEMBERED:
            self._taken.popitem(last=False)
        return True


def events_in(body: bytes) -> list[bytes]:
    """The elements of ``events``, byte for byte, but for line breaks between tokens. Looks at the outer shape alone.

    A strict JSON reader would refuse lone surrogates, which real CLIs write, and a refused body is thrown away by them.
    """
    start = _start_of_events(body)
    events: list[bytes] = []
    depth, begin = 0, start
    for token in _TOKEN.finditer(body, start):
        sign = token[0]
        if depth == 0 and sign in (b",", b"]"):
            events.extend(_event(body[begin : token.start()], last=sign == b"]" and not events))
            begin = token.end()
            if sign == b"]":
                return events
        elif sign in (b"{", b"["):
            depth += 1
        elif sign in (b"}", b"]"):
            depth -= 1
    raise Refused(400, "the list of events does not end")


def _start_of_events(body: bytes) -> int:
    depth = 0
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign == b'"events"' and depth == 1 and (match := _EVENTS.match(body, token.end())):
            return match.end()
        depth += (sign in (b"{", b"[")) - (sign in (b"}", b"]"))
    raise Refused(400, "the body has no list of events")


def _event(piece: bytes, last: bool) -> list[bytes]:
    event = _BREAKS.sub(b" ", piece.strip())
    if not event and last:
        return []
    if not (event.startswith(b"{") and event.endswith(b"}")):
        raise Refused(400, "an event is no object")
    return [event]
