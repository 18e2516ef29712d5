"""The CLI's own lines, verbatim, to stdout while a run goes on. Refuses to leave one out: the last ones come before the end."""

from __future__ import annotations

import base64
from types import TracebackType

from ...client.remote import Remote, WireLine
from ...events import events as e
from ..screen import Screen

MANY = 1000


def bytes_of(line: WireLine) -> bytes:
    """The line as it was on the wire."""
    return base64.b64decode(line.base64) if line.base64 is not None else (line.line or "").encode()


class Verbatim:
    """Asked after every durable event for what came since; the lines of an event are stored with it."""

    def __init__(self, remote: Remote, session: str, screen: Screen, after: int) -> None:
        self._remote, self._session, self._screen = remote, session, screen
        self._begins_with_session = not after
        self._cursor = 0

    async def __aenter__(self) -> Verbatim:
        if not self._begins_with_session:
            await self._read(silent=True)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            await self._read()

    async def heard(self, event: e.Event) -> None:
        if not isinstance(event, e.LiveEvent):
            await self._read()

    async def _read(self, silent: bool = False) -> None:
        while True:
            lines = await self._remote.lines(self._session, self._cursor, dir="out", limit=MANY)
            for line in lines:
                self._cursor = line.cursor
                if not silent:
                    self._screen.bytes(bytes_of(line).rstrip(b"\n"))
            if len(lines) < MANY:
                return
