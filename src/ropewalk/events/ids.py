"""Names for things of ours, unique across machines. Pure: the randomness is given."""

from __future__ import annotations

import re

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Letters that nobody mistakes for one another when reading them aloud."""
LENGTH = 13
"""13 × 5 = 65 bits: a thousand machines may make a million names each before two are likely the same."""
PATTERN = re.compile(rf"[{ALPHABET}]{{{LENGTH}}}")
SHORTEST = 4
"""Any unique start of a name of at least this many letters will do where a person types it."""


def id_from(random: bytes) -> str:
    """A name from at least nine random bytes."""
    number = int.from_bytes(random[:9], "big")
    letters = []
    for _ in range(LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return "".join(letters)


def is_id(text: str) -> bool:
    return PATTERN.fullmatch(text) is not None
