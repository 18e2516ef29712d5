"""The web door: HTTP API, live socket and the page. Refuses whoever has no token, before anything else is looked at."""

from .server import Address, open_web

__all__ = ["Address", "open_web"]
