"""What a run found, as a table and as a JSON file: the same for every course. Refuses to measure or judge by itself."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import prepare
from bench.table import Row, printed


@dataclass(frozen=True, slots=True)
class Report:
    """``words`` stand above the table, ``columns`` over its columns."""

    name: str
    about: dict[str, Any]
    words: str
    rows: list[Row]
    figures: dict[str, dict[str, list[dict[str, Any]]]]
    columns: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Every target was measured and reached."""
        return all(row.verdict in ("reached", "–") for row in self.rows)

    def text(self) -> str:
        return f"{self.words}\n\n{printed(self.rows, self.columns) if self.columns else printed(self.rows)}"

    def save(self) -> Path:
        """Write everything to the JSON file; returns it."""
        file = prepare.ROOT / "build" / f"{self.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        found = {"about": self.about, "rows": [dataclasses.asdict(row) for row in self.rows], "figures": self.figures}
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
        return file.relative_to(prepare.ROOT)


def machine() -> dict[str, Any]:
    """Where it was measured."""
    return {"python": platform.python_version(), "cores": len(os.sched_getaffinity(0)), "system": platform.platform()}
