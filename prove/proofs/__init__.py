"""The proofs, one subject a file; ``ALL`` in the order in which they run."""

from __future__ import annotations

from ..proof import Proof
from .around import AROUND
from .around import INSIDE as AROUND_INSIDE
from .damage import DAMAGE
from .disks import DISKS
from .disks import INSIDE as DISKS_INSIDE
from .doors import DOORS
from .kills import KILLS
from .once import ONCE
from .pauses import PAUSES
from .rules import RULES
from .verdicts import VERDICTS
from .wire import WIRE

ALL: list[Proof] = [*KILLS, *PAUSES, *DISKS, *DAMAGE, *WIRE, *DOORS, *ONCE, *AROUND, *RULES, *VERDICTS]
INSIDE = {**DISKS_INSIDE, **AROUND_INSIDE}

__all__ = ["ALL", "INSIDE"]
