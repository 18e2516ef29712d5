"""A CLI that we start and that dials us back: ``--sdk-url``, for CLIs up to 2.1.120. Knows bytes; lines are the protocol's.

It refuses nothing to newer CLIs, they refuse us: from 2.1.121 on the CLI exits with 1 and the ``End`` says so in words. Use stdio
for those; stdio is the better road for all of them, this one is for those who need a socket.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
import ssl
from collections.abc import Callable

from ropewalk.errors import LinkBroken, LocalProtocolError, RopewalkError, UsageError
from ropewalk.transports.base import End, Receiver
from ropewalk.transports.ends import session_gone
from ropewalk.transports.handover import Handover
from ropewalk.transports.ladder import Graces
from ropewalk.transports.launch import Launch
from ropewalk.transports.process import Process
from ropewalk.transports.websocket.address import BIND, address_from, reachable_without_proxy
from ropewalk.transports.websocket.admission import Admission
from ropewalk.transports.websocket.link import BEAT, Link, State
from ropewalk.transports.websocket.listener import Listener

DIAL_PATIENCE = 60.0
"""Seconds from the start to the first dial-in; 0.4 to 2 s on an idle machine (measured 2.1.37 … 2.1.120)."""

REDIAL_PATIENCE = 660.0
"""Seconds without a link before a CLI that lives on is ended. 2.1.62 dials for ten minutes; 2.1.37 leaves by itself after 5 s."""

SETTLE = 0.05
"""Seconds after the exit in which a connection that the CLI opened last is still accepted."""

LAST_WORDS = 2.0
"""Seconds after the exit for what it wrote last to be read from its sockets."""

TOKEN, HYBRID = "CLAUDE_CODE_SESSION_ACCESS_TOKEN", "CLAUDE_CODE_POST_FOR_SESSION_INGRESS_V2"
NEVER_STARTED = End(None, "stopped before it was started")
REFUSED_HOST = "; it never dialled in: CLIs from 2.1.121 on refuse every --sdk-url but the vendor's own, use stdio for them"


class WebSocketTransport:
    """``base.Transport`` over a link. ``hybrid``: the CLI posts its lines in place of sending them over the socket.

    What is sent while the link is down goes out over the next one, before ``link_changed(True)`` is told; what was written to a
    link that broke may not have arrived and is the owner's to repeat: see ``outbox``. ``link_changed(False)`` is told for every
    lost link, ``link_changed(True)`` for every dial-in but the first. ``close_input`` makes the CLI leave at once, in the middle
    of a turn too: a link has no end of file. ``unsent`` and ``drain`` count what the CLI has read, not what the kernel took.
    """

    breaks = True
    """A link can be lost while the CLI lives on: its owner has to tell repeats apart."""

    def __init__(
        self,
        launch: Launch,
        *,
        url: str = "ws://127.0.0.1",
        hybrid: bool = False,
        ssl_context: ssl.SSLContext | None = None,
        dial_patience: float = DIAL_PATIENCE,
        redial_patience: float = REDIAL_PATIENCE,
        beat: float = BEAT,
        graces: Graces | None = None,
    ) -> None:
        """``url`` says scheme, host and, if you like, port and path of our side. Raises ``UsageError``; nothing is started."""
        self._address = address_from(url, ssl_context)
        if any(word.partition("=")[0] == "--sdk-url" for word in launch.args):
            raise UsageError("--sdk-url is given by this transport; leave it out of the arguments")
        self._launch, self._hybrid, self._tls, self._graces = launch, hybrid, ssl_context, graces
        self._dial_patience, self._redial_patience = dial_patience, redial_patience
        self._token = secrets.token_urlsafe(32)
        self.link = Link(Admission(self._token, self._address.path, frozenset({*BIND, "[::1]"})))
        """States and dial-ins, for the curious."""
        self._listener = Listener(self.link, self, beat=beat)
        self._handover = Handover()
        self._confirmed = 0
        self._receiver: Receiver | None = None
        self._process: Process | None = None
        self._closing = False
        self._exit: End | None = None
        self._end: End | None = None
        self._lost_because = self._gave_up_because = ""
        self._timer: asyncio.TimerHandle | None = None
        self._closing_time: asyncio.TimerHandle | None = None
        self._stopping: asyncio.Task[None] | None = None

    @property
    def end(self) -> End | None:
        return self._end

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def unsent(self) -> int:
        return self.link.unsent

    async def start(self, receiver: Receiver) -> None:
        """Listen, then start the CLI; it dials in later, and what is sent before waits for it.

        Raises ``FolderMissing``, ``CliNotFound`` or another ``UsageError``, or ``LinkBroken``.
        """
        if self._receiver is not None:
            raise LocalProtocolError("this transport has been started already; make a new one for a new CLI")
        if self._end is not None:
            raise session_gone(self._end)
        self._receiver, self._loop = receiver, asyncio.get_running_loop()
        self._ended: asyncio.Future[None] = self._loop.create_future()
        try:
            port = await self._listener.open(self._address.bind, self._address.port, self._tls)
        except OSError as error:
            self._receiver = None
            raise LinkBroken(f"could not listen on {self._address.bind}: {error.strerror or error}") from error
        try:
            self._start_process(port)
        except BaseException:
            self._receiver = None
            self._listener.close()
            raise
        self._wait_for_dial(self._dial_patience, "did not dial in")

    def send(self, data: bytes) -> None:
        self._started()
        if self._closing or self._exit is not None:
            raise session_gone(self._end)
        self.link.send(data)
        self._listener.flush()

    async def drain(self) -> None:
        self._started()
        if self._end is not None and self.unsent:
            raise session_gone(self._end)
        await self._handover.wait(self.unsent)

    def pause(self) -> None:
        """Tell the receiver nothing more. Pings are answered on, and up to 1 MiB held: a silent link would be dialled anew."""
        self._started()
        self._listener.pause()

    def resume(self) -> None:
        self._started()
        self._listener.resume()

    def close_input(self) -> None:
        self._started().close_input()

    def drop_link(self, why: str) -> None:
        """Cut the link; the CLI dials in again after a second. For whoever has a reason to distrust it."""
        self._listener.drop(why)

    async def stop(self, *, patience: float = 10.0, on_rung: Callable[[str], None] | None = None) -> End:
        """End it. Before ``start``: it then can't be started any more, and no receiver hears of it."""
        if self._process is None:
            self._end = self._end or NEVER_STARTED
            return self._end
        await self._process.stop(patience=patience, on_rung=on_rung)
        await asyncio.wait({self._ended})
        assert self._end is not None
        return self._end

    # What the listener tells

    def data_received(self, data: bytes) -> None:
        if self._receiver is not None and self._end is None:
            self._receiver.data_received(data)

    def link_came(self, again: bool) -> None:
        self._wait_for_dial(None)
        if again and self._receiver is not None and not self._closing:
            self._receiver.link_changed(True)

    def link_went(self, why: str) -> None:
        self._lost_because = why
        if self._closing or self._exit is not None or self._receiver is None:
            return
        self._wait_for_dial(self._redial_patience, "did not dial in again")
        self._receiver.link_changed(False)

    def confirmed(self) -> None:
        confirmed = self.link.sent - self.link.unsent
        self._handover.took(confirmed - self._confirmed)
        self._confirmed = confirmed

    def connection_gone(self) -> None:
        if self._exit is not None and not self._listener.connections:
            self._finish()

    # The process

    def _start_process(self, port: int) -> None:
        if self._end is not None:  # somebody called stop while we began to listen
            raise session_gone(self._end)
        env = {**self._launch.env, **reachable_without_proxy(self._launch.env), TOKEN: self._token}
        if self._hybrid:
            env[HYBRID] = "1"
        args = (*self._launch.args, f"--sdk-url={self._address.url(port)}")
        self._process = Process(
            dataclasses.replace(self._launch, args=args, env=env),
            on_output=len,  # read, so that it never blocks; nothing is said there that is not on the link
            on_end=self._process_ended,
            close_input=self._close_link,
            graces=self._graces,
        )

    def _close_link(self) -> None:
        self._closing = True
        self.link.close()
        self._listener.flush()

    def _wait_for_dial(self, seconds: float | None, what: str = "") -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = self._loop.call_later(seconds, self._give_up, f"the CLI {what} within {seconds:g} s")

    def _give_up(self, why: str) -> None:
        self._gave_up_because = why
        self._stopping = self._loop.create_task(self._stop_unasked())

    async def _stop_unasked(self) -> None:
        assert self._process is not None
        try:
            await self._process.stop(patience=0.0)
        except RopewalkError as failure:
            logging.getLogger("ropewalk.transports.websocket").error("%s, and can't be ended: %s", self._gave_up_because, failure)

    def _process_ended(self, end: End) -> None:
        self._exit = end
        self._wait_for_dial(None)
        self._listener.resume()
        self._closing_time = self._loop.call_later(SETTLE, self._settle)

    def _settle(self) -> None:
        self._closing_time = self._loop.call_later(LAST_WORDS, self._finish)
        self.connection_gone()

    def _finish(self) -> None:
        """Exactly once: when its last connection is closed, or its time for last words is over."""
        if self._end is not None or self._exit is None or self._receiver is None:
            return
        if self._closing_time is not None:
            self._closing_time.cancel()
        self._end = dataclasses.replace(self._exit, why=self._words(self._exit))
        self._listener.close()
        self._handover.fail(lambda: session_gone(self._end))
        self._ended.set_result(None)
        self._receiver.ended(self._end)

    def _words(self, end: End) -> str:
        if self._gave_up_because:
            return f"{self._gave_up_because}; {end.why}"
        if self.link.state is State.WAITING:
            return end.why if self._closing else end.why + (REFUSED_HOST if end.code == 1 else "; it never dialled in")
        since = self._loop.time() - (self.link.since or 0.0)
        if self.link.state is State.DOWN and not self._closing and since > 0.5:
            return f"{end.why}, {since:.1f} s after the link was lost ({self._lost_because})"
        return end.why

    def _started(self) -> Process:
        if self._process is None:
            raise session_gone(self._end) if self._end else LocalProtocolError("this transport has not been started")
        return self._process
