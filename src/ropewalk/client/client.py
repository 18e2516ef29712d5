"""Drives one CLI: prompts, questions, requests, every message. Refuses to leave anything behind: it owns all that it starts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any
from uuid import uuid4

from ..errors import LocalProtocolError, RequestTimedOut, RopewalkError, SessionGone
from ..protocol.answers import Answer
from ..protocol.connection import Connection, Notable
from ..protocol.control import ControlRequest, HookCallback, McpMessage
from ..protocol.messages import Result
from ..protocol.outgoing import Content
from ..protocol.pending import Outcome
from ..protocol.state import State
from ..protocol.turns import PromptState
from ..protocol.versions import Version
from ..transports.base import End, Transport
from .answering import Answering
from .delivery import Delivery
from .hooks import HookBook
from .mailbox import Told
from .mcp import McpDesk
from .options import ClientOptions, initialize_fields
from .query import Query
from .question import Question
from .requests import Requests
from .roads import open_road

log = logging.getLogger("ropewalk.client")

QUICK = 2.0
"""Seconds that each courtesy of ``close`` may take (interrupt, stopping tasks) before the process itself is stopped."""


class Client(Requests):
    """One CLI process, from ``async with`` to its end.

    After the end every call raises ``SessionGone`` with the exit code and the last words on stderr.
    """

    def __init__(self, options: ClientOptions | None = None) -> None:
        self.options = options or ClientOptions()
        self.options.check()
        self._hooks = HookBook(self.options.hooks)
        self._connection = Connection(new_id=_new_id, lazy=self.options.lazy, known_cost=self.options.known_cost)
        self._transport: Transport | None = None
        self._desk = McpDesk(self.options.mcp_servers, self._notify_mcp)
        self._answering = Answering(self._say, self._hooks, self._desk, self.options.on_question, self._on_error)
        self._delivery = Delivery(self.options.max_unread)
        self._gone: SessionGone | None = None
        self._result_waiters: list[asyncio.Future[Result]] = []
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
        """Start the CLI and wait until it answers; its commands, models and account. Next: ``query`` or ``prompt``."""
        if self._transport is not None:
            raise LocalProtocolError("this client has been connected already; make a new one for a new process")
        desk = self._desk
        await desk.open()
        try:
            road = await open_road(self.options)
            self._connection = Connection(
                new_id=_new_id,
                version=road.version,
                lazy=self.options.lazy,
                link=road.breaks,
                known_cost=self.options.known_cost,
            )
            self._transport, self.road, self.argv = road.transport, road.name, road.argv
            self._delivery.attach(road.transport)
            await road.transport.start(self)
            fields = initialize_fields(self.options, self._hooks.registration, desk.names)
            response = await self._ask("initialize", fields, self.options.start_timeout)
            if desk.configured:
                await self.mcp_set_servers(desk.configured)
        except BaseException:
            await self.close()
            raise
        if self.options.on_connected is not None:
            self.options.on_connected()
        return response

    async def close(self, *, on_rung: Callable[[str], None] | None = None) -> End | None:
        """End the session, bounded: interrupt, stop background work, close the input, signals. Nothing survives; repeatable."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(on_rung), name="ropewalk close")
        return await asyncio.shield(self._closing)

    disconnect = close

    @property
    def connected(self) -> bool:
        """The CLI lives and hears us."""
        return self._transport is not None and self._transport.end is None and self._connection.state is not State.ENDING

    # -- prompts and messages

    def query(self, content: Content, *, priority: str | None = None) -> Query:
        """Send a prompt; iterate for the messages of the turn that takes it, the last of them its ``Result``.

        ``content``: words or blocks (``text``, ``image``). While other turns run, the prompt waits for its own.
        """
        self._check_alive()
        connection = self._connection
        alone = connection.state is not State.RUNNING and not connection.turns.waiting and not connection.turns.under_way
        uuid = connection.send_prompt(content, priority=priority)
        query = Query(uuid, self._delivery.open_query(uuid), alone, self._abandon)
        self._flush()
        return query

    def prompt(self, content: Content, *, uuid: str | None = None, priority: str | None = None) -> str:
        """Send a prompt and don't wait; its uuid. The messages come out of ``receive``."""
        self._check_alive()
        sent = self._connection.send_prompt(content, uuid=uuid, priority=priority)
        self._flush()
        return sent

    async def receive(self) -> AsyncIterator[Told]:
        """Every message from now on, beginning with those that nobody has read yet. Ends with the session.

        Raises ``SessionGone`` when the process ended without being asked to.
        """
        box = self._delivery.open_receiver()
        try:
            while await box.more():
                waiting = box.messages
                while waiting:
                    yield waiting.popleft()
                    waiting = box.messages
                self._delivery.drained()
        finally:
            self._delivery.close_receiver(box)

    async def interrupt(self, *, within: float = 30.0) -> dict[str, Any]:
        """End the running turn; returns when it has ended. Harmless when none runs. Queued prompts stay queued."""
        self._check_alive()
        connection = self._connection
        ended: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        busy = connection.state is State.RUNNING or bool(connection.turns.waiting or connection.turns.under_way)
        if busy:
            self._result_waiters.append(ended)
        try:
            response = await self._ask("interrupt", {}, within)
            if busy:
                await asyncio.wait_for(ended, within)
        except TimeoutError:
            raise RequestTimedOut("", "interrupt", f"the turn did not end within {within:g} s of the interrupt") from None
        finally:
            if ended in self._result_waiters:
                self._result_waiters.remove(ended)
        return response

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
        return await self._ask(subtype, fields, within or self.options.request_timeout)

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

    # -- what is known

    @property
    def questions(self) -> list[Question]:
        """The questions that wait for an answer."""
        return [Question(question) for question in self._connection.questions if not _by_machine(question)]

    @property
    def session_id(self) -> str | None:
        """The CLI's own id of the session: give it to ``resume``. Changes with ``/clear`` and forks."""
        return self._connection.session_id

    @property
    def mode(self) -> str | None:
        """The permission mode now."""
        return self._connection.mode

    @property
    def model(self) -> str | None:
        """The model that really runs."""
        return self._connection.model

    @property
    def version(self) -> Version | None:
        """The CLI's version, once it has said it."""
        return self._connection.version

    @property
    def capabilities(self) -> frozenset[str]:
        """What a newer CLI says that it can do."""
        return self._connection.capabilities

    @property
    def cost_usd(self) -> float:
        """What this process has cost so far."""
        return self._connection.cost_usd

    @property
    def context_tokens(self) -> int:
        """How much the model read at its last call."""
        return self._connection.context_tokens

    @property
    def idle(self) -> bool:
        """No turn runs and nothing waits."""
        return self._connection.idle

    @property
    def pid(self) -> int | None:
        """The CLI's process."""
        return self._transport.pid if self._transport is not None else None

    @property
    def end(self) -> End | None:
        """How it ended."""
        return self._transport.end if self._transport is not None else None

    @property
    def initialize_response(self) -> dict[str, Any]:
        """What the CLI told at the start: commands, models, account, output styles."""
        return self._connection.initialize_response or {}

    # -- the receiver of the transport: feed, flush, tell

    def data_received(self, data: bytes) -> None:
        connection = self._connection
        messages = connection.receive_data(data)
        out = connection.data_to_send()
        if out and self._transport is not None:
            self._write(out)
        notable = connection.take_notable()
        if messages:
            self._delivery.tell(messages, len(data), notable)
            if self.options.on_message is not None:
                self._tell_callback(messages)
        if notable:
            self._act(notable)

    def link_changed(self, up: bool) -> None:
        if up:
            self._connection.relinked()
            self._flush()

    def ended(self, end: End) -> None:
        gone = self._gone = SessionGone(self._why(end), end.code, end.stderr)
        rest = self._connection.receive_eof(gone)
        notable = self._connection.take_notable()
        self._delivery.tell(rest, 0, notable)
        self._act([one for one in notable if isinstance(one, Result)])
        self._delivery.end(gone, asked_for=self._closing is not None)
        for waiter in self._result_waiters:
            if not waiter.done():
                waiter.set_exception(gone)
        if self.options.on_disconnected is not None:
            self._guarded(self.options.on_disconnected, gone)

    # -- inside

    def _act(self, notable: list[Notable]) -> None:
        for one in notable:
            if isinstance(one, ControlRequest):
                self._answering.asked(one)
            elif isinstance(one, Result):
                for waiter in self._result_waiters:
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

        send = self._connection.send_initialize if subtype == "initialize" else None
        request_id = send(fields, settle) if send else self._connection.send_request(subtype, fields, settle)
        self._flush()
        deadline = loop.call_later(within, self._connection.give_up, request_id, f"no answer within {within:g} s")
        try:
            return await answered
        finally:
            deadline.cancel()

    def _notify_mcp(self, server: str, message: dict[str, Any]) -> None:
        """A notification of an MCP server of ours; its answer is of no interest."""
        if self.connected:
            self._connection.send_request("mcp_message", {"server_name": server, "message": message})
            self._flush()

    def _abandon(self, query: Query) -> None:
        """The reader of a query left before its end: the turn is interrupted, or the prompt taken back while it waits."""
        self._delivery.close_query(query.uuid)
        if self._gone is not None or self._closing is not None:
            return
        connection = self._connection
        state = connection.turns.prompts.get(query.uuid)
        others = [uuid for uuid in (*connection.turns.under_way, *connection.turns.waiting) if uuid != query.uuid]
        if state is PromptState.TAKEN or (state is PromptState.SENT and not others):
            connection.send_request("interrupt")
        elif state is PromptState.SENT and connection.capabilities:
            connection.send_request("cancel_async_message", {"message_uuid": query.uuid})
        self._flush()

    async def _close(self, on_rung: Callable[[str], None] | None) -> End | None:
        transport, end = self._transport, None
        if transport is not None:
            if self.connected:
                await self._end_politely(on_rung or (lambda rung: None))
            with suppress(LocalProtocolError):
                self._connection.end_input()
            end = await transport.stop(patience=self.options.close_patience, on_rung=on_rung)
        await self._answering.close()
        await self._desk.close()
        return end

    async def _end_politely(self, on_rung: Callable[[str], None]) -> None:
        """The first rungs of the ladder are requests: a turn that is interrupted leaves a whole transcript."""
        if not self._connection.idle and self._connection.initialize_response is not None:
            on_rung("interrupt")
            with suppress(RopewalkError):
                await self.interrupt(within=QUICK)
        for task_id in list(self._connection.tasks):
            on_rung(f"stop task {task_id}")
            with suppress(RopewalkError):
                await self.stop_task(task_id, within=QUICK)

    def _flush(self) -> None:
        out = self._connection.data_to_send()
        if out:
            self._write(out)

    def _write(self, out: bytes) -> None:
        if self._transport is not None:
            with suppress(SessionGone):  # the end is told to every waiter by ``ended``
                self._transport.send(out)

    def _check_alive(self) -> None:
        if self._gone is not None:
            raise SessionGone(self._gone.why, self._gone.exit_code, self._gone.stderr)
        if self._transport is None:
            raise LocalProtocolError("not connected: use `async with Client(…)` or `await client.connect()` first")
        if self._closing is not None and self._connection.state is State.ENDING:
            raise SessionGone("the session is being closed")

    def _why(self, end: End) -> str:
        turn = self._connection.last_turn
        if turn is not None and turn.result.failed and not turn.result.num_turns and turn.result.errors:
            return f"{end.why}: {'; '.join(turn.result.errors)}"
        return end.why

    def _on_error(self, error: Exception) -> None:
        if self.options.on_error is not None:
            self._guarded(self.options.on_error, error)

    def _tell_callback(self, messages: list[Told]) -> None:
        assert self.options.on_message is not None
        for message in messages:
            self._guarded(self.options.on_message, message)

    def _guarded(self, function: Callable[[Any], None], told: Any) -> None:
        """A caller's callback may raise anything; reading goes on."""
        try:
            function(told)
        except Exception:
            log.exception("a callback failed")


def _by_machine(question: ControlRequest) -> bool:
    return isinstance(question.request, HookCallback | McpMessage)


def _new_id() -> str:
    return str(uuid4())
