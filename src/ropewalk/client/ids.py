"""Ids for prompts and requests: random UUIDs as text. Refuses the module ``uuid``: it would be the dearest of all our imports."""

from __future__ import annotations

from os import urandom


def new_id() -> str:
    """A random UUID (RFC 9562, version 4) as text."""
    hexes = urandom(16).hex()
    return f"{hexes[:8]}-{hexes[8:12]}-4{hexes[13:16]}-{'89ab'[int(hexes[16], 16) & 3]}{hexes[17:20]}-{hexes[20:]}"
