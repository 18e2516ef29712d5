"""Messages that are typed when somebody looks. Refuses to delay what the connection itself must know."""

from __future__ import annotations

from .codec import decode
from .messages import Message

_BULK = (b'{"type":"stream_event"', b'{"type":"assistant"', b'{"type":"user"')
_RECEIPT, _AGENT = b'"isReplay":true', b'"agentId":"'


class LazyMessage:
    """A line of the bulk (deltas, answers, tool results): ``raw`` now, the typed message on ``message``."""

    __slots__ = ("_message", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._message: Message | None = None

    @property
    def message(self) -> Message:
        """The typed message; decoded once."""
        if self._message is None:
            self._message = decode(self.raw)
        return self._message

    @property
    def is_delta(self) -> bool:
        """A piece of a block under way, superseded by the finished block."""
        return self.raw.startswith(_BULK[0])


def may_wait(line: bytes) -> bool:
    """Can the connection do without this line's meaning? Not when it is a prompt's receipt, an agent's end, or in odd order."""
    return line.startswith(_BULK) and (line[9:13] != b"user" or (_RECEIPT not in line and _AGENT not in line))
