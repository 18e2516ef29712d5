"""What wrong tokens and wrong codes cost those who send them. Refuses to touch whoever has a right one.

A token has 256 bits, so slowing its guessers is housekeeping: less load, one line in the log. A code has 40: its limit is the
protection, and holds for everybody together.
"""

from __future__ import annotations

import heapq
import time
from collections import OrderedDict
from collections.abc import Callable

import structlog

log = structlog.get_logger("ropewalk.access")

PEERS = 1024
"""Addresses remembered; the longest quiet one is forgotten first."""
FREE = 5
"""Wrong tokens of a minute that cost nothing: a stale tab, a typing error."""
LONGEST = 2.0
WAITING = 64
"""Wrong askers kept waiting at once; those beyond are answered at once with 429, which costs less still."""
MINUTE = 60.0
CODES_AT_ONCE = 20
CODES_PER_SECOND = 5.0


class Slowdown:
    """Counts what was wrong, by peer for tokens and for all together for codes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._waiting: list[float] = []
        """When those who wait will be answered, the soonest first."""
        self._codes, self._codes_at = float(CODES_AT_ONCE), clock()
        self._logged_at, self._unlogged = float("-inf"), 0
        self.refused = 0

    def wrong_token(self, peer: str) -> float | None:
        """Seconds that this peer has earned to wait for its answer. None: too many wait already; say 429 at once."""
        delay = self._delay(peer)
        self._tell(peer)
        if not delay:
            return 0.0
        now = self._clock()
        while self._waiting and self._waiting[0] <= now:
            heapq.heappop(self._waiting)
        if len(self._waiting) >= WAITING:
            return None
        heapq.heappush(self._waiting, now + delay)
        return delay

    def may_try_code(self) -> bool:
        """Whether a code may be looked at now. A wrong one is to be told with ``wrong_code``."""
        now = self._clock()
        self._codes = min(CODES_AT_ONCE, self._codes + (now - self._codes_at) * CODES_PER_SECOND)
        self._codes_at = now
        return self._codes >= 1

    def wrong_code(self, peer: str) -> None:
        self._codes -= 1
        self._tell(peer)

    def _delay(self, peer: str) -> float:
        now = self._clock()
        began, count = self._wrong.pop(peer, (now, 0))
        if now - began > MINUTE:
            began, count = now, 0
        self._wrong[peer] = (began, count + 1)
        if len(self._wrong) > PEERS:
            self._wrong.popitem(last=False)
        return 0.0 if count < FREE else min(LONGEST, 0.05 * 2 ** min(count - FREE, 10))

    def _tell(self, peer: str) -> None:
        """One line a minute, whatever comes."""
        self.refused += 1
        self._unlogged += 1
        now = self._clock()
        if now - self._logged_at >= MINUTE:
            log.warning("wrong tokens or codes were refused", count=self._unlogged, last_from=peer)
            self._logged_at, self._unlogged = now, 0
