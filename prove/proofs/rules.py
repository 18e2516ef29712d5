"""Random commands against real bash in its jail: what rules allow runs only what they allow. Refuses to count without bash."""

from __future__ import annotations

import asyncio

from ..bash.agree import differential
from ..bash.jail import NoJail
from ..proof import Order, Proof

COMMANDS = 1000
"""A blow: one jail."""


async def g22(order: Order) -> None:
    for number in range(order.first, order.first + order.count):
        try:
            sure, allowed, wrong = await asyncio.to_thread(differential, order.seed * 1_000_000 + number, COMMANDS)
        except NoJail as why:
            order.say(str(why))
            order.tally.counts["left out"] += 1
        else:
            order.tally.blows += 1
            order.tally.counts.update({"commands": COMMANDS, "understood": sure, "allowed by rules": allowed})
            for text, problem in wrong:
                order.tally.fail("G22", f"{text!r} {problem}", order.name(number))
        order.saved()


RULES = [Proof("G22", "random commands in real bash, 1,000 a blow", (100, 1000), g22, ("G22",), 1, seconds=3.0)]
