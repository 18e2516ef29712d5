"""By which names the hub may be called, and where a request may come from. Refuses all that it was not told.

Pages on the web reach loopback too, under names of their own (DNS rebinding), and from origins of their own.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ...config import Config
from ...errors import UsageError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
PUBLIC_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    """An address as it stands in a URL."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _port_in(name: str) -> int | None:
    try:
        return urlsplit(f"//{name}").port
    except ValueError:
        raise UsageError(f"names: {name!r} is no host name, nor one with a port; write it as people type it") from None


class Names:
    """Made when the port is known. ``scheme`` is what the browser sees: a proxy that ends TLS makes it https."""

    def __init__(self, config: Config, port: int) -> None:
        self.secure = bool(config.tls_cert) or config.proxy
        self.scheme = "https" if self.secure else "http"
        self._allowed = frozenset(self._with_ports(config, port))

    def _with_ports(self, config: Config, port: int) -> list[str]:
        """``name:port``; without a port only where the browser leaves it out. Behind a proxy its port is not ours to know."""
        own = {*LOOPBACK, bracketed(config.host.lower())} - {"0.0.0.0", "[::]"}
        allowed = [f"{name}:{port}" for name in own]
        public = PUBLIC_PORTS[self.scheme]
        if port == public:
            allowed += own
        for name in config.names:
            name = name.lower()
            if _port_in(name) is not None:
                allowed.append(name)
            else:
                allowed += [name, f"{name}:{port}", f"{name}:{public}"]
        return allowed

    def knows(self, host: str) -> bool:
        """Whether this is a ``Host`` header of ours."""
        return host.lower() in self._allowed

    def same_origin(self, origin: str, host: str) -> bool:
        """Whether an ``Origin`` is the page of this very address; ``host`` was found good before. Behind a proxy people may also
        come to the machine itself, without TLS."""
        asked = origin.lower()
        return asked == f"{self.scheme}://{host.lower()}" or (self.secure and is_loopback_origin(asked, host.lower()))


def is_loopback_origin(origin: str, host: str) -> bool:
    name = host.rsplit(":", 1)[0]
    return name in LOOPBACK and origin == f"http://{host}"
