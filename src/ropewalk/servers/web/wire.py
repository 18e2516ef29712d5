"""The connections: uvicorn's protocols with deadlines, sizes and a way to push. Refuses what is slow, too large or ambiguous.

uvicorn has no deadline for a request's head or body and no bound on the head's size, and a peer that reads nothing could keep
a closed socket for ever. Frames to live sockets are written straight to the transport: no task, no queue, no copy for each.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any, Protocol
from urllib.parse import unquote

from uvicorn.config import Config as UvicornConfig
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Opcode

from .problems import MEDIA_TYPE, Refusal, encoded, problem

HEAD_WITHIN = 10.0
"""Seconds from the first byte (or the connection) to the end of the headers."""
BODY_PAUSE = 15.0
BODY_WITHIN = 600.0
"""A body may be slow, a phone's is; it may not stand still, nor take for ever."""
HEAD_LIMIT = 32 * 1024
HEADERS_LIMIT = 100
LINE_LIMIT = 8000
KEY = re.compile(rb"[A-Za-z0-9+/]{22}==")
YOUNG = 512
"""Connections that have not yet shown a token. Past it the oldest goes, so that whoever is honest and quick gets in."""
FAREWELL = 5.0
"""Seconds that a peer has to take the last frame before its connection is cut."""
EXTENSION = "ropewalk.wire"


class TurnedAway(Exception):
    """Ends the parser; the answer is on its way already."""


class Turned(Protocol):
    """What the gate says to whom it does not let in."""

    @property
    def words(self) -> bytes: ...
    @property
    def wait(self) -> float: ...


class Doorway(ServerState):
    """What all connections of one server share. ``look`` is the gate's: it is asked with each head."""

    def __init__(self, look: Callable[[MutableMapping[str, Any]], Turned | None]) -> None:
        super().__init__()
        self.look = look
        self.young: OrderedDict[HttpWire, None] = OrderedDict()
        self.head_within, self.body_pause, self.body_within = HEAD_WITHIN, BODY_PAUSE, BODY_WITHIN
        self.late = 0

    def arrive(self, wire: HttpWire) -> None:
        self.young[wire] = None
        if len(self.young) > YOUNG:
            oldest, _ = self.young.popitem(last=False)
            oldest.abort()


class HttpWire(HttpToolsProtocol):
    """One connection that speaks HTTP."""

    def __init__(self, config: UvicornConfig, server_state: Doorway, app_state: dict[str, Any]) -> None:
        super().__init__(config, server_state, app_state)
        self.doorway = server_state
        self.access_log = False  # it would write queries down
        self._due: asyncio.TimerHandle | None = None
        self._body_ends = 0.0
        self._in_head, self._in_body = True, False
        self._head_bytes = 0
        self._refusal: Refusal | None = None

    # -- for the gate

    @property
    def backlog(self) -> int:
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    @property
    def gone(self) -> bool:
        """Nobody will hear an answer."""
        return self.transport.is_closing()

    def abort(self) -> None:
        """Gone at once, whatever was not sent."""
        self.transport.abort()

    # -- asyncio's calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        # uvicorn's own makes a socket object for each address: a sixth of what a silent connection cost
        self.transport, self.flow = transport, FlowControl(transport)
        self.server, self.client = _address(transport, "sockname"), _address(transport, "peername")
        self.scheme = "https" if transport.get_extra_info("sslcontext") else "http"
        self.connections.add(self)
        self.doorway.arrive(self)
        self._arm(self.doorway.head_within)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.doorway.young.pop(self, None)
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._due is None:
                self._arm(self.doorway.head_within)
        super().data_received(data)
        if self._in_head and self._head_bytes > HEAD_LIMIT and not self.transport.is_closing():
            self._refuse(431, "head_too_large", "The headers are too large: 32 KiB at most.")

    # -- the parser's calls

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: self}  # type: ignore[dict-item]
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # after the body they are trailers, which nothing here may believe
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._head_bytes = 0
        self._disarm()
        self._check_head()
        super().on_headers_complete()
        if self.transport.is_closing():
            raise TurnedAway  # what stands behind it in the same bytes is not read
        self._body_ends = self.loop.time() + self.doorway.body_within
        self._arm(self.doorway.body_pause)

    def on_body(self, body: bytes) -> None:
        self._arm(min(self.doorway.body_pause, self._body_ends - self.loop.time()))
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._disarm()
        self._in_head, self._in_body = True, False
        self._head_bytes = 0
        super().on_message_complete()

    def _check_head(self) -> None:
        """Raised inside the parser, which then has read its last byte of this connection."""
        if not self.url.startswith(b"/"):
            self._raise(400, "no_path", "Ask for a path: what begins with a slash.")
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._raise(400, "no_http", "The only transfer coding that is read here is chunked.")
        if len(self.headers) > HEADERS_LIMIT or sum(len(name) + len(value) for name, value in self.headers) > HEAD_LIMIT:
            self._raise(431, "head_too_large", "The headers are too large: 32 KiB and 100 lines at most.")

    def _raise(self, status: int, code: str, detail: str) -> None:
        self._refusal = Refusal(status, code, detail)
        raise self._refusal

    # -- the gate is asked before anything is made for a request

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        scope: MutableMapping[str, Any] = cycle.scope  # type: ignore[assignment]
        if self._let_in(scope, cycle):
            super()._start_asgi_task(cycle, app)

    def handle_websocket_upgrade(self) -> None:
        self._disarm()
        if not _asks_for_socket(self.scope["method"], self.headers):
            self._refuse(400, "no_upgrade", "This is no request for a WebSocket of version 13.")
            return
        path = unquote(self.url.partition(b"?")[0].decode("latin-1"))
        state = self.app_state.copy()
        scope = {
            "type": "websocket",
            "method": "GET",
            "path": path,
            "headers": self.headers,
            "client": self.client,
            "state": state,
        }
        if self._let_in(scope, None):
            self.app_state = state
            super().handle_websocket_upgrade()

    def _let_in(self, scope: MutableMapping[str, Any], cycle: RequestResponseCycle | None) -> bool:
        turned = self.doorway.look(scope)
        if turned is None:
            if scope["state"]["key"] is not None:  # a good token: no longer one of those that are bounded
                self.doorway.young.pop(self, None)
            return True
        if turned.wait:
            self.loop.call_later(turned.wait, self._turn_away, turned.words, cycle)
        else:
            self._turn_away(turned.words, cycle)
        return False

    def _turn_away(self, words: bytes, cycle: RequestResponseCycle | None) -> None:
        self._disarm()
        if self.transport.is_closing():
            return
        if cycle is not None:
            cycle.response_started = cycle.response_complete = True
        self.transport.write(words)
        self.transport.close()

    # -- ends

    def send_400_response(self, msg: str) -> None:
        """What no parser could agree on is not guessed at: said, and the connection ended."""
        words = problem(400, "no_http", "This is no clear HTTP request. Send one that every parser reads the same way.")
        self._answer(self._refusal.problem if self._refusal else words)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        self._answer(problem(status, code, detail))

    def _answer(self, found: Any) -> None:
        self._disarm()
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = encoded(found)
            self.transport.write(
                STATUS_LINE[found.status]
                + f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n".encode()
                + b"cache-control: no-store\r\nx-content-type-options: nosniff\r\n\r\n"
                + body
            )
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def timeout_keep_alive_handler(self) -> None:
        self.abort() if self.backlog else super().timeout_keep_alive_handler()

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._due = self.loop.call_later(max(0.0, seconds), self._late)

    def _disarm(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _late(self) -> None:
        self._due = None
        self.doorway.late += 1
        if self._in_body and self.cycle is not None and not self.cycle.response_complete:
            self.abort()
        else:
            self._refuse(408, "too_slow", "The request came too slowly. Send it again.")


class SocketWire(WebSocketsSansIOProtocol):
    """One live socket, after the upgrade."""

    # -- for the live door

    @property
    def backlog(self) -> int:
        """Bytes that the peer's machine has not taken yet."""
        return self.transport.get_write_buffer_size()

    @property
    def open(self) -> bool:
        return self.handshake_complete and not self.close_sent and not self.disconnected

    def push(self, frame: bytes) -> None:
        """A whole frame, made by ``text_frame``. Never waits."""
        if self.handshake_complete and not self.close_sent and not self.disconnected:
            self.transport.write(frame)

    def part(self, code: int, reason: str) -> None:
        """Say why and close; cut whoever does not take even that."""
        if not self.open:
            return
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(FAREWELL, self.abort)

    def abort(self) -> None:
        self.transport.abort()

    # -- uvicorn's calls

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:
            self.abort()  # it comes in one piece, from us; what is unread now would stay so

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:
            self.scope["extensions"][EXTENSION] = self  # type: ignore[assignment]

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf8(self.frames):
            self.frames = []
            self.conn.fail(1007, "no UTF-8")
            self.handle_parser_exception()
            return
        super().send_receive_event_to_app()

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:
            self.transport.close()  # the handshake itself could not be read
            return
        super().handle_parser_exception()
        self.loop.call_later(FAREWELL, self.abort)

    def keepalive_timeout(self) -> None:
        """No pong: a peer that is gone, or does not read. Its buffer would never drain, so it is not waited for."""
        self.abort()

    def shutdown(self) -> None:
        self.part(1012, "hub restarting")


def _address(transport: asyncio.Transport, name: str) -> Any:
    found = transport.get_extra_info(name)
    return found[:2] if isinstance(found, tuple) else None


def _asks_for_socket(method: str, headers: list[tuple[bytes, bytes]]) -> bool:
    """A handshake that websockets reads too: it has limits of its own for a line, and past them it would say nothing at all."""
    keys = [value for name, value in headers if name == b"sec-websocket-key"]
    versions = [value for name, value in headers if name == b"sec-websocket-version"]
    lines_fit = all(len(name) + len(value) < LINE_LIMIT for name, value in headers)
    return method == "GET" and versions == [b"13"] and len(keys) == 1 and KEY.fullmatch(keys[0]) is not None and lines_fit


def _is_utf8(frames: list[bytes]) -> bool:
    try:
        b"".join(frames).decode()
    except UnicodeDecodeError:
        return False
    return True


def text_frame(payload: bytes) -> bytes:
    """A frame that any number of sockets may be sent: what a server says is not masked, and nothing here is compressed."""
    size = len(payload)
    head = 0x80 | Opcode.TEXT
    if size < 126:
        return bytes((head, size)) + payload
    if size < 1 << 16:
        return bytes((head, 126)) + size.to_bytes(2, "big") + payload
    return bytes((head, 127)) + size.to_bytes(8, "big") + payload


__all__ = ["EXTENSION", "Doorway", "HttpWire", "SocketWire", "text_frame"]
