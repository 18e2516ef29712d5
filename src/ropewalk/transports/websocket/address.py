"""Where a CLI is told to dial: a ``--sdk-url`` on this machine. Refuses other schemes and other machines."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ropewalk.errors import UsageError

BIND = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
"""What may be dialled, and what we listen on for it. Nobody outside of this machine can reach either."""

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of the URL that the CLI dials. ``port`` 0: any that is free."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def bind(self) -> str:
        return BIND[self.host]

    def url(self, port: int) -> str:
        """What ``--sdk-url`` says, now that the port is known."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{port}{self.path}"


def address_from(url: str, tls: ssl.SSLContext | None) -> Address:
    """Take a URL apart; a missing path gets the session's own. Raises ``UsageError`` with a sentence that says what to change."""
    try:
        parts = urlsplit(url)
        port = parts.port or 0
    except ValueError as error:
        raise UsageError(f"{url!r} is no URL ({error}); give one like ws://127.0.0.1") from None
    if parts.scheme not in ("ws", "wss"):
        raise UsageError(
            f"a CLI can dial ws:// and wss:// only, not {parts.scheme or 'nothing'}://; give one like ws://127.0.0.1"
        )
    if parts.hostname not in BIND:
        raise UsageError(f"we listen on this machine only, not on {parts.hostname}: choose one of {', '.join(BIND)}")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise UsageError("the URL for a CLI has a host, a port and a path, nothing else; the token travels in a header")
    if (parts.scheme == "wss") != (tls is not None):
        raise UsageError("wss:// needs an ssl_context, and ws:// takes none")
    path = parts.path if parts.path not in ("", "/") else f"/v1/ws/{secrets.token_hex(8)}"
    return Address(parts.scheme, parts.hostname, port, path)


def reachable_without_proxy(env: Mapping[str, str]) -> dict[str, str]:
    """What to add to the CLI's environment so that it does not dial loopback through a company's proxy."""
    if not any(env.get(name) for name in PROXIES):
        return {}
    known = env.get("NO_PROXY") or env.get("no_proxy") or ""
    inside = ",".join([*filter(None, [known]), *BIND])
    return {"NO_PROXY": inside, "no_proxy": inside}
