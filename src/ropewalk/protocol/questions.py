"""Questions of the CLI that wait for us. Refuses a second answer: each leaves once, answered, withdrawn or lost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from ..errors import LocalProtocolError
from .control import ControlRequest

REMEMBERED = 256
"""Closed questions that we still know: to say why an answer comes too late, and to say it again after a broken link."""


class Questions:
    """The table, owned by one Connection."""

    __slots__ = ("_closed", "_doubtful", "_open")

    def __init__(self) -> None:
        self._open: dict[str, ControlRequest] = {}
        self._closed: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._doubtful: set[str] = set()

    def __iter__(self) -> Iterator[ControlRequest]:
        return iter(list(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._open

    def open(self, question: ControlRequest) -> bool:
        """False when it is known already: asked again after a broken link, or answered long since."""
        if question.request_id in self._open or question.request_id in self._closed:
            return False
        self._open[question.request_id] = question
        return True

    def get(self, request_id: str) -> ControlRequest:
        """The open question. Raises ``LocalProtocolError`` that says what became of it."""
        if request_id in self._open:
            return self._open[request_id]
        fate = self._closed.get(request_id, ("never asked", b""))[0]
        raise LocalProtocolError(f"question {request_id} is not open: {fate}")

    def close(self, request_id: str, fate: str, line: bytes = b"") -> ControlRequest | None:
        """None: it was closed before. How it ended last is remembered: an answer that is never said can't reopen what was
        withdrawn meanwhile."""
        question = self._open.pop(request_id, None)
        if question is not None:
            self._closed[request_id] = (fate, line)
            if len(self._closed) > REMEMBERED:
                self._closed.popitem(last=False)
        elif known := self._closed.get(request_id):
            self._closed[request_id] = (fate, known[1])
        return question

    def reopen(self, question: ControlRequest) -> bool:
        """An answer that was given was never said after all: it is open again. False: the CLI withdrew it meanwhile."""
        fate = self._closed.get(question.request_id, ("answered", b""))[0]
        if fate != "answered":
            return False
        self._closed.pop(question.request_id, None)
        self._open[question.request_id] = question
        return True

    def doubt(self) -> None:
        """The link broke: whether our answers so far were heard is not known."""
        self._doubtful = {request_id for request_id, (_, line) in self._closed.items() if line}

    def to_repeat(self, request_id: str) -> bytes:
        """It is still listed though we answered: that line, once, unless it was said on the present link (it is on its way)."""
        if request_id not in self._doubtful:
            return b""
        self._doubtful.discard(request_id)
        return self._closed.get(request_id, ("", b""))[1]

    def lose_all(self, fate: str) -> list[ControlRequest]:
        """The process is gone: what was open will never be asked again."""
        lost = list(self._open)
        return [question for request_id in lost if (question := self.close(request_id, fate)) is not None]
