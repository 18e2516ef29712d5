"""Requests of ours that the CLI has not answered. Refuses to end one twice: by answer, refusal, deadline or loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..errors import RequestFailed, RequestTimedOut, RopewalkError, SessionGone
from .control import ControlAnswer

Outcome = dict[str, Any] | RopewalkError
OnOutcome = Callable[[Outcome], None]


class Pending:
    """The table, owned by one Connection."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, bytes, OnOutcome | None]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._waiting

    def add(self, request_id: str, subtype: str, line: bytes, on_outcome: OnOutcome | None) -> None:
        self._waiting[request_id] = (subtype, line, on_outcome)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._waiting))

    def of(self, subtype: str) -> list[str]:
        """Ids of the unanswered requests of one subtype."""
        return [request_id for request_id, (asked, _, _) in self._waiting.items() if asked == subtype]

    def lines(self) -> list[bytes]:
        """The unanswered requests as they were sent: to say again after a broken link."""
        return [line for _, line, _ in self._waiting.values()]

    def line(self, request_id: str) -> bytes:
        """The request as it was sent, while it is unanswered."""
        return self._waiting[request_id][1] if request_id in self._waiting else b""

    def settle(self, answer: ControlAnswer) -> str | None:
        """End the request that ``answer`` belongs to; its subtype, or None for a late or second answer (2.1.37 sends those)."""
        entry = self._waiting.pop(answer.request_id, None)
        if entry is None:
            return None
        subtype, _, on_outcome = entry
        if on_outcome is not None:
            on_outcome(_outcome(answer, subtype))
        return subtype

    def give_up(self, request_id: str, reason: str) -> None:
        """The deadline passed. A later answer is nobody's."""
        entry = self._waiting.pop(request_id, None)
        if entry is not None and entry[2] is not None:
            entry[2](RequestTimedOut(request_id, entry[0], reason))

    def close(self, error: SessionGone) -> None:
        """Nobody is left to answer: all fail at once."""
        waiting, self._waiting = self._waiting, {}
        for _, _, on_outcome in waiting.values():
            if on_outcome is not None:
                on_outcome(error)


def _outcome(answer: ControlAnswer, subtype: str) -> Outcome:
    if answer.subtype == "success":
        return answer.response or {}
    return RequestFailed(answer.request_id, subtype, answer.error or "the CLI gave no reason", answer.error_code)
