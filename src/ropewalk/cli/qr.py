"""A link as a QR code in half blocks, for the camera of a phone. Refuses to guess where segno is not installed."""

from __future__ import annotations

import io

from ..errors import UsageError

QUIET_ZONE = 2
"""Modules of light around it; cameras want some, and a terminal has few rows."""


def qr_lines(link: str) -> list[str]:
    """Rows of blocks that are light where the code is light: to be painted light on dark. Raises ``UsageError``."""
    try:
        import segno  # noqa: PLC0415 - comes with the hub; whoever only drives a CLI does without
    except ImportError:
        raise UsageError("--qr draws with segno, which comes with the hub: pip install 'ropewalk[hub]'") from None
    drawn = io.StringIO()
    segno.make(link, error="m", micro=False).terminal(drawn, border=QUIET_ZONE, compact=True)
    return drawn.getvalue().rstrip("\n").split("\n")
