"""One CLI process's conversation as a state machine: fed with bytes, drained of bytes. Refuses I/O, clocks and waiting.

Three beats for whoever drives it: ``receive_data`` what came, write ``data_to_send``, tell the messages. What we may not say
raises before anything is queued; what the CLI says never raises.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import DecodeError, Struct

from ..errors import SessionGone
from . import outgoing
from .answers import Allow, Answer, Refusal, Reply, payload_of
from .codec import decode, encode, typed
from .content import Usage
from .control import CanUseTool, ControlAnswer, ControlCancelRequest, ControlRequest, ControlResponse, SdkControlInterrupt
from .costs import CostMeter
from .framing import MAX_LINE, LineSplitter
from .lazy import LazyMessage, may_wait
from .messages import Assistant, CommandLifecycle, ConversationReset, Garbage, Message, Result, StreamEvent, User
from .pending import OnOutcome, Pending
from .questions import Questions
from .state import State, Step, advance
from .stream import MessageStart
from .system import BackgroundTasksChanged, Init, Status, TaskNotification, TaskStarted
from .turns import Turn, Turns
from .versions import COUNTS_COST_FROM_ZERO, Version, parse_version

Direction = Literal["in", "out"]
"""``in``: a line of ours to the CLI; ``out``: a line of the CLI."""

Notable = ControlRequest | ControlCancelRequest | Result

ANSWERABLE = frozenset({"can_use_tool", "hook_callback", "mcp_message"})
"""Questions that an owner answers by default; all others are refused at once, since the CLI would wait for ever."""

_UNREAD = frozenset({"input", "message", "request"})
"""Parts of a question without which nobody could answer it rightly."""

_DELTA = b'{"type":"stream_event","event":{"type":"content_block_delta"'
_CONTEXT = (b'{"type":"stream_event","event":{"type":"message_start"', b'{"type":"assistant"')
"""Lines that tell how much the model read; these words in them make it a call of the main thread."""
_MAIN, _USAGE, _SYNTHETIC = b'"parent_tool_use_id":null', b'"usage":{"', b'"<synthetic>"'

REPEATS = 8192
"""Uuids remembered to drop repeats: 2.1.120 sends its whole buffer (1,000 lines by its documents) again after each reconnect."""


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


class Connection:
    """See the module. ``new_id`` gives ids for requests and prompts (UUID texts).

    ``lazy``: deltas, answers and tool results come as ``LazyMessage``, typed on access. ``link``: the road can break and repeat
    itself (``--sdk-url``), so lines are told apart by uuid. ``known_cost``: the total that the session had before a resume; 0
    when its process was killed, since the CLI then counts anew.
    """

    __slots__ = (
        "_answerable", "_context_line", "_cost", "_init_request", "_lazy", "_lines", "_link", "_new_id", "_notable", "_out",
        "_recovered", "_recovery", "_seen", "_unechoed", "capabilities", "cwd", "initialize_response", "last_turn", "mode",
        "model", "pending", "questions", "session_id", "state", "tasks", "turns", "version", "why",
    )  # fmt: skip

    def __init__(
        self,
        *,
        new_id: Callable[[], str],
        version: Version | None = None,
        lazy: bool = False,
        link: bool = False,
        known_cost: float = 0.0,
        max_line: int = MAX_LINE,
        answerable: frozenset[str] = ANSWERABLE,
    ) -> None:
        self._new_id = new_id
        self._lazy = lazy and not link
        self._link = link
        self._answerable = answerable
        self._lines = LineSplitter(max_line)
        self._out: list[bytes] = []
        self._notable: list[Notable] = []
        self._cost = CostMeter(known_cost)
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._unechoed: dict[str, bytes] = {}  # prompts as sent, until their receipt; only on links
        self._recovered: list[Message] = []  # told besides: questions that a second initialize listed, or no longer lists
        self._recovery: set[str] = set()  # ids of initialize requests that were said again after a broken link
        self._context_line: Message | bytes | None = None
        self._init_request: dict[str, Any] = {}
        self.state = State.NEW
        self.pending = Pending()
        self.questions = Questions()
        self.turns = Turns()
        self.tasks: dict[str, str] = {}
        """Background work under way: id → what it is. 2.1.37 tells nothing of it."""
        self.last_turn: Turn | None = None
        self.session_id: str | None = None
        self.cwd: str | None = None
        self.mode: str | None = None
        self.model: str | None = None
        self.version = version
        self.capabilities: frozenset[str] = frozenset()
        self.initialize_response: dict[str, Any] | None = None
        self.why = ""

    # -- what came

    def receive_data(self, data: bytes) -> list[Message | LazyMessage]:
        """Messages that ``data`` completes, in order. Never raises. Write ``data_to_send`` before telling them."""
        messages: list[Message | LazyMessage] = []
        lazy, link, accept, heed, read = self._lazy, self._link, messages.append, _HEED, typed()
        for line in self._lines.feed(data):
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

    def relinked(self) -> None:
        """The link is there again: says once more what may be lost, and ``initialize``, whose answer lists the open questions."""
        self._lines.reset()
        again: list[bytes] = []
        if asked := self.pending.of("initialize"):
            self._recovery.update(asked)
        elif self.state is not State.NEW or self.turns.prompts:
            again.append(outgoing.request_line(request_id := self._new_id(), "initialize", self._init_request))
            self._recovery.add(request_id)
        self._out = list(dict.fromkeys([*again, *self.pending.lines(), *self._unechoed.values(), *self._out]))

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

    def answer(self, request_id: str, answer: Answer) -> None:
        """Answer an open question, once. Raises ``LocalProtocolError`` when it is not open or the answer does not fit."""
        question = self.questions.get(request_id)
        state = advance(self.state, Step.ANSWER)
        if isinstance(answer, Refusal):
            line = outgoing.error_line(request_id, answer.error)
        else:
            raw = question.input_raw if isinstance(answer, Allow) and answer.updated_input is None else b""
            line = outgoing.success_line(request_id, payload_of(question, answer, self.version), raw)
        self.questions.close(request_id, "answered", line)
        self.state = state
        self._out.append(line)

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
                connection._replay(line)
        connection._notable.clear()
        return connection

    def _replay(self, line: bytes) -> None:
        """A line that we sent in an earlier life, to the effect that it had then."""
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
        subtype = _subtype_of(said)
        if subtype == "initialize":
            self.state = advance(self.state, Step.INITIALIZE)
            asked = said.fields().get("request")
            self._init_request = {name: value for name, value in asked.items() if name != "subtype"} if asked else {}
        self.pending.add(said.request_id, subtype, line, None)

    # -- one method for each kind of message that changes what we know; each returns whether it is told

    def _session_named(self, message: Message) -> None:
        """The id changes with ``/clear`` and forks. A failed resume names one that never was: it is not taken over."""
        if self.session_id is None and isinstance(message, Result) and message.failed and not message.num_turns:
            return
        self.session_id = message.session_id

    def _on_init(self, message: Init) -> bool:
        self.state = advance(self.state, Step.TURN)
        self.cwd, self.model = message.cwd or self.cwd, message.model or self.model
        self.mode = message.permissionMode or self.mode
        self._version_told(message.claude_code_version, message.capabilities)
        self.turns.begun()
        for uuid in message.user_message_uuids or ():
            self._receipt(uuid)
        return True

    def _on_result(self, message: Result) -> bool:
        self.state = advance(self.state, Step.RESULT)
        self.last_turn = self.turns.ended(message, self._cost.turn(message.total_cost_usd))
        self._notable.append(message)
        message.prompts, message.cost_usd = self.last_turn.prompts, self.last_turn.cost_usd
        for uuid in self.last_turn.prompts:
            self._unechoed.pop(uuid, None)
        return True

    def _on_status(self, message: Status) -> bool:
        self.mode = message.permissionMode or self.mode
        return True

    def _on_user(self, message: User) -> bool:
        if message.isReplay and message.uuid is not None:
            self._receipt(message.uuid)
        return True

    def _on_lifecycle(self, message: CommandLifecycle) -> bool:
        self._unechoed.pop(message.command_uuid, None)
        self.turns.lifecycle(message)
        return True

    def _on_reset(self, message: ConversationReset) -> bool:
        self._cost.reset()
        return True

    def _on_task_started(self, message: TaskStarted) -> bool:
        self.tasks[message.task_id] = message.description or ""
        return True

    def _on_tasks(self, message: BackgroundTasksChanged) -> bool:
        self.tasks = {str(task.get("task_id")): str(task.get("description", "")) for task in message.tasks}
        return True

    def _on_task(self, message: TaskNotification) -> bool:
        self.tasks.pop(message.task_id, None)
        self.turns.notified()
        return True

    def _on_assistant(self, message: Assistant) -> bool:
        if message.parent_tool_use_id is None and message.message.usage is not None and message.message.model != "<synthetic>":
            self._context_line = message
        return True

    def _on_stream(self, message: StreamEvent) -> bool:
        if type(message.event) is MessageStart and message.parent_tool_use_id is None:
            self._context_line = message
        return True

    def _on_question(self, message: ControlRequest) -> bool:
        if not message.request_id:
            return True  # it can't be answered: the id is the only handle
        if not self.questions.open(message):
            if said := self.questions.said(message.request_id):
                self._out.append(said)
            return False
        if self.state in (State.ENDING, State.CLOSED):
            return True  # nothing can be said any more; the CLI refuses the tool by itself
        if isinstance(message.request, SdkControlInterrupt):
            self.answer(message.request_id, Reply())
        elif why := self._why_refused(message):
            self.answer(message.request_id, Refusal(why))
        else:
            self._notable.append(message)
        return True

    def _why_refused(self, message: ControlRequest) -> str:
        """Why nobody can answer this, or nothing. Unanswered, the CLI would wait for ever."""
        subtype = _subtype_of(message)
        if subtype not in self._answerable:
            return f"{subtype or 'this request'} is not supported by this controller"
        if not isinstance(message.request, CanUseTool) and not _UNREAD.isdisjoint(message.misfits):
            return f"this {subtype} could not be read"
        return ""

    def _on_withdrawal(self, message: ControlCancelRequest) -> bool:
        if self.questions.close(message.request_id, "withdrawn by the CLI") is not None:
            self._notable.append(message)
        return True

    def _on_response(self, message: ControlResponse) -> bool:
        answer = message.response
        again = answer.request_id in self._recovery
        self._recover([*answer.pending_permission_requests, *answer.pending_user_dialog_requests])
        if again:
            self._recovery.discard(answer.request_id)
            self._withdraw_unlisted(answer)
        if again and answer.subtype == "error" and answer.request_id in self.pending:
            answer = ControlAnswer("success", answer.request_id, {})  # it had heard the first; only its answer was lost
        response = answer.response or {}
        line = self.pending.line(answer.request_id)
        subtype = self.pending.settle(answer)
        if subtype == "initialize":
            self._initialize_answered(answer.subtype, response)
        elif subtype == "set_permission_mode" and answer.subtype == "success":
            self.mode = _text(response.get("mode")) or self.mode
        elif subtype == "set_model" and answer.subtype == "success":
            self.model = _text(response.get("model")) or self.model
        elif subtype == "stop_task" and answer.subtype == "success":
            self.tasks.pop(str(decode(line).fields()["request"].get("task_id")), None)  # 2.1.62 says nothing else of its end
        return True

    def _initialize_answered(self, outcome: str, response: dict[str, Any]) -> None:
        self.state = advance(self.state, Step.INITIALIZED)
        if outcome != "success":
            return
        self.initialize_response = response
        self.mode = _text(response.get("current_permission_mode")) or self.mode
        told = response.get("capabilities")
        self._version_told(_text(response.get("claude_code_version")), told if isinstance(told, list) else [])

    def _version_told(self, version: str | None, capabilities: list[Any]) -> None:
        if version:
            self.version = parse_version(version) or self.version
        if self.version is not None and self.version <= COUNTS_COST_FROM_ZERO:
            self._cost.starts_at_zero()
        if capabilities:
            self.capabilities |= frozenset(one for one in capabilities if isinstance(one, str))

    def _recover(self, listed: list[dict[str, Any]]) -> None:
        """Questions that are open at the CLI's side: those we don't know are opened, those we answered are answered again."""
        for fields in listed:
            question = decode(encode({"type": "control_request", **fields}).rstrip(b"\n"))
            if isinstance(question, ControlRequest) and self._on_question(question):
                self._recovered.append(question)

    def _withdraw_unlisted(self, answer: ControlAnswer) -> None:
        """The CLI withdrew them while the link was down. An error lists all that is open, also when that is nothing."""
        if answer.subtype != "error":
            return
        listed = {fields.get("request_id") for fields in answer.pending_permission_requests}
        for question in self.questions:
            if isinstance(question.request, CanUseTool) and question.request_id not in listed:
                raw = encode({"type": "control_cancel_request", "request_id": question.request_id}).rstrip(b"\n")
                withdrawal = ControlCancelRequest(raw=raw, request_id=question.request_id)
                self._on_withdrawal(withdrawal)
                self._recovered.append(withdrawal)

    def _receipt(self, uuid: str) -> None:
        self._unechoed.pop(uuid, None)
        self.turns.took(uuid)

    def _may_wait(self, line: bytes) -> bool:
        if not may_wait(line):
            return False
        if line.startswith(_CONTEXT) and _MAIN in line and _USAGE in line and _SYNTHETIC not in line:
            self._context_line = line
        return True

    def _is_repeat(self, message: Message) -> bool:
        if message.uuid is None:
            return False
        key = f"{message.uuid}{type(message).__name__}"
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > REPEATS:
            self._seen.popitem(last=False)
        return False


_HEED: dict[type[Message], Callable[[Connection, Any], bool]] = {
    Init: Connection._on_init,
    Result: Connection._on_result,
    Status: Connection._on_status,
    User: Connection._on_user,
    CommandLifecycle: Connection._on_lifecycle,
    ConversationReset: Connection._on_reset,
    TaskNotification: Connection._on_task,
    TaskStarted: Connection._on_task_started,
    BackgroundTasksChanged: Connection._on_tasks,
    Assistant: Connection._on_assistant,
    StreamEvent: Connection._on_stream,
    ControlRequest: Connection._on_question,
    ControlCancelRequest: Connection._on_withdrawal,
    ControlResponse: Connection._on_response,
}


def _subtype_of(question: ControlRequest) -> str:
    asked = question.request
    tag = type(asked).__struct_config__.tag
    return str(tag) if tag else str(getattr(asked, "subtype", ""))


def _usage_of(message: Message | None) -> Usage | None:
    if isinstance(message, Assistant):
        return message.message.usage
    if isinstance(message, StreamEvent) and isinstance(message.event, MessageStart):
        return message.event.message.usage
    return None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
