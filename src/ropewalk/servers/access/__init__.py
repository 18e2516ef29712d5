"""Who is at the door: tokens, one-time codes, roles, where a request says it comes from. Refuses to know what is behind it.

A token's row has the names of ``HubCalls.put_token``'s table: id, hash (sha256 of the secret, hex; the secret is kept nowhere),
name, kind, roles, uses_left, created_at, seen_at, expires_at, revoked_at. Kinds:

    owner    the file of this machine's user, for the terminal
    browser  a signed-in device's cookie
    api      a program's token
    code     signs one device in, once

``change_token(id, uses_left=0)`` is refused (False) where ``uses_left`` is 0 already: a code works once.
"""

from .keys import Access, Key, open_access
from .names import Names
from .secrets import check_folder
from .slowdown import Slowdown

__all__ = ["Access", "Key", "Names", "Slowdown", "check_folder", "open_access"]
