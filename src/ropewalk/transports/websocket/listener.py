"""A listener of its own for one session: the shell that drives a ``Link`` over TCP. Refuses more than a few strangers at once."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from typing import Protocol

from ropewalk.transports.websocket.admission import Errand
from ropewalk.transports.websocket.head import Head
from ropewalk.transports.websocket.link import BEAT, Beat, Dial, Link
from ropewalk.transports.websocket.peer import HEAD_DEADLINE, Peer

MAX_STRANGERS = 16
"""Connections that have not shown the token yet. One more pushes out the oldest: a flood of strangers can't lock the CLI out."""

MAX_KNOWN = 32
"""Connections that have shown it: the link, its forerunners, and those that a hybrid CLI posts over."""

HELD = 1024 * 1024
"""Bytes that are read on while paused. A link left unread misses pings; the CLI then re-dials, and old ones lose lines."""

KERNEL = 256 * 1024
"""Bytes that the kernel keeps for us of each connection: left to itself it takes up to 6 MB, and a CLI never has to wait."""

LEAVE = 4001
"""The close code on which 2.1.62 ends by itself."""

log = logging.getLogger("ropewalk.transports.websocket")


class Audience(Protocol):
    """Who hears a listener."""

    def data_received(self, data: bytes) -> None:
        """Whole lines."""

    def link_came(self, again: bool) -> None:
        """The CLI has dialled in; ``again`` from the second time on."""

    def link_went(self, why: str) -> None:
        """The link is gone. The CLI may dial again."""

    def confirmed(self) -> None:
        """The CLI has taken more of what we sent, or never will."""

    def connection_gone(self) -> None:
        """One of its connections is closed; ``Listener.connections`` says how many are left."""


class Listener:
    """Three beats: feed the link, write what is due, tell the audience. All of it in callbacks of the loop; owns no task."""

    def __init__(self, link: Link, audience: Audience, *, beat: float = BEAT) -> None:
        self._link, self._audience, self._every = link, audience, beat
        self._server: asyncio.Server | None = None
        self._strangers: dict[Peer, None] = {}
        self._known: dict[Peer, None] = {}
        self._peer: Peer | None = None
        self._dial: Dial | None = None
        self._held = bytearray()
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._confirming: asyncio.Handle | None = None

    async def open(self, host: str, port: int, ssl_context: ssl.SSLContext | None = None) -> int:
        """Listen. Gives the port. Raises OSError."""
        self._loop = asyncio.get_running_loop()
        patience = HEAD_DEADLINE if ssl_context else None
        self._server = await self._loop.create_server(
            lambda: Peer(self), host, port, ssl=ssl_context, ssl_handshake_timeout=patience
        )
        listening = self._server.sockets[0]
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, KERNEL)
        return int(listening.getsockname()[1])

    def close(self) -> None:
        """Stop listening and cut every connection. May be called again."""
        self._link.ended(self._loop.time())
        self._stop_timers()
        if self._server is not None:
            self._server.close()
        for peer in [*self._strangers, *self._known]:
            peer.drop("the session has ended")

    @property
    def connections(self) -> int:
        """Connections of the CLI that are still open: something may come over them yet."""
        return len(self._known)

    # Towards the CLI

    def flush(self) -> None:
        """Write what is due, as far as the connection takes it."""
        peer, wrote = self._peer, False
        while peer is not None and not peer.full and (frame := self._link.next_frame()):
            peer.send(frame)
            wrote = True
        if peer is not None and self._link.goodbye_due():
            peer.ping(self._link.mark)
            peer.goodbye(LEAVE, "the session is over")
        elif wrote and self._confirming is None:
            self._confirming = self._loop.call_soon(self._confirm)

    def drop(self, why: str) -> None:
        """Cut the link that is up, if there is one. The CLI dials in again."""
        if self._peer is not None:
            self._peer.drop(why)

    def pause(self) -> None:
        """Tell nothing more; read on only up to ``HELD`` bytes."""
        self._paused = True

    def resume(self) -> None:
        """Tell what was held, and read on."""
        self._paused = False
        held, self._held = bytes(self._held), bytearray()
        if held:
            self._audience.data_received(held)
        for peer in list(self._known):
            peer.read(True)

    # What peers call

    def check(self, head: Head) -> Errand:
        return self._link.check(head)

    def arrived(self, peer: Peer) -> None:
        self._strangers[peer] = None
        if len(self._strangers) > MAX_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.drop("too many strangers")

    def known(self, peer: Peer) -> None:
        self._strangers.pop(peer, None)
        self._known[peer] = None
        if len(self._known) > MAX_KNOWN:
            oldest = next(other for other in self._known if other is not self._peer)
            del self._known[oldest]
            oldest.drop("too many connections")

    def opened(self, peer: Peer, head: Head) -> None:
        if (older := self._peer) is not None:
            self._lose("the CLI dialled in again")
            older.drop("a newer link took its place")
        self._peer, self._dial = peer, self._link.dialled(head, self._loop.time())
        self._arm()
        self._audience.confirmed()
        self.flush()
        self._audience.link_came(self._dial.number > 1)
        self.flush()

    def heard(self, peer: Peer, payload: bytes) -> None:
        if peer is not self._peer:
            return
        if payload:
            self._tell(self._link.frame_received(payload))
        else:
            self._link.control_received()

    def ponged(self, peer: Peer, payload: bytes) -> None:
        if peer is self._peer:
            self._link.pong_received(payload)
            self._audience.confirmed()

    def posted(self, body: bytes) -> None:
        self._tell(self._link.body_received(body))

    def writable(self, peer: Peer) -> None:
        if peer is self._peer:
            self.flush()

    def gone(self, peer: Peer, why: str) -> None:
        self._strangers.pop(peer, None)
        self._known.pop(peer, None)
        if peer is self._peer:
            self._lose(why)
        self._audience.connection_gone()

    # Inside

    def _lose(self, why: str) -> None:
        dial, self._peer, self._dial = self._dial, None, None
        self._stop_timers()
        if dial is not None and self._link.lost(dial, self._loop.time()):
            log.info("link %d lost, %d bytes of ours in doubt: %s", dial.number, self._link.in_doubt, why)
            self._audience.link_went(why)

    def _tell(self, lines: bytes) -> None:
        if not lines:
            return
        if not self._paused:
            self._audience.data_received(lines)
            return
        self._held += lines
        if len(self._held) > HELD:
            for peer in self._known:
                peer.read(False)

    def _confirm(self) -> None:
        self._confirming = None
        if self._peer is not None:
            self._peer.ping(self._link.mark)

    def _arm(self) -> None:
        self._timer = self._loop.call_later(self._every, self._beat)

    def _beat(self) -> None:
        if self._paused:
            self._link.control_received()  # its pongs may wait unread
        beat = self._link.beat(self._loop.time())
        if self._peer is None or beat is Beat.REST:
            return
        if beat is Beat.GIVE_UP:
            self._peer.drop("the CLI answers no ping")
            return
        self._peer.ping(self._link.mark)
        self._arm()

    def _stop_timers(self) -> None:
        for handle in (self._timer, self._confirming):
            if handle is not None:
                handle.cancel()
        self._timer = self._confirming = None
