"""How long a plan that comes back too soon is sent back: 30, 60, 90, 120 seconds. Pure: no clock; refuses to forget the count.

The count outlives a cooldown that has run out; only an answer other than another outline sets it back.
"""

from __future__ import annotations

import msgspec

STEP = 30.0
LONGEST = 120.0
"""Seconds: what was asked for four times in a row is held back no longer than this."""

OUTLINE = (
    "Not yet: first write the plan out as an outline in the chat, step by step, so that it can be read and talked over. "
    "Ask again only after that."
)
STILL = (
    "Not yet: you were asked for an outline and ask again too soon. Go on: write the plan out in the chat, step by step, "
    "then end your turn and wait for words about it."
)


class Outline(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one session."""

    presses: int = 0
    until: float = 0.0
    """Until then a plan is sent back by the hub."""

    def holds(self, now: float) -> bool:
        return now < self.until


def pressed(before: Outline, now: float) -> Outline:
    """A person asks for an outline once more."""
    presses = before.presses + 1
    return Outline(presses, now + min(STEP * presses, LONGEST))


def after(before: Outline, plan: str | None, now: float, *, on: bool) -> Outline:
    """What holds after a plan was answered. ``on``: whether there is a cooldown at all."""
    return pressed(before, now) if on and plan == "outline" else Outline()
