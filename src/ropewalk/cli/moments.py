"""A moment as a person types it: so long ago, a day, an hour of a day. Pure; the clock is given. Refuses to guess."""

from __future__ import annotations

import datetime
import re

from ..errors import UsageError

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def moment(text: str, now: float) -> float:
    """``90s``, ``30m``, ``1h``, ``7d`` ago; ``2026-11-17``, ``2026-11-17T13:08`` here. Raises ``UsageError``."""
    ago = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if ago:
        return now - float(ago[1]) * UNITS[ago[2]]
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is no time; write 30m, 1h or 7d, a day such as 2026-11-17, or 2026-11-17T13:08") from None
