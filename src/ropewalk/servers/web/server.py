"""Opens and closes the web door. Refuses addresses beyond this machine without TLS or a declared proxy."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import structlog
import uvicorn

from ...config import Config
from ...errors import UsageError
from ...hub.calls import HubCalls
from ..access import Access, Names
from ..access.names import bracketed, is_loopback
from .app import BODY_LIMIT, build, public
from .gate import Gate
from .live import Live
from .sse import Readers
from .wire import Doorway, HttpWire, SocketWire

log = structlog.get_logger("ropewalk.web")

BACKLOG = 2048
HANDSHAKE_WITHIN = 10.0
"""Seconds for a TLS handshake."""
LEAVE_WITHIN = 3.0
"""Seconds that requests under way have to end when the hub goes."""
PING_EVERY, PONG_WITHIN = 10.0, 20.0
"""A listener that does not read is cut off after 30 s at most."""


class Address(NamedTuple):
    """Where the hub is reached: ``url`` is what people open (``http://127.0.0.1:7077``)."""

    host: str
    port: int
    url: str


@asynccontextmanager
async def open_web(hub: HubCalls, access: Access, config: Config) -> AsyncIterator[Address]:
    """Serves until left; leaving tells live sockets that the hub restarts and takes a few seconds at most.

    Raises ``UsageError``: the port is taken, or the address is no loopback and there is neither TLS nor a proxy.
    """
    check_bind(config)
    secrets = _tls(config)
    listener = bind(config)
    try:
        web = Web(hub, access, config, listener.getsockname()[1])
        server = await web.start(listener, secrets)
    except BaseException:
        listener.close()
        raise
    try:
        yield web.address
    finally:
        await web.stop(server)


class Web:
    """What serves: the gate, behind it the routes and the live sockets."""

    def __init__(self, hub: HubCalls, access: Access, config: Config, port: int) -> None:
        names = Names(config, port)
        prefix = "__Host-" if config.tls_cert else ""
        cookie = f"{prefix}ropewalk_{port}"
        self.live, self.readers = Live(hub), Readers()
        self._access = access
        self._given = {"hub": hub, "access": access, "cookie": cookie, "secure": names.secure, "figures": self.figures}
        app: Any = build()
        live: Any = self.live
        self.gate = Gate(access, names, public=public(app), cookie=cookie, proxy=config.proxy, app=app, live=live)
        self.doorway = Doorway(self.gate.look)
        shown = "127.0.0.1" if config.host in ("0.0.0.0", "::") else config.host
        self.address = Address(config.host, port, f"{'https' if config.tls_cert else 'http'}://{bracketed(shown)}:{port}")

    def figures(self) -> dict[str, float]:
        return {
            "live_sockets": len(self.live), "event_streams": len(self.readers), "connections": len(self.doorway.connections),
            "requests_total": self.gate.asked, "wrong_tokens_total": self._access.slowdown.refused,
            "slow_requests_total": self.doorway.late,
        }  # fmt: skip

    async def start(self, listener: socket.socket, secrets: ssl.SSLContext | None) -> asyncio.Server:
        # uvicorn's own log would repeat what strangers send, and has a traceback for what is no fault of ours
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        settings = uvicorn.Config(
            self.gate, interface="asgi3", http=HttpWire, ws=SocketWire, lifespan="off", log_config=None, access_log=False,
            proxy_headers=False, server_header=False, date_header=False, timeout_keep_alive=30, ws_max_size=BODY_LIMIT,
            ws_ping_interval=PING_EVERY, ws_ping_timeout=PONG_WITHIN, ws_per_message_deflate=False,
        )  # fmt: skip
        settings.load()
        self._access.on_change(self.look_again)
        loop = asyncio.get_running_loop()
        state: dict[str, Any] = {"readers": self.readers, "given": self._given}
        factory: Callable[[], HttpWire] = lambda: HttpWire(settings, self.doorway, state)  # noqa: E731 - typed in place
        return await loop.create_server(
            factory, sock=listener, ssl=secrets, backlog=BACKLOG, ssl_handshake_timeout=HANDSHAKE_WITHIN if secrets else None
        )

    def look_again(self) -> None:
        """Tokens may have ended: whoever came in by one hears no more."""
        self.live.cut_without(self._access.holds)
        self.readers.cut_without(self._access.holds)

    async def stop(self, server: asyncio.Server) -> None:
        """Never hangs: what is still there after its time is cut."""
        server.close()
        await self.live.stop()
        self.readers.part()
        for connection in list(self.doorway.connections):
            connection.shutdown()
        if self.doorway.tasks:
            await asyncio.wait(self.doorway.tasks, timeout=LEAVE_WITHIN)
        left = list(self.doorway.tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        for connection in list(self.doorway.connections):
            connection.transport.abort()
        await server.wait_closed()


def check_bind(config: Config) -> None:
    """Others on the network could read tokens off the wire: only with TLS, or when somebody answers for it."""
    if is_loopback(config.host) or config.proxy or (config.tls_cert and config.tls_key):
        return
    raise UsageError(
        f"the hub will not listen on {config.host} without encryption; set tls_cert and tls_key, or proxy = true when a proxy "
        "that ends TLS stands in front, or leave host at 127.0.0.1"
    )


def _tls(config: Config) -> ssl.SSLContext | None:
    if not config.tls_cert and not config.tls_key:
        return None
    if not (config.tls_cert and config.tls_key):
        raise UsageError("tls_cert and tls_key belong together; set both or neither")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"tls_cert and tls_key can't be used: {error}") from None
    return context


def bind(config: Config) -> socket.socket:
    """A bound socket, so that the port is known before anything is served."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # asyncio looks at the protocol's number before it turns Nagle off: without it every answer waits 40 ms for an ACK
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setblocking(False)
    try:
        listener.bind((config.host.strip("[]"), config.port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {config.port} on {config.host} is taken by another program; stop it, or take any free one with --port 0"
            ) from None
        raise UsageError(f"the hub can't listen on {config.host} port {config.port}: {error.strerror}") from None
    return listener
