"""Drives one CLI: prompts, questions, requests, every message. Refuses to leave anything behind: it owns all that it starts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import LocalProtocolError, RequestFailed, RequestTimedOut, RopewalkError, SessionGone
from ..protocol.answers import Answer
from ..protocol.connection import Connection
from ..protocol.control import ControlRequest
from ..protocol.hearing import Notable
from ..protocol.messages import Result
from ..protocol.outgoing import Content
from ..protocol.pending import Outcome
from ..protocol.state import State
from .answering import Answering
from .callbacks import Callbacks
from .delivery import Delivery
from .eager import running_loop
from .hooks import HookBook
from .ids import new_id
from .known import Known
from .leaving import Leaving
from .left import Watch, watched
from .mailbox import Mailbox, Told
from .mcp import McpDesk
from .options import ClientOptions, initialize_fields
from .query import Query
from .requests import Requests
from .why import why_gone

if TYPE_CHECKING:
    from ..transports.base import End, Transport

QUICK = 2.0
"""Seconds that each courtesy of ``close`` may take (interrupt, stopping tasks) before the process itself is stopped."""


class Client(Requests, Known):
    """One CLI process, from ``async with`` to its end.

    After the end every call raises ``SessionGone`` with the exit code and the last words on stderr.
    """

    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self.options.check()
        self._callbacks = Callbacks(self.options)
        self._hooks = HookBook(self.options.hooks)
        self._desk = McpDesk(self.options.mcp_servers, self._notify_mcp, self._callbacks.error)
        self._answering = Answering(self._say, self._hooks, self._desk, self.options.on_question, self._callbacks.error)
        self._delivery = Delivery(self.options.max_unread, keeps=self.options.on_message is None)
        self._converse(Connection(new_id=new_id))
        self._transport: Transport | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = self._ready = False
        self._gone: SessionGone | None = None
        self._turn_waiters: list[asyncio.Future[Result]] = []
        self._closing: asyncio.Task[End | None] | None = None
        self.road = ""
        """How the CLI is reached: stdio, websocket or hybrid, and why, where it is not what was asked for."""
        self.argv: tuple[str, ...] = ()
        """The words that it was started with."""

    # -- life

    async def __aenter__(self) -> Client:
        await self.connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def connect(self) -> dict[str, Any]:
        """Start the CLI and wait until it answers; its commands, models and account. Next: ``query`` or ``prompt``.

        Raises ``UsageError`` (``CliNotFound``, ``FolderMissing``) before anything is started, ``SessionGone`` when it exits
        instead of answering, ``RequestTimedOut`` after ``start_timeout``. Then nothing is left behind.
        """
        if self._begun or self._closing is not None:
            raise LocalProtocolError("this client has been connected already; make a new one for a new process")
        self._begun = True
        try:
            response = await self._start()
        except BaseException:
            await self.close()
            raise
        self._ready = True
        self._callbacks.connected()
        return response

    async def close(self, *, on_rung: Callable[[str], None] | None = None) -> End | None:
        """End the session, bounded: interrupt, stop background work, close the input, signals. Nothing survives; repeatable.

        Goes on when its caller is cancelled. Raises ``LinkBroken`` when a process can't even be killed; call it again then.
        """
        if self._closing is None or (self._closing.done() and (self._closing.cancelled() or self._closing.exception())):
            self._closing = asyncio.get_running_loop().create_task(self._close(on_rung), name="ropewalk close")
        return await asyncio.shield(self._closing)

    disconnect = close

    @property
    def connected(self) -> bool:
        """The CLI has answered, lives and hears us."""
        return self._ready and self._closing is None and self._gone is None

    @property
    def end(self) -> End | None:
        """How it ended."""
        return self._transport.end if self._transport is not None else None

    @property
    def pid(self) -> int | None:
        """The CLI's process, where there is one."""
        return self._transport.pid if self._transport is not None else None

    # -- prompts and messages

    def query(self, content: Content, *, priority: str | None = None) -> Query:
        """Send a prompt; iterate for the messages of the turn that takes it, the last of them its ``Result``.

        ``content``: words or blocks (``text``, ``image``). While other turns run, the prompt waits for its own.
        """
        self._check_alive()
        uuid = self._connection.send_prompt(content, priority=priority)
        query = Query(uuid, self._delivery.open_query(uuid, self._connection), self)
        self._flush()
        return query

    def prompt(self, content: Content, *, uuid: str | None = None, priority: str | None = None) -> str:
        """Send a prompt and don't wait; its uuid. The messages come out of ``receive``."""
        self._check_alive()
        sent = self._connection.send_prompt(content, uuid=uuid, priority=priority)
        self._delivery.prompt_sent(sent)
        self._flush()
        return sent

    def receive(self) -> AsyncGenerator[Told, None]:
        """Every message from the first step of the loop on, beginning with those that nobody has read yet. Ends with the session.

        What is unread when you leave the loop waits for the next ``receive``. Raises ``SessionGone`` when the process ended
        without being asked to.
        """
        opened: list[Mailbox] = []
        return watched(lambda watch: self._received(opened, watch), lambda: self._delivery.close_receivers(opened))

    @property
    def dropped(self) -> int:
        """Messages that were let go because they were not read in time (``max_unread``): deltas, as long as there are any."""
        return self._delivery.dropped

    async def interrupt(self, *, within: float = 30.0) -> dict[str, Any]:
        """End the running turn; returns when it has ended. Harmless when none runs. Queued prompts stay queued."""
        self._check_alive()
        return await self._interrupt(within)

    # -- questions and requests

    async def control_response(self, request_id: str, answer: Answer) -> None:
        """Answer an open question. Raises ``LocalProtocolError`` when it is not open (any more) or the answer does not fit."""
        self._check_alive()
        self._connection.answer(request_id, answer)
        self._flush()

    async def control_request(self, subtype: str, *, within: float | None = None, **fields: Any) -> dict[str, Any]:
        """Any control request by its wire name; its response.

        Raises ``RequestFailed`` with the CLI's words, ``RequestTimedOut`` after ``within`` seconds.
        """
        self._check_alive()
        return await self._ask(subtype, fields, self.options.request_timeout if within is None else within)

    async def mcp_set_servers(self, servers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Replace the servers that the CLI runs: {added, removed, errors}. Those of ``mcp_servers`` that run here stay.

        They have to be named again each time: the CLI lets go of every server that is not (measured on all versions).
        """
        ours = {name: {"type": "sdk", "name": name} for name in self._desk.names}
        return await self.control_request("mcp_set_servers", servers={**ours, **servers})

    def keep_alive(self) -> None:
        """A line that only says that we are here."""
        self._check_alive()
        self._connection.send_keep_alive()
        self._flush()

    def set_environment(self, variables: Mapping[str, str]) -> None:
        """New variables for later tools. Raises ``LocalProtocolError`` on newer CLIs, which take the line and ignore it."""
        self._check_alive()
        self._connection.send_environment(variables)
        self._flush()

    # -- the receiver of the transport: feed, flush, tell

    def data_received(self, data: bytes) -> None:
        connection = self._connection
        messages = connection.receive_data(data)
        out = connection.data_to_send()
        if out:
            self._write(out)
        notable = connection.take_notable()
        if notable:
            self._act(notable)  # decided before it is announced
        if messages:
            settled = len(notable) == len(messages) and not connection.questions and type(notable[-1]) is ControlRequest
            self._delivery.tell(messages, len(data), quiet=settled)
            self._callbacks.messages(messages)
        if self._leaving.pending:
            self._leaving.heard()

    def link_changed(self, up: bool) -> None:
        told = self._connection.relinked() if up else self._connection.link_lost()
        self._flush()
        self._delivery.tell([told], 0)
        self._callbacks.messages([told])

    def ended(self, end: End) -> None:
        turn = self._connection.last_turn
        gone = self._gone = SessionGone(why_gone(end, turn.result if turn else None, self.options), end.code, end.stderr)
        rest = self._connection.receive_eof(gone)
        self._delivery.tell(rest, sum(len(message.raw) for message in rest))
        self._callbacks.messages(rest)
        self._act([one for one in self._connection.take_notable() if isinstance(one, Result)])
        self._answering.cancel()
        self._delivery.end(gone, asked_for=self._closing is not None)
        for waiter in self._turn_waiters:
            if not waiter.done():
                waiter.set_exception(gone)
        self._callbacks.disconnected(gone)

    # -- what a Query tells

    def nobody_answers(self, question: ControlRequest) -> bool:
        return self.options.on_question is None and question.request_id in self._connection.questions

    def query_left(self, uuid: str, interrupt: bool) -> None:
        if self._delivery.close_query(uuid) and interrupt and self._gone is None and self._closing is None:
            self._leaving.left(uuid)

    def query_read(self) -> None:
        self._delivery.relieved()

    # -- inside

    def _converse(self, connection: Connection) -> None:
        self._connection = connection
        self._leaving = Leaving(connection, self._flush)

    async def _start(self) -> dict[str, Any]:
        from .roads import open_road  # noqa: PLC0415 - processes and their pipes are loaded by whoever starts one

        options = self.options
        self._desk.open()
        road = await open_road(options)
        self._converse(
            Connection(new_id=new_id, version=road.version, lazy=options.lazy, link=road.breaks, known_cost=options.known_cost)
        )
        self._loop = running_loop()
        self._transport, self.road, self.argv = road.transport, road.name, road.argv
        self._delivery.attach(road.transport)
        self._check_alive()  # a close meanwhile found nothing to stop: nothing may be started after it
        await road.transport.start(self)
        self._check_alive()
        fields = initialize_fields(options, self._hooks.registration, self._desk.names)
        response = await self._ask("initialize", fields, options.start_timeout)
        if self._desk.configured:
            await self._set_servers(self._desk.configured)
        self._check_alive()
        return response

    async def _set_servers(self, servers: Mapping[str, Mapping[str, Any]]) -> None:
        errors = (await self.mcp_set_servers(servers)).get("errors") or {}
        for name, words in errors.items():
            self._callbacks.error(RequestFailed("", "mcp_set_servers", f"{name}: {words}"))

    async def _received(self, opened: list[Mailbox], watch: Watch) -> AsyncGenerator[Told, None]:
        box = self._delivery.open_receiver()
        opened.append(box)
        try:
            while await box.more():
                waiting = box.messages
                while waiting:
                    yield waiting.popleft()
                    waiting = box.messages
                self._delivery.relieved()
        finally:
            self._delivery.close_receivers(opened)

    async def _interrupt(self, within: float) -> dict[str, Any]:
        turns = self._connection.turns
        ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._turn_waiters.append(ended)
        try:
            running = self._connection.state is State.RUNNING or bool(turns.under_way)
            queued = set(turns.waiting)
            response = await self._ask("interrupt", {}, within)
            if running or not queued.issubset(response.get("still_queued", ())):
                await asyncio.wait_for(ended, within)
        except TimeoutError:
            raise RequestTimedOut("", "interrupt", f"the turn did not end within {within:g} s of the interrupt") from None
        finally:
            self._turn_waiters.remove(ended)
            if not ended.cancel() and not ended.cancelled():
                ended.exception()  # heard, so that nobody complains of an exception that was not
        return response

    def _act(self, notable: list[Notable]) -> None:
        for one in notable:
            if isinstance(one, ControlRequest):
                self._answering.asked(one)
            elif isinstance(one, Result):
                for waiter in self._turn_waiters:
                    if not waiter.done():
                        waiter.set_result(one)
            else:
                self._answering.withdrawn(one.request_id)

    def _say(self, request_id: str, answer: Answer) -> bool:
        """Answer, unless the question was withdrawn or the process is gone: a late answer is nobody's."""
        if self._gone is not None or request_id not in self._connection.questions or self._connection.state is State.ENDING:
            return False
        self._connection.answer(request_id, answer)
        self._flush()
        return True

    async def _ask(self, subtype: str, fields: Mapping[str, Any], within: float) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[dict[str, Any]] = loop.create_future()

        def settle(outcome: Outcome) -> None:
            if answered.done():
                return
            if isinstance(outcome, RopewalkError):
                answered.set_exception(outcome)
            else:
                answered.set_result(outcome)

        if subtype == "initialize":
            request_id = self._connection.send_initialize(fields, settle)
        else:
            request_id = self._connection.send_request(subtype, fields, settle)
        self._flush()
        deadline = loop.call_later(within, self._connection.give_up, request_id, f"no answer within {within:g} s")
        try:
            return await answered
        finally:
            deadline.cancel()

    def _notify_mcp(self, server: str, message: dict[str, Any]) -> None:
        """A notification of an MCP server of ours; its answer is of no interest."""
        if self._transport is not None and self._gone is None and self._connection.state is not State.ENDING:
            self._connection.send_request("mcp_message", {"server_name": server, "message": message})
            self._flush()

    async def _close(self, on_rung: Callable[[str], None] | None) -> End | None:
        transport = self._transport
        try:
            if transport is None:
                return None
            if self._ready and self._gone is None:
                await self._end_politely(on_rung or (lambda rung: None))
            with suppress(LocalProtocolError):
                self._connection.end_input()
            patience = self.options.close_patience if self._ready else min(QUICK, self.options.close_patience)
            return await transport.stop(patience=patience, on_rung=on_rung)
        finally:
            await self._answering.close(QUICK)
            await self._desk.close()

    async def _end_politely(self, on_rung: Callable[[str], None]) -> None:
        """The first rungs of the ladder are requests: a turn that is interrupted leaves a whole transcript."""
        if not self._connection.idle:
            on_rung("interrupt")
            with suppress(RopewalkError):
                await self._interrupt(QUICK)
        if tasks := list(self._connection.tasks):
            on_rung(f"stop background work: {', '.join(tasks)}")
            stopping = (self._ask("stop_task", {"task_id": task}, QUICK) for task in tasks)
            await asyncio.gather(*stopping, return_exceptions=True)

    def _flush(self) -> None:
        out = self._connection.data_to_send()
        if out:
            self._write(out)

    def _write(self, out: bytes) -> None:
        if self._transport is not None:
            try:  # noqa: SIM105 - every answer passes here, and suppress() costs more than all the rest of it
                self._transport.send(out)
            except SessionGone:
                pass  # the end is told to every waiter by ``ended``

    def _check_alive(self) -> None:
        if self._gone is not None:
            raise SessionGone(self._gone.why, self._gone.exit_code, self._gone.stderr)
        if self._closing is not None:
            raise SessionGone("the session is being closed by this program")
        if self._transport is None:
            raise LocalProtocolError("not connected: use `async with Client(…)` or `await client.connect()` first")
        if self._loop is not running_loop():
            raise LocalProtocolError("a client belongs to the event loop that connected it: call it from there")
