"""ropewalk, its peer and the limit of what Python can do, measured side by side in one run. Refuses to import any of them.

``python -m bench`` prints the table; ``smoke()`` is the small run for tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.report import Report


def smoke() -> Report:
    """A run of everything in small, under a minute, fetching nothing; the report's rows have what was found."""
    from bench.client import smoke as run  # noqa: PLC0415 measured processes import this package and nothing more

    return run()
