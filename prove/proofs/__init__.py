"""The proofs, one subject a file; ``ALL`` in the order in which they run."""

from __future__ import annotations

from ..proof import Proof
from .kills import KILLS

ALL: list[Proof] = [*KILLS]
