"""One TCP connection to our listener: a bounded request, then frames or further requests. Refuses strangers time and memory."""

from __future__ import annotations

import asyncio
import http
import logging
from collections.abc import Callable
from typing import Protocol, cast

from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from ropewalk.transports.websocket.admission import Errand
from ropewalk.transports.websocket.head import Head, HeadReader, Refused
from ropewalk.transports.websocket.posted import MAX_BODY

HEAD_DEADLINE = 10.0
"""Seconds from the connection to a whole head. A CLI sends it at once."""

BODY_DEADLINE = 60.0
"""Seconds from the head to the end of a posted body. On loopback 64 MiB take under one."""

LINGER = 2.0
"""Seconds for a peer to read our last word before the connection is cut."""

MAX_FRAME = 256 * 1024 * 1024
"""Bytes of one frame. More than a line may have: a line too long is told by the reader of lines, not by a broken link."""

_quiet = logging.getLogger("ropewalk.transports.websocket.frames")
_quiet.setLevel(logging.WARNING)  # its debug lines would hold tokens and prompts


class House(Protocol):
    """What a peer asks of the listener that it came to."""

    def check(self, head: Head) -> Errand:
        """Whether it may come in. Raises ``Refused``."""

    def arrived(self, peer: Peer) -> None:
        """A stranger is connected."""

    def known(self, peer: Peer) -> None:
        """It has shown the token."""

    def opened(self, peer: Peer, head: Head) -> None:
        """Its upgrade is answered: frames may be sent."""

    def heard(self, peer: Peer, payload: bytes) -> None:
        """Some payload of text frames; empty for other signs of life."""

    def ponged(self, peer: Peer, payload: bytes) -> None:
        """A pong."""

    def posted(self, body: bytes) -> None:
        """A body. Raises ``Refused``."""

    def writable(self, peer: Peer) -> None:
        """Its buffer has room again."""

    def gone(self, peer: Peer, why: str) -> None:
        """The connection is closed."""


class Peer(asyncio.Protocol):
    """Reads heads and bodies itself; leaves frames to ``websockets``."""

    def __init__(self, house: House) -> None:
        self.full = False
        """Whether its buffer is full: write no more frames until ``House.writable``."""
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._stage: Callable[[bytes], None] = self._read_head
        self._reader = HeadReader()
        self._body, self._length, self._last = bytearray(), 0, False
        self._frames: ServerProtocol | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._why = "the CLI closed the connection"

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._within(HEAD_DEADLINE, "no request came")
        self._house.arrived(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._stage(data)
        except Refused as refused:
            self._refuse(refused)

    def connection_lost(self, exc: Exception | None) -> None:
        self._within(None)
        self._house.gone(self, f"{self._why} ({exc})" if exc else self._why)

    def pause_writing(self) -> None:
        self.full = True

    def resume_writing(self) -> None:
        self.full = False
        self._house.writable(self)

    # What the listener calls

    def send(self, payload: bytes) -> None:
        """One text frame."""
        if self._frames is not None and self._frames.state is State.OPEN:
            self._frames.send_text(payload)
            self._write()

    def ping(self, payload: bytes) -> None:
        """A ping; its pong comes back with the same payload, after everything that was sent before."""
        if self._frames is not None and self._frames.state in (State.OPEN, State.CLOSING) and not self._frames.eof_sent:
            self._frames.send_ping(payload)
            self._write()

    def goodbye(self, code: int, reason: str) -> None:
        """Close in good order: what the CLI still says before it closes its side is heard."""
        if self._frames is not None and self._frames.state is State.OPEN:
            self._frames.send_close(code, reason)
            self._write()

    def drop(self, why: str) -> None:
        """Cut the connection at once."""
        self._why = why
        self._transport.abort()

    def read(self, on: bool) -> None:
        """Read on, or let what comes wait in the kernel."""
        if self._transport.is_closing():
            return
        if on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    # Stages

    def _read_head(self, data: bytes) -> None:
        found = self._reader.feed(data)
        if found is None:
            return
        head, rest = found
        errand = self._house.check(head)
        self._within(None)
        self._house.known(self)
        if errand is Errand.DIAL:
            self._upgrade(head)
        else:
            self._expect_body(head)
        if rest or errand is Errand.POST:
            self._stage(rest)

    def _expect_body(self, head: Head) -> None:
        length = head.get("content-length") or ""
        if not length.isascii() or not length.isdigit() or head.get("transfer-encoding") is not None:
            raise Refused(411, "the body's length is not given")
        if len(length) > 12 or int(length) > MAX_BODY:
            raise Refused(413, "the body is too long")
        if (head.get("expect") or "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._length, self._last = int(length), (head.get("connection") or "").lower() == "close"
        self._stage = self._read_body
        self._within(BODY_DEADLINE, "the body did not come")

    def _read_body(self, data: bytes) -> None:
        self._body += data
        if len(self._body) < self._length:
            return
        self._within(None)
        body, rest = bytes(self._body[: self._length]), bytes(self._body[self._length :])
        self._body.clear()
        self._house.posted(body)
        self._answer(200, "{}", "application/json", close=self._last)
        self._stage, self._reader = (self._discard if self._last else self._read_head), HeadReader()
        if rest:
            self._stage(rest)

    def _upgrade(self, head: Head) -> None:
        frames = ServerProtocol(max_size=MAX_FRAME, logger=_quiet)
        frames.receive_data(head.raw)
        request = next((event for event in frames.events_received() if isinstance(event, Request)), None)
        if request is None:
            raise Refused(400, "not a request for a WebSocket")
        response = frames.accept(request)
        if response.status_code != 101:
            raise Refused(response.status_code, "not a request for a WebSocket")
        frames.send_response(response)
        self._frames, self._stage = frames, self._read_frames
        self._write()
        self._house.opened(self, head)

    def _read_frames(self, data: bytes) -> None:
        frames = self._frames
        if frames is None or frames.state is State.CLOSED:
            return
        frames.receive_data(data)
        self._write()
        payloads: list[bytes] = []
        pongs: list[bytes] = []
        for event in frames.events_received():
            if isinstance(event, Frame):
                self._sort(event, payloads, pongs)
        self._house.heard(self, payloads[0] if len(payloads) == 1 else b"".join(payloads))
        for pong in pongs:
            self._house.ponged(self, pong)

    def _sort(self, frame: Frame, payloads: list[bytes], pongs: list[bytes]) -> None:
        if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            payloads.append(bytes(frame.data))
        elif frame.opcode is Opcode.PONG:
            pongs.append(bytes(frame.data))
        elif frame.opcode is Opcode.CLOSE and self._frames is not None and self._frames.close_rcvd is not None:
            self._why = f"the CLI closed the link with code {self._frames.close_rcvd.code}"

    def _discard(self, data: bytes) -> None:
        """Nothing more is read here; what comes is thrown away until the connection is cut."""

    # Writing

    def _write(self) -> None:
        frames = self._frames
        if frames is None:
            return
        for piece in frames.data_to_send():
            if piece:
                self._transport.write(piece)
            else:  # the end of the stream, in the words of websockets
                self._blame(frames)
                self._transport.close()

    def _blame(self, frames: ServerProtocol) -> None:
        if frames.close_sent is not None and frames.close_sent.code in (CloseCode.PROTOCOL_ERROR, CloseCode.MESSAGE_TOO_BIG):
            self._why = f"the CLI broke the rules of WebSocket: {frames.close_sent.reason}"

    def _answer(self, status: int, text: str, kind: str, *, close: bool) -> None:
        body = text.encode()
        self._transport.write(
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
            f"Connection: {'close' if close else 'keep-alive'}\r\n\r\n".encode()
            + body
        )
        if close:
            self._end_after_last_word()

    def _refuse(self, refused: Refused) -> None:
        if self._frames is not None:
            return
        logging.getLogger("ropewalk.transports.websocket").warning("refused a connection with %s", refused)
        self._answer(refused.status, f"{refused.why}\n", "text/plain; charset=utf-8", close=True)

    def _end_after_last_word(self) -> None:
        # Closing while the peer still sends would reset the connection, and our answer with it.
        self._stage = self._discard
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._within(LINGER, "refused")

    def _within(self, seconds: float | None, why: str = "") -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self.drop, why)
