"""Numbers in words: counts, seconds, dollars, tokens. Pure; refuses to round what a person would count."""

from __future__ import annotations


def count(number: int, thing: str) -> str:
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def seconds(spent: float) -> str:
    """0.1 s, 21 s, 1 min 40 s, 2 h 5 min."""
    if spent < 9.95:
        return f"{spent:.1f} s"
    total = round(spent)
    if total < 60:
        return f"{total} s"
    if total < 3600:
        return f"{total // 60} min {total % 60} s"
    return f"{total // 3600} h {total % 3600 // 60} min"


def dollars(cost: float) -> str:
    if 0 < cost < 0.01:
        return "<$0.01"
    return f"${cost:.2f}"


def thousands(number: int) -> str:
    """155k; below a thousand, the number."""
    return f"{number / 1000:.0f}k" if number >= 1000 else str(number)
