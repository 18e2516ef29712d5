"""How far a run has come, in a file: stopped at any moment, it goes on where it was. Refuses results of another program."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from .house import ROOT
from .tally import Tally

PLACE = ROOT / "build" / "prove" / "state.json"


def fingerprint() -> str:
    """Of everything that is proven: other code has other results."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "ropewalk").rglob("*")):
        if path.suffix in (".py", ".sql", ".toml"):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


class State:
    """``tallies`` by proof, for one seed, size and program."""

    def __init__(self, seed: int, full: bool, path: Path = PLACE) -> None:
        self._path = path
        self._of = {"seed": seed, "full": full, "program": fingerprint()}
        self.tallies: dict[str, Tally] = {}
        self.seconds = 0.0

    def load(self) -> bool:
        """Whether there was something to go on with."""
        try:
            kept: dict[str, Any] = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return False
        if kept.get("of") != self._of:
            return False
        self.seconds = float(kept.get("seconds", 0.0))
        self.tallies = {name: Tally.from_object(tally) for name, tally in kept["tallies"].items()}
        return True

    def save(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        tallies = {name: one.as_object() for name, one in self.tallies.items()}
        new.write_text(json.dumps({"of": self._of, "seconds": self.seconds, "tallies": tallies}))
        os.replace(new, self._path)
