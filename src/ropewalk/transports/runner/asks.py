"""Questions to a runner that wait for their answer: each ends once, by answer, refusal, deadline or loss of the link."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from ropewalk.errors import CliNotFound, FolderMissing, LinkBroken, RopewalkError, SessionGone, UsageError
from ropewalk.transports.frames import Refused

A = TypeVar("A")


class Asks:
    """The table of open questions. ``open`` gives a number; ``wait`` for its answer."""

    __slots__ = ("_last", "_waiting")

    def __init__(self) -> None:
        self._last = 0
        self._waiting: dict[int, asyncio.Future[object]] = {}

    def open(self) -> int:
        self._last += 1
        self._waiting[self._last] = asyncio.get_running_loop().create_future()
        return self._last

    async def wait(self, ask: int, kind: type[A], timeout: float, what: str) -> A:
        """Raises what the runner refused with, or ``LinkBroken`` when it gave no answer in time."""
        try:
            async with asyncio.timeout(timeout):
                answer = await self._waiting[ask]
        except TimeoutError:
            raise LinkBroken(f"the runner gave no answer within {timeout:g} s ({what})") from None
        finally:
            self._waiting.pop(ask, None)
        if not isinstance(answer, kind):
            raise LinkBroken(f"the runner answered {type(answer).__name__} ({what})")
        return answer

    def give_up(self, ask: int) -> None:
        self._waiting.pop(ask, None)

    def answer(self, ask: int, answer: object) -> None:
        """A late one is nobody's."""
        waiting = self._waiting.get(ask)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def refuse(self, frame: Refused) -> None:
        waiting = self._waiting.get(frame.ask)
        if waiting is not None and not waiting.done():
            waiting.set_exception(_error(frame))

    def fail(self, why: str) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(LinkBroken(why))


def _error(frame: Refused) -> RopewalkError:
    match frame.kind:
        case "folder":
            return FolderMissing(frame.words)
        case "cli":
            return CliNotFound(frame.words)
        case "usage":
            return UsageError(frame.words)
        case "gone":
            return SessionGone(frame.words)
        case _:
            return LinkBroken(frame.words)
