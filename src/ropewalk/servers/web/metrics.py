"""Numbers as Prometheus reads them. Refuses names that it could not: they would spoil all the others."""

from __future__ import annotations

import re
from collections.abc import Mapping

MEDIA_TYPE = "text/plain; version=0.0.4"
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})?")


def exposition(figures: Mapping[str, float]) -> str:
    """``sessions`` becomes ``ropewalk_sessions``. A name ending in ``_total`` counts, every other is a gauge."""
    lines: list[str] = []
    said: set[str] = set()
    for name, value in sorted(figures.items()):
        if not _NAME.fullmatch(name):
            continue
        name = name if name.startswith("ropewalk_") else f"ropewalk_{name}"
        family = name.partition("{")[0]
        if family not in said:
            said.add(family)
            lines.append(f"# TYPE {family} {'counter' if family.endswith('_total') else 'gauge'}")
        lines.append(f"{name} {float(value):.17g}")
    return "\n".join(lines) + "\n"
