"""One CLI process's conversation as a state machine: fed with bytes, drained of bytes. Refuses I/O, clocks and waiting.

Three beats for whoever drives it: ``receive_data`` what came, write ``data_to_send``, tell the messages. What we may not say
raises before anything is queued; what the CLI says never raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import DecodeError, Struct

from ..errors import SessionGone
from . import outgoing
from .codec import decode, typed
from .content import Usage
from .control import ControlRequest, ControlResponse
from .framing import TooLong
from .hearing import HEED, Hearing, Notable, subtype_of
from .lazy import LazyMessage, may_wait
from .messages import Assistant, Garbage, LinkLost, LinkRestored, Message, StreamEvent, User
from .pending import OnOutcome
from .spoken import Returned, Spoken, spoken
from .state import State, Step, advance
from .stream import MessageStart
from .versions import SAYS_AGAIN_SINCE, Version

Direction = Literal["in", "out"]
"""``in``: a line of ours to the CLI; ``out``: a line of the CLI."""

_DELTA = b'{"type":"stream_event","event":{"type":"content_block_delta"'
_CONTEXT = (b'{"type":"stream_event","event":{"type":"message_start"', b'{"type":"assistant"')
"""Lines that tell how much the model read; these words in them make it a call of the main thread."""
_MAIN, _USAGE, _SYNTHETIC = b'"parent_tool_use_id":null', b'"usage":{"', b'"<synthetic>"'


class Snapshot(Struct, frozen=True):
    """Everything that a connection knows, comparable: two connections with equal snapshots behave alike."""

    state: State
    session_id: str | None
    cwd: str | None
    mode: str | None
    model: str | None
    version: Version | None
    capabilities: frozenset[str]
    questions: tuple[str, ...]
    pending: tuple[str, ...]
    tasks: tuple[str, ...]
    prompts: tuple[tuple[str, str], ...]
    turns: int
    cost_usd: float
    context_tokens: int


class Connection(Hearing):
    """See the module. ``new_id`` gives ids for requests and prompts (UUID texts).

    ``lazy``: deltas, answers and tool results come as ``LazyMessage``, typed on access. ``link``: the road can break and repeat
    itself (``--sdk-url``), so lines are told apart by uuid. ``known_cost``: the total that the session had before a resume; 0
    when its process was killed, since the CLI then counts anew.
    """

    __slots__ = ()

    # -- what came

    def receive_data(self, data: bytes) -> list[Message | LazyMessage]:
        """Messages that ``data`` completes, in order. Never raises. Write ``data_to_send`` before telling them."""
        return self._receive(self._lines.feed(data))

    def receive_line(self, line: bytes) -> list[Message | LazyMessage]:
        """As ``receive_data``, for one whole line without its line feed, from whoever has split them already."""
        if self._lazy and (line.startswith(_DELTA) or self._may_wait(line)) and not line.endswith(b"\r"):
            return [LazyMessage(line)]
        return self._receive(self._lines.feed(line + b"\n"))

    def receive_spoken(self, line: bytes) -> Spoken | Returned | None:
        """As ``receive_line``, for whoever types everything anyway: a line that changes nothing but how much the model has read.

        None: it is another one, or this connection is not lazy; the line is still to be received.
        """
        if not self._lazy or line.endswith(b"\r") or (message := spoken(line)) is None:
            return None
        if type(message) is Spoken and message.tells_context:
            self._context_line = line
        return message

    def _receive(self, lines: Iterable[bytes | TooLong]) -> list[Message | LazyMessage]:
        messages: list[Message | LazyMessage] = []
        lazy, link, accept, heed, read = self._lazy, self._link, messages.append, HEED, typed()
        for line in lines:
            if lazy and type(line) is bytes and (line.startswith(_DELTA) or self._may_wait(line)):
                accept(LazyMessage(line))
                continue
            try:
                message = read(line)  # type: ignore[arg-type]
                kind = type(message)
                message.raw = line
            except (TypeError, DecodeError, UnicodeDecodeError, RecursionError):  # TypeError: a line past the cap is no bytes
                kind = None
            if kind is StreamEvent and not link and type(message.event) is not MessageStart:
                accept(message)  # nearly all lines are these, and they change nothing
                continue
            if kind is ControlRequest:
                message.input_raw = b""  # ours alone to fill, whatever the line holds
            elif kind not in heed:
                message = decode(line)  # a system line, by its subtype; or whatever else it is
                kind = type(message)
                if kind is Garbage and message.raw.isspace():
                    continue
            if link and self._is_repeat(message):
                continue
            if message.session_id is not None and message.session_id != self.session_id:
                self._session_named(message)
            handler = heed.get(kind)
            if handler is None or handler(self, message):
                accept(message)
            if self._recovered:
                messages += self._recovered
                self._recovered = []
        return messages

    def receive_eof(self, gone: SessionGone | None = None) -> list[Message | LazyMessage]:
        """The end of its output: a last line without newline, then ``close``."""
        told = self.receive_data(b"\n")
        self.close(gone or SessionGone("the CLI closed its output"))
        return told

    def close(self, gone: SessionGone) -> None:
        """The process is gone: every request of ours fails at once, every open question is lost."""
        self.state = advance(self.state, Step.EOF)
        self.why = self.why or gone.why
        self.pending.close(gone)
        self.questions.lose_all(f"lost: {gone.why}")

    def take_notable(self) -> list[Notable]:
        """What an owner has to act on since the last call: questions asked and withdrawn, turns ended. All are told as well."""
        notable, self._notable = self._notable, []
        return notable

    def link_lost(self) -> LinkLost:
        """The link broke: half a line is gone, and so may be what the CLI says until it is back."""
        self._lines.reset()
        return LinkLost(session_id=self.session_id)

    def relinked(self) -> LinkRestored:
        """The link is there again: says once more what may be lost, and ``initialize``, whose answer lists the open questions."""
        self._lines.reset()
        self.questions.doubt()
        again: list[bytes] = []
        if asked := self.pending.of("initialize"):
            self._recovery.update(asked)
        elif self.state is not State.NEW or self.turns.prompts:
            again.append(outgoing.request_line(request_id := self._new_id(), "initialize", self._init_request))
            self._recovery.add(request_id)
        again += [*self.pending.lines(), *self._unechoed.values()]
        self._out = list(dict.fromkeys([*again, *self._out]))
        lacks = self.version is None or self.version < SAYS_AGAIN_SINCE
        return LinkRestored(session_id=self.session_id, repeated=len(again), may_lack_lines=lacks)

    # -- what we say

    def data_to_send(self) -> bytes:
        """Whole lines that are due, once."""
        if not self._out:
            return b""
        out, self._out = self._out, []
        return out[0] if len(out) == 1 else b"".join(out)

    def send_initialize(self, fields: Mapping[str, Any] | None = None, on_outcome: OnOutcome | None = None) -> str:
        """The first thing to say. Fields: hooks, sdkMcpServers, jsonSchema, systemPrompt, appendSystemPrompt, agents …"""
        state = advance(self.state, Step.INITIALIZE)
        request_id = self.send_request("initialize", fields or {}, on_outcome)
        self.state = state
        self._init_request = dict(fields or {})
        return request_id

    def send_request(self, subtype: str, fields: Mapping[str, Any] | None = None, on_outcome: OnOutcome | None = None) -> str:
        """Any control request. ``on_outcome`` hears its response or error, once. Set a deadline; when it passes, ``give_up``."""
        state = advance(self.state, Step.REQUEST)
        outgoing.check_request(subtype, fields or {}, self.version)
        request_id = self._new_id()
        line = outgoing.request_line(request_id, subtype, fields or {})
        self.pending.add(request_id, subtype, line, on_outcome)
        self.state = state
        self._out.append(line)
        return request_id

    def give_up(self, request_id: str, reason: str) -> None:
        """The deadline of a request passed. Nothing is said to the CLI: cancelling would end 2.1.37."""
        self.pending.give_up(request_id, reason)

    def send_prompt(
        self, content: outgoing.Content, *, uuid: str | None = None, priority: str | None = None, synthetic: bool = False
    ) -> str:
        """A prompt; its uuid, which receipts and results name. A uuid sent twice is run once."""
        state = advance(self.state, Step.PROMPT)
        outgoing.check_priority(priority, self.capabilities)
        uuid = uuid or self._new_id()
        line = outgoing.prompt_line(content, uuid, self.session_id or "", priority, synthetic)
        self.turns.sent(uuid)
        if self._link:
            self._unechoed[uuid] = line
        self.state = state
        self._out.append(line)
        return uuid

    def send_keep_alive(self) -> None:
        """Swallowed by every CLI."""
        self.state = advance(self.state, Step.REQUEST)
        self._out.append(outgoing.KEEP_ALIVE)

    def send_environment(self, variables: Mapping[str, str]) -> None:
        """New variables for later tools. Raises ``LocalProtocolError`` on CLIs that would ignore them."""
        state = advance(self.state, Step.REQUEST)
        self._out.append(outgoing.environment_line(variables, self.version))
        self.state = state

    def end_input(self) -> None:
        """We will say nothing more. Close the transport's input after writing what is due."""
        self.state = advance(self.state, Step.END_INPUT)

    # -- what is known

    @property
    def cost_usd(self) -> float:
        """What this process cost so far, sub-agents included."""
        return self._cost.spent

    @property
    def context_tokens(self) -> int:
        """How much the model read at its last call of the main thread."""
        line = self._context_line
        if isinstance(line, bytes):
            line = self._context_line = decode(line)
        usage = _usage_of(line)
        return usage.context_tokens if usage else 0

    @property
    def idle(self) -> bool:
        """No turn runs, no prompt is on its way, no question is open."""
        return (
            self.state in (State.NEW, State.READY) and not self.turns.waiting and not self.turns.under_way and not self.questions
        )

    def snapshot(self) -> Snapshot:
        return Snapshot(
            state=self.state,
            session_id=self.session_id,
            cwd=self.cwd,
            mode=self.mode,
            model=self.model,
            version=self.version,
            capabilities=self.capabilities,
            questions=tuple(question.request_id for question in self.questions),
            pending=tuple(self.pending),
            tasks=tuple(self.tasks),
            prompts=tuple((uuid, state.value) for uuid, state in self.turns.prompts.items()),
            turns=self.turns.count,
            cost_usd=self.cost_usd,
            context_tokens=self.context_tokens,
        )

    # -- from stored lines

    @classmethod
    def rebuild(cls, lines: Iterable[tuple[Direction, bytes]], **options: Any) -> Connection:
        """A connection that knows what one knew that said and heard these lines. Nobody hears the outcome of its requests.

        Due at once are answers that no person is asked for and that were not among the lines: the CLI still waits for them.
        """
        connection = cls(**options)
        for direction, line in lines:
            line = line.rstrip(b"\n") + b"\n"
            if direction == "out":
                connection.receive_data(line)
            else:
                connection.replay(line)
        connection._notable.clear()
        return connection

    def replay(self, line: bytes) -> None:
        """A line that we sent in an earlier life, to the effect that it had then. Nobody hears what its request comes to."""
        line = line.rstrip(b"\n") + b"\n"
        said = decode(line.rstrip(b"\n"))
        self._out = [due for due in self._out if due != line]
        if isinstance(said, User) and said.uuid:
            self.turns.sent(said.uuid)
            if self._link:
                self._unechoed[said.uuid] = line
        elif isinstance(said, ControlRequest):
            self._replay_request(said, line)
        elif isinstance(said, ControlResponse):
            self.questions.close(said.response.request_id, "answered", line)

    def _replay_request(self, said: ControlRequest, line: bytes) -> None:
        subtype = subtype_of(said)
        if subtype == "initialize":
            self.state = advance(self.state, Step.INITIALIZE)
            asked = said.fields().get("request")
            self._init_request = {name: value for name, value in asked.items() if name != "subtype"} if asked else {}
        self.pending.add(said.request_id, subtype, line, None)

    def _may_wait(self, line: bytes) -> bool:
        if not may_wait(line):
            return False
        if line.startswith(_CONTEXT) and _MAIN in line and _USAGE in line and _SYNTHETIC not in line:
            self._context_line = line
        return True


def _usage_of(message: Message | None) -> Usage | None:
    if isinstance(message, Assistant):
        return message.message.usage
    if isinstance(message, StreamEvent) and isinstance(message.event, MessageStart):
        return message.event.message.usage
    return None
