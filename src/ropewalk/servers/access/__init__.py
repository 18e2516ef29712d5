"""Who is at the door: tokens, one-time codes, roles, where a request says it comes from. Refuses to know what is behind it.

A row of a token, as ``HubCalls.put_token`` gets it (``change_token`` sets the same names; texts, numbers and None only)::

    id          our name for it (events.ids)
    hash        sha256 of the secret, hex; the secret itself is kept nowhere
    name        whose, or which device, in a person's words
    roles       "watch prompt answer admin", separated by spaces
    kind        owner (the file of this machine's user), device (a browser's cookie), program, code (signs one device in, once)
    created_at  last_seen  expires_at  used_at  revoked_at      seconds since 1970, or None

``change_token(id, used_at=…)`` must be refused (False) for a row whose ``used_at`` or ``revoked_at`` is set: a code works once.
"""

from .keys import Access, open_access

__all__ = ["Access", "open_access"]
