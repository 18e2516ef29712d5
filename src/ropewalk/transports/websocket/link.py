"""Our end of ``--sdk-url`` without a socket: who may dial in, what frames mean, what waits. Refuses I/O and clocks.

A shell drives it: an own listener (``listener``), later the hub's socket. The shell brings heads, payloads, bodies and the time;
it gets lines for the receiver, frames to write, and the word when a link came, went or must be given up.

How a link recovers (measured 2.1.37, 2.1.62, 2.1.120). What we said while it was down goes out over the next one, first of all.
What was written to the broken one is in doubt: see ``outbox``. What the CLI said while the link was down is lost on 2.1.37 and
2.1.62, and is said a second time on 2.1.120, results included. So the owner of the transport, on ``link_changed(True)``, sends
``initialize`` once more: its answer lists the questions that are still open, with their ids; it says again what has no answer or
receipt yet, and drops lines whose uuid it has seen. X-Last-Request-Id names the last line that the CLI wrote, sent or not: it is
kept for the record and decides nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from ropewalk.transports.websocket.admission import Admission, Errand
from ropewalk.transports.websocket.head import Head, Refused
from ropewalk.transports.websocket.outbox import Outbox
from ropewalk.transports.websocket.posted import Posted

BEAT = 20.0
"""Seconds between pings of ours. The CLI pings every 10 s by itself and re-dials when we are silent."""

ROUNDS = 2
"""Pings in a row without any sign of life before the link is given up."""


class State(enum.Enum):
    """Where the link is."""

    WAITING = "waiting"
    """Nobody has dialled in yet."""
    UP = "up"
    DOWN = "down"
    """It was up; the CLI may dial in again."""
    ENDED = "ended"


class Beat(enum.Enum):
    """What a heartbeat asks of the shell."""

    REST = "rest"
    PING = "ping"
    GIVE_UP = "give up"


@dataclass(frozen=True, slots=True)
class Dial:
    """One dial-in that was accepted. ``number`` counts from 1."""

    number: int
    at: float
    runner_version: str | None = None
    last_request_id: str | None = None


class Link:
    """One session's link over all its dial-ins. Every method takes the time where it matters; none blocks."""

    def __init__(self, admission: Admission) -> None:
        self.state = State.WAITING
        self.dial: Dial | None = None
        """The dial-in that is up, or was the last one."""
        self.since: float | None = None
        """When the present state began; None before the first dial-in."""
        self._admission = admission
        self._outbox = Outbox()
        self._mid_line = self._broken_line = False
        self._posted = Posted()
        self._closing = self._said_goodbye = False
        self._pinged: float | None = None
        self._missed = 0

    # Dialling in

    def check(self, head: Head) -> Errand:
        """What this request may do here and now. Raises ``Refused``; nothing has changed then."""
        errand = self._admission.check(head)
        if self.state is State.ENDED or (errand is Errand.DIAL and self._said_goodbye):
            raise Refused(503, "this session has ended")
        return errand

    def dialled(self, head: Head, now: float) -> Dial:
        """The upgrade was granted. Where a link is up already, say ``lost`` of it first: the newer one wins, since a CLI that
        misses our pong dials again without a word on the old link."""
        number = self.dial.number + 1 if self.dial else 1
        self.dial = Dial(number, now, head.get("x-environment-runner-version"), head.get("x-last-request-id"))
        self._outbox.write_off()
        self._turn(State.UP, now)
        self._pinged, self._missed = None, 0
        return self.dial

    def lost(self, dial: Dial, now: float) -> bool:
        """The socket of this dial is gone. False: it was not the present one, and nothing changed."""
        if self.state is not State.UP or dial is not self.dial:
            return False
        self._turn(State.DOWN, now)
        self._outbox.lost()
        self._broken_line, self._mid_line = self._mid_line, False
        return True

    def ended(self, now: float) -> None:
        """No CLI will come any more."""
        self._turn(State.ENDED, now)

    # From the CLI

    def frame_received(self, payload: bytes) -> bytes:
        """A frame's payload, whole or a fragment: several lines, one, or a part of one. Gives bytes for the receiver."""
        self._hear()
        if payload:
            self._mid_line = not payload.endswith(b"\n")
        return self._after_break(payload)

    def control_received(self) -> None:
        """A ping, or any other sign of life."""
        self._hear()

    def pong_received(self, payload: bytes) -> None:
        """The answer to a ping of ours: what was said before it has arrived."""
        self._hear()
        if payload.isdigit() and len(payload) < 20:
            self._outbox.confirm(int(payload))

    def body_received(self, body: bytes) -> bytes:
        """A posted body. Gives lines for the receiver that were not there before; answer 200 after it took them."""
        return self._after_break(self._posted.take(body))

    # To the CLI

    @property
    def unsent(self) -> int:
        """Bytes that the CLI has not read, as far as we know."""
        return self._outbox.size

    @property
    def in_doubt(self) -> int:
        """Bytes of them that were written to a link that broke; with the next one they count as gone."""
        return self._outbox.in_doubt

    @property
    def sent(self) -> int:
        """Bytes ever given to ``send``. ``sent - unsent`` of them are confirmed, or in doubt for good."""
        return self._outbox.total

    def send(self, lines: bytes) -> None:
        """Whole lines, so that every frame ends with a newline: one without is not acted on (measured 2.1.37, 2.1.62)."""
        self._outbox.put(lines)

    def next_frame(self) -> bytes:
        """The payload to write now; empty when there is none. After the last one ping with ``mark``."""
        return self._outbox.take() if self.state is State.UP and not self._said_goodbye else b""

    @property
    def mark(self) -> bytes:
        """The payload of a ping that confirms everything written so far."""
        return b"%d" % self._outbox.mark

    def beat(self, now: float) -> Beat:
        """Call every ``BEAT`` seconds."""
        if self.state is not State.UP:
            return Beat.REST
        if self._pinged is not None:
            self._missed += 1
        if self._missed >= ROUNDS:
            return Beat.GIVE_UP
        self._pinged = now
        return Beat.PING

    # Ending

    def close(self) -> None:
        """Nothing more will be sent. From now on ask ``goodbye_due`` after each write and each dial-in."""
        self._closing = True

    def goodbye_due(self) -> bool:
        """Whether to close the socket with 4001 now. True once: 2.1.62 leaves then; 2.1.37 dials again, is refused, leaves."""
        if not self._closing or self._said_goodbye or self.state is not State.UP or self._outbox.waiting:
            return False
        self._said_goodbye = True
        return True

    def _turn(self, state: State, now: float) -> None:
        self.state, self.since = state, now

    def _after_break(self, payload: bytes) -> bytes:
        """Half a line that a broken link left behind is ended here, so that it never meets the first one of the next link."""
        if not (self._broken_line and payload):
            return payload
        self._broken_line = False
        return b"\n" + payload

    def _hear(self) -> None:
        self._pinged, self._missed = None, 0
