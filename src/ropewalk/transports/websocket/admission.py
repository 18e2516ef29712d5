"""Who may dial in: whoever holds this session's bearer token, on its two paths. Refuses web pages, whatever they hold."""

from __future__ import annotations

import enum
import hmac
import re
from dataclasses import dataclass

from ropewalk.transports.websocket.head import Head, Refused

_PORT = re.compile(r":\d{1,5}$")


class Errand(enum.Enum):
    """What an admitted request came for."""

    DIAL = "dial"
    """The WebSocket upgrade."""
    POST = "post"
    """Lines of a hybrid CLI, in the body."""


@dataclass(frozen=True, slots=True)
class Admission:
    """The rule of one session's door. ``hosts``: its names, without ports; None where someone before us checked."""

    token: str
    path: str
    hosts: frozenset[str] | None = None

    def check(self, head: Head) -> Errand:
        """What this request may do. Raises ``Refused``: strangers hear 403 or 401 for every path, so that they learn none."""
        self._check_sender(head)
        if not self._has_token(head):
            raise Refused(401, "no bearer token, or not this session's")
        if head.target == self.path:
            return Errand.DIAL
        if head.target != posting_path(self.path):
            raise Refused(404, "no such path")
        if head.method != "POST":
            raise Refused(405, "lines are posted here")
        return Errand.POST

    def _check_sender(self, head: Head) -> None:
        # A page in a browser reaches loopback and can't hide its Origin (CVE-2025-52882); a rebound name shows in Host. A CLI has
        # no Origin (measured 2.1.37, 2.1.62, 2.1.120).
        host, origin = head.get("host") or "", head.get("origin")
        if self.hosts is not None and _PORT.sub("", host.lower()) not in self.hosts:
            raise Refused(403, "sent to a name that is not ours")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refused(403, "sent by a web page")

    def _has_token(self, head: Head) -> bool:
        scheme, _, given = (head.get("authorization") or "").partition(" ")
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self.token.encode())
        return same and scheme.lower() == "bearer"


def posting_path(path: str) -> str:
    """Where a hybrid CLI posts when told to dial ``path``: /v1/ws/ID gives /v1/session/ID/events (measured 2.1.37 … 2.1.120)."""
    return path.replace("/ws/", "/session/", 1).removesuffix("/") + "/events"
