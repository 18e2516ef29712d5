"""One process's conversation: its numbered lines in, entries for the store out, our lines down with their keys.

Three beats for each line: feed the Connection, flush what it owes, tell. Refuses to wait for anything: it is called by the link.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
import structlog

from ..errors import LinkBroken, RopewalkError, SessionGone
from ..events import events as e
from ..logs import failure
from ..protocol.connection import Connection
from ..protocol.spoken import Returned, Spoken
from ..store.base import Line, RowChange, Stored
from ..transports.base import End
from .live import Live
from .translate import Translator
from .translate_stream import DELTA

if TYPE_CHECKING:
    from .session import Session

log = structlog.get_logger("ropewalk.sessions")
STREAM = b'{"type":"stream_event"'
ANSWERABLE = frozenset({"can_use_tool", "elicitation", "request_user_dialog", "hook_callback"})
"""Questions that rules or people answer. All others are refused at once: the CLI would wait for ever."""
ENDS = frozenset({e.TurnEnded, e.TaskEnded})
"""Kinds of events after which the next prompt may go, or the process rest."""


class Run(msgspec.Struct):
    """Lines that came together, and what they say: ``parts`` counts the events of each."""

    events: list[e.Event] = []
    rows: list[RowChange] = []
    lines: list[Line] = []
    parts: list[int] = []


REMEMBERED_KEYS = 1024
"""Only those of prompts under way are ever asked for again."""
LONGEST_KEY = 200


class Wire:
    """A ``LinesReceiver``. ``heard``: the last line that is stored; what a runner says again up to there is not news."""

    def __init__(self, session: Session, process: str, connection: Connection, translator: Translator) -> None:
        self._session, self._world = session, session.world
        self.process, self.connection, self.translator = process, connection, translator
        self.live = Live(session)
        self.heard = 0
        self.said = 0
        """How many lines we have said."""
        self.ready = False
        """It has answered our initialize."""
        self.unconfirmed: dict[str, bytes] = {}
        """Writes that the runner has not confirmed: said again when its link is back; a key is written once."""
        self.written_keys: set[str] = set()
        self.refused = ""
        """Why it would not go on with the conversation that it was to resume."""
        self.last_sign = asyncio.get_running_loop().time()
        self.over = False
        self._keeps_deltas = session.options.keep_stream_events or self._world.config.keep_stream_events
        self._open_from: int | None = None  # the first delta line of a block that is not finished: acknowledged with its end
        self._stored = 0
        self._acknowledged = 0
        self._ack_due = False
        self._told = session.told_and(self._on_stored)
        self._run: Run | None = None  # quiet lines of the chunk that is being read, not posted yet

    # -- what came

    def lines(self, first: int, data: bytes) -> None:
        now = self._world.clock()
        self.last_sign = asyncio.get_running_loop().time()
        receive_spoken, heard = self.connection.receive_spoken, self.heard
        for number, raw in enumerate(data.split(b"\n")[:-1], first):
            if number <= heard:
                continue
            try:
                if raw.startswith(STREAM):
                    self._delta(number, raw, now)
                elif (spoken := receive_spoken(raw)) is not None:
                    self._spoken(spoken, number, raw, now)
                else:
                    self._line(number, raw, now)
            except Exception as error:  # noqa: BLE001 - a session's boundary: its fault must not take the link from all others
                self._not_understood(number, raw, now, error)
        self._post_run()

    def _post_run(self) -> None:
        """What must be kept before anything else is posted."""
        run, self._run = self._run, None
        if run is not None:
            self._session.post_run(run, self.process, self._told)

    def _not_understood(self, number: int, raw: bytes, now: float, error: Exception) -> None:
        """A fault of ours with one line: the line is kept and shown, the session goes on."""
        log.error("a line was not understood", process=self.process, line=number, **failure(error))
        words = raw[: e.TEXT_LIMIT].decode("utf-8", "replace")
        event = e.Unrecognised(what="not understood", raw=words, cut=len(raw) > e.TEXT_LIMIT, process=self.process, line=number)
        lines = [Line(self.process, "out", number, now, raw)]
        self._post_run()
        self._session.post([event], lines=lines, process=self.process, line_no=number, told=self._told)

    def _delta(self, number: int, raw: bytes, now: float) -> None:
        """A piece of a block under way: told live, and kept only where that is asked for."""
        told: list[e.Event] = []
        if raw.startswith(DELTA) and not raw.endswith(b"\r"):
            told = self.translator.delta(raw, number, now)  # the connection learns nothing from it
        else:
            for message in self.connection.receive_line(raw):
                told += self.translator.events(message, number, now)
        if self._open_from is None:
            self._open_from = number
        durable = self._told_live(told)
        if durable or self._keeps_deltas:
            lines = [Line(self.process, "out", number, now, raw)] if self._keeps_deltas else []
            self._post_run()
            self._session.post(durable, lines=lines, process=self.process, line_no=number, told=self._told)

    def _spoken(self, spoken: Spoken | Returned, number: int, raw: bytes, now: float) -> None:
        """It changes nothing that the connection knows, and nothing is owed for it: posted with the others that came with it."""
        events = self.translator.spoken(spoken, number, now)
        self._open_from = None
        self.live.superseded(events)
        run = self._run
        if run is None:
            run = self._run = Run()
        if self._session.grow(run, events, Line(self.process, "out", number, now, raw)):
            self._post_run()
            self._session.after_line(events)

    def _line(self, number: int, raw: bytes, now: float) -> None:
        connection, session = self.connection, self._session
        self._post_run()  # before the connection tells anybody what this line answers
        events: list[e.Event] = []
        for message in connection.receive_line(raw):
            events += self.translator.events(message, number, now)
        events = self._told_live(events)
        rows = session.notice(connection.take_notable(), events, now)
        self._open_from = None
        self.live.superseded(events)
        lines = [Line(self.process, "out", number, now, raw)]
        session.post(events, rows, lines=lines, process=self.process, line_no=number, told=self._told)
        self.flush()
        session.after_line(events)

    def _told_live(self, events: list[e.Event]) -> list[e.Event]:
        """Live ones go to whoever listens now; the others are returned, to be kept."""
        live = [event for event in events if isinstance(event, e.LiveEvent)]
        if not live:
            return events
        self.live.add(live)
        if any([self._session.board.heed(event) for event in live]):
            self._post_run()
            self._session.settle()
        return [event for event in events if not isinstance(event, e.LiveEvent)] if len(live) < len(events) else []

    def dropped(self, first: int, count: int, size: int, beginning: bytes, why: str) -> None:
        head = beginning[:200].decode("utf-8", "replace")
        event = e.LineDropped(size=size, head=head, process=self.process, line=first)
        self._session.post([event], process=self.process, line_no=first, told=self._told)

    def written(self, key: str) -> None:
        self.unconfirmed.pop(key, None)
        if key not in self.written_keys:
            if len(self.written_keys) >= REMEMBERED_KEYS:
                self.written_keys &= self._session.queue.sent.keys()
            self.written_keys.add(key)
            self._session.written(key)

    def unwritten(self, key: str, why: str) -> None:
        self.unconfirmed.pop(key, None)
        self._session.unwritten(key, why)

    def rung(self, name: str) -> None:
        self._session.life.rung(name)

    def held(self, why: str) -> None:
        if why:
            self._session.post([e.Warned(text=f"The runner waits with this session's output: {why}", code="held")])

    def ended(self, end: End, last: int) -> None:
        if not self.over:
            self.close(end)
            self._session.life.ended(self, end)

    def close(self, end: End) -> None:
        """Nothing more is heard or said; whoever waits for an answer hears it at once."""
        self.over = True
        self.live.close()
        self.connection.close(SessionGone(end.why, end.code, end.stderr))

    # -- what we say

    def flush(self) -> None:
        """Write what the Connection owes, at once; kept beside it. For what must be kept first: ``take`` and ``write``."""
        data = self.connection.data_to_send()
        if not data or self.over:
            return
        lines = []
        for raw in data.splitlines(keepends=True):
            lines.append(self.line_said(raw))
            self.write(key_of(raw, self.said), raw)
        self._session.post([], lines=lines)

    def take(self) -> bytes:
        """What was queued last, to be stored before it is written."""
        return self.connection.data_to_send()

    def line_said(self, raw: bytes) -> Line:
        self.said += 1
        return Line(self.process, "in", self.said, self._world.clock(), raw.rstrip(b"\n"))

    def write(self, key: str, data: bytes) -> None:
        """Once per key, whatever happens to the link meanwhile."""
        if self.over:
            return
        self.unconfirmed[key] = data
        try:
            self._world.link.write(self.process, key, data)
        except LinkBroken:
            return  # said again when the runner is heard again

    def write_again(self) -> None:
        """The runner is heard again: what it did not confirm is said again, under the same keys."""
        for key, data in list(self.unconfirmed.items()):
            self.write(key, data)

    async def request(self, subtype: str, fields: Mapping[str, Any] | None = None, within: float = 30.0) -> dict[str, Any]:
        """A control request. Raises ``RequestFailed``, ``RequestTimedOut`` or ``SessionGone``."""
        outcome: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

        def told(answer: dict[str, Any] | RopewalkError) -> None:
            if outcome.done():
                return
            if isinstance(answer, RopewalkError):
                outcome.set_exception(answer)
            else:
                outcome.set_result(answer)

        request_id = self.connection.send_request(subtype, fields or {}, told)
        self.flush()
        try:
            async with asyncio.timeout(within):
                return await asyncio.shield(outcome)
        except TimeoutError:
            self.connection.give_up(request_id, f"no answer within {within:g} s")
            return await outcome
        finally:
            if not outcome.done():
                outcome.cancel()

    # -- receipts for the runner

    def _on_stored(self, stored: Stored) -> None:
        entry = stored.entry
        number = entry.lines[-1].n if entry.parts else entry.line_no
        if number is not None and number > self._stored:
            self._stored = number
            if not self._ack_due:
                self._ack_due = True
                asyncio.get_running_loop().call_soon(self._acknowledge)

    def _acknowledge(self) -> None:
        """An open block's pieces are not stored: the runner keeps them until the block is, so that a new hub hears them again."""
        self._ack_due = False
        safe = self._stored if self._open_from is None else min(self._stored, self._open_from - 1)
        if safe > self._acknowledged and not self.over:
            self._acknowledged = safe
            with contextlib.suppress(LinkBroken):  # then it says these lines again, and they are no news
                self._world.link.stored(self.process, safe)


class _Key(msgspec.Struct):
    uuid: str = ""
    request_id: str = ""
    response: _Inner | None = None


class _Inner(msgspec.Struct):
    request_id: str = ""


_keys = msgspec.json.Decoder(_Key)


def key_of(line: bytes, number: int) -> str:
    """The opaque name under which a line of ours is written once: a prompt's uuid, a request's or an answer's id, its number.

    Total: an answer echoes the id that the CLI chose, and that may be half a character, or longer than any key.
    """
    try:
        found = _keys.decode(line)
    except msgspec.DecodeError:
        return f"line:{number}"
    name = f"answer:{found.response.request_id}" if found.response is not None else found.request_id or found.uuid
    return name if name and len(name) <= LONGEST_KEY and name.isprintable() else f"line:{number}"
